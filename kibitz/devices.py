"""Where kernels run: CPU threads that own a range of games each, or one GPU thread per game.

A kernel is `f(first, end, step, arrays...)`: a loop over games. Arrays may be NumPy's, torch
tensors or anything else that shares its memory; nothing is copied. This is the only file that knows
what a thread or a GPU is.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .cache import keep_kernel
from .compiled import RULES, Function, widen_integers
from .options import GameError, shown, whole_number

Array: TypeAlias = Any
"""A NumPy array, a device array, or anything that shares its memory with one."""
HostArray: TypeAlias = NDArray[Any]
Size: TypeAlias = int | tuple[int, ...]
Part = TypeVar("Part")

BLOCK, WARP = 128, 32  # GPU threads per block, for many games and for few
FEW = 1 << 16  # games that blocks of one warp spread over more of a GPU
PACKED = 128  # GPU threads per block beside other work, which needs the rest of the GPU


def lanes(threads: int | None = None) -> int:
    """How many CPU threads a batch uses: by default one per core that this process may use."""
    if threads is not None:
        return whole_number("threads", threads, least=1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows let a process run on every core


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="lane")


class Cpu:
    """Runs a kernel over ranges of games, one range per thread."""

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = lanes(threads)

    def run(self, function: Function, size: int, *arrays: Array) -> None:
        parts = min(self.threads, size)
        if parts <= 1:
            function(0, size, 1, *arrays)
            return
        cuts = [size * k // parts for k in range(parts + 1)]
        work = [
            _pool(parts).submit(function, cuts[k], cuts[k + 1], 1, *arrays) for k in range(1, parts)
        ]
        function(cuts[0], cuts[1], 1, *arrays)
        for future in work:
            future.result()

    def launch(self, function: Function, size: int, *arrays: Array) -> None:
        """Run a kernel on this thread alone, for a caller that has made threads of its own."""
        function(0, size, 1, *arrays)

    def each(self, parts: Sequence[Part], work: Callable[[Part], object]) -> None:
        """Do `work` for every part, a thread a part."""
        if len(parts) == 1:
            work(parts[0])
            return
        for done in [_pool(len(parts)).submit(work, part) for part in parts]:
            done.result()

    def empty(self, shape: Size, dtype: DTypeLike) -> Array:
        return zeros(shape, dtype)

    def scratch(self, shape: Size, dtype: DTypeLike) -> Array:
        """Memory that a kernel writes before it reads it."""
        return zeros(shape, dtype)

    def put(self, array: Array) -> Array:
        return as_array(array)

    def get(self, array: Array) -> HostArray:
        return np.asarray(array)

    def synchronize(self) -> None:
        """Nothing to wait for: `run` has waited."""


class Gpu:
    """Launches a kernel with one thread per game.

    stream: where, if it is to run beside other work; then it takes up as little of the GPU as it
    fits into.
    """

    name = "cuda"

    def __init__(self, stream: int = 0) -> None:
        self.cuda = cuda_module()
        if not self.cuda.is_available():
            raise GameError("there is no CUDA device here; use device='cpu'")
        self.stream = self.cuda.external_stream(stream) if stream else 0

    def run(self, function: Function, size: int, *arrays: Array) -> None:
        if size == 0:
            return  # CUDA refuses a launch without threads
        _prepare_rules_for_cuda()
        threads = PACKED if self.stream else WARP if size <= FEW else BLOCK
        blocks = (size + threads - 1) // threads
        tuples = tuple(type(array) if _is_named(array) else None for array in arrays)
        _launcher(function, tuples)[blocks, threads, self.stream](size, *_unpacked(arrays))

    launch = run

    def empty(self, shape: Size, dtype: DTypeLike) -> Array:
        return self.cuda.to_device(zeros(shape, dtype))

    def scratch(self, shape: Size, dtype: DTypeLike) -> Array:
        """Memory that a kernel writes before it reads it: nothing is copied from the host."""
        return self.cuda.device_array(shape, dtype)

    def put(self, array: Array) -> Array:
        if hasattr(array, "copy_to_host"):  # is on the device already
            return array
        if hasattr(array, "__cuda_array_interface__"):  # a torch tensor, say
            return self.cuda.as_cuda_array(array)
        return self.cuda.to_device(np.ascontiguousarray(as_array(array)))

    def get(self, array: Array) -> HostArray:
        return array.copy_to_host() if hasattr(array, "copy_to_host") else np.asarray(array)

    def synchronize(self) -> None:
        self.cuda.synchronize()


Device = Cpu | Gpu


def device_named(name: str, threads: int | None = None) -> Device:
    """The device called "cpu" or "cuda"."""
    if not isinstance(name, str) or name not in ("cpu", "cuda"):
        raise GameError(f"there is no device {shown(name)}; there are cpu and cuda")
    return Cpu(threads) if name == "cpu" else Gpu()


@functools.cache
def cuda_module() -> Any:
    """numba's CUDA, imported only when a GPU is asked for."""
    for name, standing_in in (("row_stack", np.vstack), ("in1d", np.isin), ("trapz", np.trapezoid)):
        if not hasattr(np, name):  # NumPy 2.5 dropped names that numba-cuda 0.30 still imports
            setattr(np, name, standing_in)
    try:
        from numba import cuda
    except ImportError:
        raise GameError('a GPU needs numba-cuda: pip install "kibitz[gpu]"') from None
    # A small batch leaves most of the GPU idle, as its user knows.
    cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    return cuda


def _prepare_rules_for_cuda() -> None:
    """Give every rule a CUDA dispatcher that widens integers as the CPU one does.

    numba-cuda would make a plain one when it first meets the rule, and compile a copy of the rule
    for every width of integer.
    """
    if _simulated():
        return
    from numba.cuda.dispatcher import CUDADispatcher

    slot = "_CUDATypingContext__dispatcher"  # where numba-cuda looks for one made earlier
    for compiled in RULES:
        if not hasattr(compiled, slot):
            settings = {**compiled.targetoptions, "device": True, "debug": False, "opt": True}
            setattr(compiled, slot, widen_integers(CUDADispatcher(compiled.py_func, settings)))


@functools.cache
def _launcher(function: Function, tuples: tuple[type | None, ...]) -> Any:
    """A CUDA kernel whose thread i runs `function` on game i alone.

    tuples: which arguments are named tuples of arrays. They travel as their arrays and are put
    together in the thread: numba-cuda takes long to find the type of a tuple, at every launch.
    """
    scope: dict[str, Any] = {"cuda": cuda_module(), "function": function}
    flat, packed = [], []
    for name, kind in zip(list(inspect.signature(function).parameters)[3:], tuples, strict=True):
        if kind is None:
            flat.append(name)
            packed.append(name)
            continue
        fields = [f"{name}_{field}" for field in kind._fields]  # type: ignore[attr-defined]
        flat += fields
        packed.append(f"{kind.__name__}({', '.join(fields)})")
        scope[kind.__name__] = kind
    source = (
        f"def launch(size, {', '.join(flat)}):\n"
        f"    i = cuda.grid(1)\n"
        f"    if i < size:\n"
        f"        function(i, i + 1, 1, {', '.join(packed)})\n"
    )
    exec(source, scope)
    launcher = cuda_module().jit(scope["launch"])
    if not _simulated():
        keep_kernel(launcher, function, source)
    return launcher


def _simulated() -> bool:
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


def _unpacked(arrays: tuple[Array, ...]) -> list[Array]:
    """Arguments with the fields of named tuples in their place."""
    return [a for array in arrays for a in (array if _is_named(array) else (array,))]


def _is_named(array: Array) -> bool:
    """Whether it is a named tuple of arrays; a plain tuple travels as it is."""
    return isinstance(array, tuple) and hasattr(array, "_fields")


# Arrays -----------------------------------------------------------------------------------------


def check_memory(what: str, array: Array) -> None:
    """Refuse an array that compiled code cannot write to as it writes to all others."""
    if not isinstance(array, np.ndarray) or array.flags.carray:
        return  # on a GPU, or as it should be
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise GameError(f"{what} lie side by side in memory; give a contiguous copy of these")
    if not array.flags.writeable:
        raise GameError(f"{what} are written to, and these cannot be; give a copy of them")


def as_array(given: object) -> HostArray:
    """A NumPy array that shares its memory with what is given, where that is possible."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError, OverflowError):
        raise GameError(f"{shown(given)} cannot be used as an array") from None


def memory() -> float:
    """Bytes of memory in this machine; infinite where the system does not say, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def zeros(shape: Size, dtype: DTypeLike) -> HostArray:
    """A new array, if there is room for it at all."""
    needed = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    try:
        if needed <= memory():
            return np.zeros(shape, dtype)
    except (MemoryError, ValueError, OverflowError):
        pass
    gigabytes = shown(needed >> 30)
    raise GameError(f"one array would need {gigabytes} GiB of memory, too much here; ask for less")


def as_int64(what: str, array: Array) -> Array:
    """Integers of the host as the one type that kernels are compiled for."""
    if not isinstance(array, np.ndarray) or (array.dtype == np.int64 and array.flags.carray):
        return array  # on a GPU, or as it should be
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise GameError(f"{what} are small numbers, and one of these is {array.max()}")
    return np.require(array, np.int64, ["C", "A", "W"])


def as_words(states: Array) -> Array:
    """The memory of states as 64-bit words, which are copied fastest. [size, words]"""
    return states.view(np.uint64).reshape(len(states), -1)
