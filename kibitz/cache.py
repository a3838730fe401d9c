"""The disk folder where compiled code is kept between processes.

`compiled` decides which code belongs together; this file stores it. The root folder holds shelves,
a shelf holds entries, and an entry is one function compiled for one signature. Entries are pickles,
so the root is private to its owner, and an entry is checked before it is unpickled. Whatever goes
wrong with the disk costs time and nothing else: the function is compiled anew.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from numba.core import caching, compiler
from numba.core.errors import NumbaWarning
from numba.core.serialize import dumps

ROOT_NAME = "kibitz-compiled"
MARKER = "CACHEDIR.TAG"  # backup programs know this name and skip the folder
MARKER_TEXT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# Compiled code of kibitz. It can be deleted at any time and is then compiled anew.\n"
)
HEADER = b"kibitz compiled code, format 1\n"
UNUSED_DAYS = 30
MOST_BYTES = 2 << 30  # more than this is pruned ...
PRUNED_BYTES = 1 << 30  # ... down to this

Dispatcher: TypeAlias = Any  # numba's: a function and its compiled copies
Signature: TypeAlias = tuple[Any, ...]  # the types of a copy's arguments, and more of numba's
Place = Callable[[object], str | None]  # signature -> name of its shelf; None: do not keep it


# The root and its shelves -------------------------------------------------------------------------


def _folder_now() -> Path:
    """The folder that relative paths are meant from; the root of the disk where it is deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep)


STARTED = _folder_now()  # before anybody changes it


@functools.cache
def _root() -> Path | None:
    """The root of this process, or None if nothing can be kept."""
    if chosen := os.environ.get("KIBITZ_CACHE"):
        return open_root(Path(chosen))
    try:
        return open_root(
            Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kibitz"
        )
    except RuntimeError:
        return None  # this user has no home


def open_root(parent: Path) -> Path | None:
    """The private folder inside `parent`, created if need be; None if it cannot be trusted."""
    root = STARTED / parent / ROOT_NAME
    try:
        if not os.path.lexists(root):
            root.parent.mkdir(parents=True, exist_ok=True)
            _create_marked(root)
        problem = _problem_with(root)
    except OSError:
        return None  # a file is in the way, or the disk is full or read-only
    if problem:
        print(f"kibitz: compiled code is not kept: {root} {problem}", file=sys.stderr)
    return None if problem else root


def _problem_with(root: Path) -> str:
    """Why code from `root` must not be run, or an empty text."""
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    if hasattr(os, "geteuid"):  # Windows has other permissions, and user folders are private there
        if status.st_uid != os.geteuid():
            return "belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "can be written to by other users (chmod 700 makes it private)"
    return "" if _is_marked(root) else f"was not created by kibitz (its {MARKER} is missing)"


def _create_marked(folder: Path) -> None:
    """Create `folder` for its owner alone. It never exists without its marker.

    Does nothing where another process was faster or there is no room.
    """
    draft = None
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))  # mode 0700
        (draft / MARKER).write_bytes(MARKER_TEXT)
        draft.rename(folder)
    except OSError:
        pass
    finally:
        if draft:
            shutil.rmtree(draft, ignore_errors=True)


def _is_marked(folder: Path) -> bool:
    try:
        is_folder = stat.S_ISDIR(folder.lstat().st_mode)  # a link to a folder is not ours
        return is_folder and (folder / MARKER).read_bytes() == MARKER_TEXT
    except OSError:
        return False


_IN_USE: set[Path] = set()  # the shelves of this process


@functools.cache
def shelf(name: str) -> Path | None:
    """The folder `name` inside the root, noted as used today; None if nothing can be kept."""
    root = _root()
    if root is None:
        return None
    folder = root / name
    if not folder.exists():
        _create_marked(folder)
    if not _is_marked(folder):
        return None
    with suppress(OSError):  # a read-only cache can still be read
        os.utime(folder)
    _IN_USE.add(folder)
    return folder


# Pruning ------------------------------------------------------------------------------------------


@functools.cache
def _prune_once() -> None:
    """Prune in processes that add something: those that find everything lose no time."""
    root = _root()
    if root:
        prune(root, _IN_USE)


def prune(root: Path, in_use: Collection[Path]) -> None:
    """Remove shelves that are old, or the least recently used if all are too large together.

    Only folders with our marker are looked at. Another process may prune at the same time.
    """
    by_age = sorted(_shelves(root))
    total = sum(size for _, _, size in by_age)
    goal = PRUNED_BYTES if total > MOST_BYTES else MOST_BYTES
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for used, folder, size in by_age:
        if folder not in in_use and (used < oldest or total > goal):
            _remove(folder)
            total -= size


def _shelves(root: Path) -> Iterator[tuple[float, Path, int]]:
    """When each shelf was last used, its folder, and its bytes."""
    with suppress(OSError):
        for folder in list(root.iterdir()):
            if _is_marked(folder):
                with suppress(OSError):  # another process has just removed it
                    size = sum(file.lstat().st_size for file in folder.rglob("*"))
                    yield folder.stat().st_mtime, folder, size


def _remove(folder: Path) -> None:
    """Remove a shelf, its marker last: if this is interrupted, the rest is still known as ours."""
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != MARKER:
                entry.unlink(missing_ok=True)
        (folder / MARKER).unlink(missing_ok=True)
        folder.rmdir()


# Entries ------------------------------------------------------------------------------------------


def read_entry(file: Path) -> bytes | None:
    """What `write_entry` stored. A damaged file is removed and counts as absent."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        content = b""
    start = len(HEADER) + hashlib.sha256().digest_size
    if content[:start] == HEADER + hashlib.sha256(content[start:]).digest():
        return content[start:]
    _discard(file)
    return None


def write_entry(file: Path, payload: bytes) -> None:
    """Store `payload` with its checksum, whole or not at all. Without room nothing is stored."""
    draft = file.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        draft.write_bytes(HEADER + hashlib.sha256(payload).digest() + payload)
        draft.replace(file)
    except OSError:
        pass
    finally:
        _discard(draft)


def _discard(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)


# numba's side -------------------------------------------------------------------------------------


def keep(dispatcher: Dispatcher, place: Place) -> None:
    """Let `dispatcher` look for its compiled code on the shelf that `place` names.

    `_cache` is semi-private in numba 0.68. It leaves the user's own numba settings alone.
    """
    dispatcher._cache = CodeCache(dispatcher.py_func, place)


def keep_kernel(launcher: Dispatcher, function: Dispatcher, source: str) -> None:
    """Let a CUDA kernel that launches `function` look for its code on the shelf of `function`.

    source: the text of the launcher, which no file holds.
    """
    if isinstance(function._cache, CodeCache):
        launcher._cache = KernelCache(launcher.py_func, function._cache, source)


def kept_signatures(dispatcher: Dispatcher, sample: Signature) -> list[Signature]:
    """The signatures of `dispatcher` that are on disk, on the same shelf as `sample`."""
    cache = dispatcher._cache
    return cache.signatures(sample) if isinstance(cache, CodeCache) else []


class CodeCache(caching.FunctionCache):  # type: ignore[misc]
    """The compiled copies of one function, one file for each signature.

    numba's own cache has an index file for each function. Two processes that add to it at once can
    leave a signature pointing at the code of another; here a file's name follows from its key.
    """

    def __init__(self, function: Any, place: Place) -> None:  # not numba's: it looks for a folder
        self._py_func = function
        self._place = place
        plain_name = "".join(c if c.isalnum() else "_" for c in function.__qualname__)[:60]
        identity = (function.__module__, function.__qualname__, function.__code__.co_firstlineno)
        self._name = f"{plain_name}-{_hash(identity)[:12]}"
        self.enable()

    @property
    def cache_path(self) -> str | None:
        root = _root()
        return str(root) if root else None

    def flush(self) -> None:
        self.disable()  # numba is about to compile again and must not find what is on disk

    def load_overload(self, sig: Signature, target_context: Any) -> Any:
        """The code for one signature, or None: then numba compiles it."""
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        file = self._file(key)
        payload = read_entry(file) if file else None
        if file is None or payload is None:
            return None
        try:
            stream = io.BytesIO(payload)
            if pickle.load(stream) == key:
                return self._rebuilt(pickle.load(stream), target_context)
        except Exception:  # whatever is wrong with it, compiling anew mends it
            _discard(file)
        return None

    def save_overload(self, sig: Signature, data: Any) -> None:
        """Keep the code for one signature, if there is room."""
        key = self._index_key(sig, data.codegen)
        file = self._file(key)
        if file and self._can_be_kept(data):
            try:
                entry = dumps(key) + self._dumped(data)
            except (RuntimeError, pickle.PicklingError):  # numba has not kept the machine code
                return
            write_entry(file, entry)
            _prune_once()

    def _dumped(self, result: Any) -> bytes:
        return dumps(result._reduce())  # type: ignore[no-any-return]

    def _rebuilt(self, reduced: Any, target_context: Any) -> Any:
        return compiler.CompileResult._rebuild(target_context, *reduced)

    def signatures(self, sample: Signature) -> list[Signature]:
        name = self._place(sample)
        folder = shelf(name) if name else None
        files = folder.glob(f"{self._name}.*") if folder else ()
        payloads = [payload for file in files if (payload := read_entry(file))]
        return [pickle.loads(payload)[0] for payload in payloads]

    def _file(self, key: Signature) -> Path | None:
        name = self._place(key[0]) if self._enabled else None
        folder = shelf(name) if name else None
        return folder / f"{self._name}.{_hash(key)[:24]}" if folder else None

    def _can_be_kept(self, result: Any) -> bool:
        if not result.library.has_dynamic_globals and not result.lifted:
            return True
        problem = "it uses pointers, large global arrays or object mode"
        warnings.warn(f"{self._name} cannot be kept on disk: {problem}", NumbaWarning, stacklevel=2)
        return False


class KernelCache(CodeCache):
    """The compiled copies of one CUDA kernel.

    numba-cuda's own cache needs a file for every kernel, and looks only at that file.
    """

    def __init__(self, launcher: Any, launched: CodeCache, source: str) -> None:
        super().__init__(launcher, launched._place)
        self._name, self._source = f"cuda-{launched._name}", source

    def load_overload(self, sig: Signature, target_context: Any) -> Any:
        from numba.cuda import utils

        with utils.numba_target_override():
            return super().load_overload(sig, target_context)

    def _index_key(self, sig: Signature, codegen: Any) -> Signature:
        return sig, codegen.magic_tuple(), version("numba-cuda"), self._source

    def _dumped(self, result: Any) -> bytes:
        from numba.cuda.serialize import dumps

        return dumps(result._reduce_states())  # type: ignore[no-any-return]

    def _rebuilt(self, reduced: Any, target_context: Any) -> Any:
        from numba.cuda.dispatcher import _Kernel

        return _Kernel._rebuild(**reduced)

    def _can_be_kept(self, result: Any) -> bool:
        return True


def _hash(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()
