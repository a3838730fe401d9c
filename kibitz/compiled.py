"""How plain Python becomes machine code: `rule`, `kernel`, and a disk cache without old code.

numba keeps compiled functions on disk but looks only at the file of the function itself. A rule
that calls another file, or a kernel that reaches a game through an overloaded name, would silently
run yesterday's code. So everything we compile is kept in a folder named by a hash of all sources
that can be compiled into it, and a game from outside the package carries the hash of its own files
in the type of its record (see `edition`), which makes every kernel over it a new one.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import inspect
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit, types
from numba.core import event

HOUSE = Path(__file__).parent
COMPILED_ROOMS = ("compiled.py", "game.py", "chance.py", "batch.py", "games", "search")
KEPT_FOLDERS = 6  # caches of other versions that are left alone
KEPT_BYTES = (
    1 << 30
)  # a cache larger than this starts anew: editing a game adds to it, nothing removes

Function = Callable[..., Any]
RULES: list[Any] = []  # every compiled function, so that `batch` can prepare them for CUDA

# A record that begins like another counts as its subtype, and numba calls that experimental.
warnings.simplefilter("ignore", numba.core.errors.NumbaExperimentalFeatureWarning)


@functools.cache
def _lasting_name(record: types.Record) -> tuple[str, tuple[()]]:
    return "Record_" + hashlib.sha256(str(record).encode()).hexdigest()[:16], ()


# The linker knows a compiled function by its name and the names of its argument types. numba names
# a record by a number it hands out anew in each process, so that code cached by two processes for
# two records can carry the same name, and whichever is loaded first would run for both. Naming
# records by what is in them makes equal names mean equal code.
types.Record.mangling_args = property(_lasting_name)


def rule(function: Function) -> Function:
    """Compile a rule: it runs in the debugger (NUMBA_DISABLE_JIT=1), on a CPU core and on a GPU.

    Rules are loops over elements: no allocation, no exceptions. Integers given to a rule by another
    rule are widened to 64 bits, so there is one compiled copy for each type of record.
    """
    return _compiled(function, widen=True)


def kernel(function: Function) -> Function:
    """Compile a loop over many games: `f(first, end, step, arrays...)`, called by `batch` only.

    A CPU lane gets a range of games, a GPU thread gets one; the Python lock is not held.
    """
    return _compiled(function, widen=False)


def _compiled(function: Function, widen: bool) -> Function:
    dispatcher = njit(nogil=True)(function)
    if not hasattr(dispatcher, "py_func"):  # NUMBA_DISABLE_JIT: the plain function
        return function
    keep_on_disk(dispatcher)
    if widen:
        widen_integers(dispatcher)
    RULES.append(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def widen_integers(dispatcher: Any) -> Any:
    """Let `dispatcher` compile one copy for all widths of integers and for literals."""
    find = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: find(
        tuple(map(_widened, args)), {name: _widened(t) for name, t in kws.items()}
    )
    return dispatcher


def _widened(t: types.Type) -> types.Type:
    t = types.unliteral(t)
    if isinstance(t, types.Boolean):
        return types.int64
    if isinstance(t, types.Integer):  # unsigned stays unsigned: hashes and bit sets
        return types.int64 if t.signed else types.uint64
    return t


# Editions: which sources a compiled function stands for ----------------------------------------

_OUTSIDE: dict[str, str] = {}  # module name of a game outside the package -> its edition


def adopt(module: str, edition: str) -> None:
    """Remember which edition of a game from outside the package a module is."""
    _OUTSIDE[module] = edition


def edition(module: str) -> str:
    """Which version of a module outside the package this is; empty for the package's own."""
    top = module.partition(".")[0]
    if top == "kibitz":
        return ""
    if top not in _OUTSIDE:
        home = sys.modules.get(top)
        folders, file = getattr(home, "__path__", []), getattr(home, "__file__", None)
        files = [f for folder in folders for f in Path(folder).rglob("*.py")]
        files = files or ([Path(file)] if file else [])
        # No file, as at a prompt: nothing to compare with, so every process has its own edition.
        _OUTSIDE[top] = digest(files, top) if files else os.urandom(6).hex()
    return _OUTSIDE[top]


def digest(files: Iterable[Path], *more: object) -> str:
    """Twelve hexadecimal digits that change with the contents of `files` and with `more`."""
    told = hashlib.sha256(repr(more).encode())
    for file in sorted(files):
        told.update(file.name.encode() + b"\0" + file.read_bytes())
    return told.hexdigest()[:12]


@functools.cache
def _house_digest() -> str:
    files = [f for room in COMPILED_ROOMS for f in _sources(HOUSE / room)]
    versions = (sys.version_info[:3], numba.__version__, np.__version__)
    return digest(files, versions, numba.config.BOUNDSCHECK, numba.config.OPT)


def _sources(room: Path) -> list[Path]:
    return sorted(room.rglob("*.py")) if room.is_dir() else [room] if room.exists() else []


# The disk cache --------------------------------------------------------------------------------


def cache_root() -> Path:
    """Where compiled code is kept: $KIBITZ_CACHE, or the user's cache folder."""
    if root := os.environ.get("KIBITZ_CACHE"):
        return Path(root)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kibitz"


def keep_on_disk(dispatcher: Any) -> None:
    """Give one dispatcher its cache in our folder, leaving the user's own numba settings alone."""
    folder = _cache_folder()
    if not os.access(folder, os.W_OK):
        return  # compiled anew in each process; numba would keep it where nobody looks at sources
    if own := edition(dispatcher.py_func.__module__):
        folder = folder / own
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        pass  # no source file or no writable folder: compiled anew in each process, never wrong
    finally:
        numba.config.CACHE_DIR = before


@functools.cache
def _cache_folder() -> Path:
    folder = cache_root() / _house_digest()
    try:
        if folder.exists() and sum(f.stat().st_size for f in folder.rglob("*")) > KEPT_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        others = sorted(folder.parent.iterdir(), key=lambda f: f.stat().st_mtime, reverse=True)
        for old in others[KEPT_FOLDERS:]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # another process is pruning too, or the disk is read-only
    return folder


# What the user is told -------------------------------------------------------------------------


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once in a process that something is being compiled and, at the end, how long it took."""

    def __init__(self) -> None:
        self.depth, self.seconds, self.began = 0, 0.0, 0.0

    def on_start(self, started: event.Event) -> None:
        if started.data["dispatcher"] not in RULES and self.depth == 0:
            return
        if self.depth == 0:
            self.began = time.perf_counter()
            if self.seconds == 0.0:
                print("kibitz: compiling (first use; kept for the next) ...", file=sys.stderr)
                atexit.register(self.report)
        self.depth += 1

    def on_end(self, ended: event.Event) -> None:
        if self.depth:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self.began

    def report(self) -> None:
        print(f"kibitz: compiled in {self.seconds:.1f} s", file=sys.stderr)


ANNOUNCER = _Announcer()
event.register("numba:compile", ANNOUNCER)


def caller_module(depth: int = 2) -> str:
    """Name of the module that called the function asking."""
    frame = inspect.currentframe()
    for _ in range(depth):
        assert frame is not None
        frame = frame.f_back
    assert frame is not None
    return str(frame.f_globals.get("__name__", "__main__"))
