"""How plain Python becomes machine code: `rule`, `kernel`, and which sources the code comes from.

numba keeps compiled functions on disk but looks only at the file of the function itself. A rule
that calls another file, or a kernel that reaches a game through an overloaded name, would silently
run yesterday's code. So everything we compile is kept (by `cache`) on a shelf named by a hash of
all sources that can be compiled into it: the ground floor, the function's own room, and the games
in its signature. A game carries the hash of its own files in the type of its record (see
`edition`), so that editing one game recompiles that game and no other.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import from_dtype, njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic
from numpy.typing import DTypeLike

from . import cache
from .cache import Dispatcher

HOUSE = Path(__file__).parent
# Part of everything compiled.
GROUND = ("compiled.py", "dispatch.py", "game.py", "chance.py", "batch.py")
# The rooms with compiled code, each with the rooms whose rules can be compiled into it. A game is
# watched by its edition instead.
ROOMS: dict[str, tuple[str, ...]] = {
    "games": (),
    "search": ("search",),
    "bidding/exact": ("search", "bidding/exact"),
    "bench": ("bench",),
}
NOT_COMPILED = {"text.py", "files.py", "drawing.py", "svg.py"}  # of a game: they hold no rules

Function = Callable[..., Any]
RULES: list[Dispatcher] = []  # every compiled function, so that `batch` can prepare them for CUDA

# A record that begins like another counts as its subtype, and numba calls that experimental.
warnings.simplefilter("ignore", numba.core.errors.NumbaExperimentalFeatureWarning)


@functools.cache
def _lasting_name(kind: types.Type) -> tuple[str, tuple[()]]:
    return f"{type(kind).__name__}_" + hashlib.sha256(str(kind).encode()).hexdigest()[:16], ()


# The linker knows a compiled function by its name and the names of its argument types. numba names
# a record by a number it hands out anew in each process, so that code cached by two processes for
# two records can carry the same name, and whichever is loaded first would run for both. Naming
# records by what is in them makes equal names mean equal code. Without it a named tuple would write
# all that is in its records into the name of every function that it is given to.
types.Record.mangling_args = types.NamedTuple.mangling_args = property(_lasting_name)


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
    dispatcher = njit(nogil=True, no_cfunc_wrapper=True)(function)  # a sixth less to compile
    if not hasattr(dispatcher, "py_func"):  # NUMBA_DISABLE_JIT: the plain function
        return function
    if Path(function.__code__.co_filename).is_file():  # else it follows from no source we can see
        cache.keep(dispatcher, _place(function.__module__))
    if widen:
        widen_integers(dispatcher)
    RULES.append(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def widen_integers(dispatcher: Dispatcher) -> Dispatcher:
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


def stack_list(kind: DTypeLike, size_of: Callable[[Any], int]) -> Function:
    """A function of a record that gives an empty list on the stack.

    Its length follows from the record's type, so that a GPU thread can have the list in its own
    memory. It is an intrinsic because on a GPU numba lets no function return an array of its own.
    """
    if numba.config.DISABLE_JIT:
        return lambda s: np.empty(size_of(s), kind)
    listed = types.Array(from_dtype(np.dtype(kind)), 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def on_the_stack(typing_context: Any, s: types.Type) -> tuple[Any, Function]:
        size = size_of(s)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            item = context.get_value_type(listed.dtype)
            data = cgutils.alloca_once(builder, item, size=context.get_constant(types.intp, size))
            array = context.make_array(listed)(context, builder)
            width = context.get_abi_sizeof(item)
            context.populate_array(
                array,
                data=data,
                shape=[context.get_constant(types.intp, size)],
                strides=[context.get_constant(types.intp, width)],
                itemsize=context.get_constant(types.intp, width),
                meminfo=None,
            )
            return array._getvalue()

        return listed(s), generate

    return on_the_stack  # type: ignore[no-any-return]


# Editions: which sources a compiled function stands for ----------------------------------------

_EDITIONS: dict[str, str] = {}  # by home: the edition of a game
UNKEPT = "once"  # what an edition begins with that no other process can have


def adopt(module: str, edition: str) -> None:
    """Remember which edition of a game from outside the package a module is."""
    _EDITIONS[module] = edition


def edition(module: str) -> str:
    """Digits that change with the sources of the game that `module` is part of.

    Empty for the package's other modules: their sources are in the name of the shelf.
    """
    home = _home(module)
    if home and home not in _EDITIONS:
        _EDITIONS[home] = _edition_of(home)
    return _EDITIONS.get(home, "")


def _home(module: str) -> str:
    """The module that contains the whole game: `kibitz.games.kuhn`, or a top level outside."""
    parts = module.split(".")
    if parts[0] != "kibitz":
        return parts[0]
    return ".".join(parts[:3]) if parts[1:2] == ["games"] and parts[2:] else ""


def _edition_of(home: str) -> str:
    if home.startswith("kibitz."):
        name = home.rpartition(".")[2]
        files = _sources(HOUSE / "games" / name) or [HOUSE / "games" / f"{name}.py"]
        return digest([file for file in files if file.name not in NOT_COMPILED], home)
    module = sys.modules.get(home)
    folders, file = getattr(module, "__path__", []), getattr(module, "__file__", None)
    files = [found for folder in folders for found in Path(folder).rglob("*.py")]
    files = files or ([Path(file)] if file else [])
    # No file, as at a prompt: nothing to compare with, so every process has its own edition.
    return digest(files, home) if files else UNKEPT + os.urandom(6).hex()


def digest(files: Iterable[Path], *more: object) -> str:
    """Twelve hexadecimal digits that change with the contents of `files` and with `more`."""
    sha = hashlib.sha256(repr(more).encode())
    for file in sorted(files):
        sha.update(file.name.encode() + b"\0" + file.read_bytes())
    return sha.hexdigest()[:12]


def _place(module: str) -> cache.Place:
    """The shelf for a function of `module`, by its signature.

    Its name follows from all sources that can be compiled into the function. They are read now:
    later they may have been edited.
    """
    room = _room(module)
    if f"{room}.py" not in GROUND and room not in ROOMS:
        return lambda signature: None
    edition(module)
    return functools.partial(_shelf, _home(module), room, _house_digest(ROOMS.get(room, ())))


def _room(module: str) -> str:
    """The room of a module of the package; games from outside are in the room of games."""
    top, _, rest = module.partition(".")
    path = rest.replace(".", "/")
    inner = (room for room in ROOMS if f"{path}/".startswith(f"{room}/"))
    return next(inner, path.partition("/")[0]) if top == "kibitz" else "games"


def _shelf(home: str, room: str, house: str, signature: object) -> str | None:
    """The name of a shelf; None if no later process can have the same sources."""
    types_text = str(signature)
    editions = {
        owner: digits
        for owner, digits in _EDITIONS.items()
        if owner == home or digits in types_text  # a record's type contains its edition
    }
    if any(digits.startswith(UNKEPT) for digits in editions.values()):
        return None
    games = [owner.rpartition(".")[2][-60:] for owner in sorted(editions)]
    names = [*games[:1], *(r.replace("/", "_") for r in ROOMS.get(room, ())[-1:])] or ["ground"]
    return "-".join([*names, digest((), house, sorted(editions.items()))])


@functools.cache
def _house_digest(rooms: tuple[str, ...]) -> str:
    """Of the ground floor and these rooms."""
    files = [file for name in (*GROUND, *rooms) for file in _sources(HOUSE / name)]
    versions = (sys.version_info[:3], numba.__version__, np.__version__)
    return digest(files, rooms, versions, numba.config.BOUNDSCHECK, numba.config.OPT)


def _sources(room: Path) -> list[Path]:
    return sorted(room.rglob("*.py")) if room.is_dir() else [room] if room.exists() else []


# What the user reads ---------------------------------------------------------------------------


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
