"""Many games at once: on CPU threads that own a range of games each, or one GPU thread a game.

Both run the same kernels over the same bytes. A kernel is `f(first, end, step, arrays...)`: a loop
over games that sees the game only through the overloaded names of `game`. Arrays may be NumPy's,
torch tensors or anything else that shares its memory; nothing is copied. This is the only file that
knows what a thread or a GPU is.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .chance import STREAM, below, streams
from .compiled import RULES, Function, kernel, rule, widen_integers
from .game import (
    CHANCE,
    OVER,
    Game,
    GameError,
    actions,
    choose,
    flaw,
    is_random,
    known,
    margin,
    observe,
    play,
    redeal,
    roll,
    room_for_actions,
    score,
    start,
    token,
    turn,
)
from .notation import own_fields
from .options import shown, whole_number

Array = Any  # a NumPy array, a device array, or anything that shares its memory with one

BLOCK, WARP = 128, 32  # GPU threads a block, for many games and for few
FEW = 1 << 16  # games that blocks of one warp spread over more of a GPU
PACKED = 256  # GPU threads a block beside other work, which needs the rest of the GPU
LEGAL, NOT_LEGAL, NOT_YOUR_MOVE = 0, 1, 2  # what `check_all` reports
BOUND_GAMES, BOUND_PLIES = 256, 400  # of random play, to see what its fields hold
NO_ACTION = np.iinfo(np.int64).min  # what `contest_all` reports where every action was legal


class IllegalAction(GameError):
    """An action that the rules do not allow here."""


# Kernels ---------------------------------------------------------------------------------------


@kernel
def start_all(first, end, step, states, options):
    for i in range(first, end, step):
        start(states[i], options[0])


@kernel
def settle_all(first, end, step, states, rngs):
    for i in range(first, end, step):
        settle(states[i], rngs[i])


@rule
def settle(s, rng):
    while turn(s) == CHANCE:
        roll(s, rng)


@kernel
def turns_all(first, end, step, states, out):
    for i in range(first, end, step):
        out[i] = turn(states[i])


@kernel
def actions_all(first, end, step, states, out, counts):
    for i in range(first, end, step):
        counts[i] = actions(states[i], out[i]) if turn(states[i]) >= 0 else 0


@kernel
def check_all(first, end, step, states, chosen, status):
    for i in range(first, end, step):
        s = states[i]
        status[i] = NOT_YOUR_MOVE
        if turn(s) >= 0:
            status[i] = NOT_LEGAL
            legal = room_for_actions(s)
            if listed(chosen[i], legal, actions(s, legal)):
                status[i] = LEGAL


@kernel
def play_all(first, end, step, states, chosen):
    """Games whose `chosen` is negative wait."""
    for i in range(first, end, step):
        if chosen[i] >= 0:
            play(states[i], chosen[i])


@kernel
def observe_all(first, end, step, states, seats, views):
    for i in range(first, end, step):
        observe(states[i], seats[i], views[i])


@kernel
def score_all(first, end, step, states, out):
    for i in range(first, end, step):
        if turn(states[i]) == OVER:
            score(states[i], out[i])


@kernel
def margin_all(first, end, step, states, out):
    for i in range(first, end, step):
        if turn(states[i]) == OVER:
            margin(states[i], out[i])


@kernel
def known_all(first, end, step, states, seats, out):
    for i in range(first, end, step):
        out[i] = known(states[i], seats[i])


@kernel
def redeal_all(first, end, step, states, seats, rngs):
    for i in range(first, end, step):
        redeal(states[i], seats[i], rngs[i])


@kernel
def choose_all(first, end, step, who, states, seats, rngs, out):
    """A compiled player moves where `seats` names a seat; -1 waits."""
    for i in range(first, end, step):
        out[i] = choose(who[0], states[i], seats[i], rngs[i]) if seats[i] >= 0 else -1


@kernel
def contest_all(
    first, end, step, one, other, sides, states, words, copies, copied, rngs, own, illegal
):
    """Whole games between two compiled players, who see a re-dealt copy and never the truth.

    words, copied: the memory of states and copies as 64-bit words. A game in which a player chose
    an illegal action stops there; `illegal` has that action, and NO_ACTION everywhere else.
    """
    for i in range(first, end, step):
        s = states[i]
        legal = room_for_actions(s)
        illegal[i] = NO_ACTION
        who = turn(s)
        while who != OVER:
            if who == CHANCE:
                roll(s, rngs[i])
                who = turn(s)
                continue
            n = actions(s, legal)
            side = sides[i, who]
            rng = own[i, side]
            if is_random(one[0]) if side == 0 else is_random(other[0]):
                action = np.int64(legal[below(rng, n)])  # there is nothing to hide from it
            else:
                for word in range(words.shape[1]):
                    copied[i, word] = words[i, word]
                redeal(copies[i], who, rng)
                if side == 0:
                    action = np.int64(choose(one[0], copies[i], who, rng))
                else:
                    action = np.int64(choose(other[0], copies[i], who, rng))
                if not listed(action, legal, n):
                    illegal[i] = action
                    break
            play(s, action)
            who = turn(s)


@rule
def listed(action, legal, count):
    """Whether an action is among the first `count` of a list."""
    for j in range(count):
        if legal[j] == action:
            return 1
    return 0


@kernel
def flaws_all(first, end, step, states, fresh, out):
    for i in range(first, end, step):
        out[i] = flaw(states[i], fresh[0])


@kernel
def wander_all(first, end, step, states, options, rngs, plies):
    """Every game makes this many random plies; a game that ends begins anew."""
    for i in range(first, end, step):
        s, rng = states[i], rngs[i]
        legal = room_for_actions(s)
        for _ in range(plies):
            who = turn(s)
            while who < 0:
                if who == OVER:
                    start(s, options[0])
                else:
                    roll(s, rng)
                who = turn(s)
            play(s, legal[below(rng, actions(s, legal))])


# The border ------------------------------------------------------------------------------------


def check_states(game: Game, states: Array) -> None:
    """Refuse an array that does not hold states of this game, side by side."""
    if getattr(states, "dtype", None) != game.state:
        raise GameError(f"these are not states of {game.name} under its options {game.options}")
    if len(states.shape) != 1 or len(states) == 0:
        raise GameError(f"states come in a list of one or more, not {list(states.shape)}")
    if states.strides != (game.state.itemsize,) and len(states) > 1:
        raise GameError("states lie side by side in memory; give a contiguous copy of these")
    check_memory("states", states)


def check_memory(what: str, array: Array) -> None:
    """Refuse an array that compiled code cannot write to as it writes to all others."""
    if not isinstance(array, np.ndarray) or array.flags.carray:
        return  # on a GPU, or as it should be
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise GameError(f"{what} lie side by side in memory; give a contiguous copy of these")
    if not array.flags.writeable:
        raise GameError(f"{what} are written to, and these cannot be; give a copy of them")


def as_array(given: Any) -> np.ndarray[Any, Any]:
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


def zeros(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """A new array, if there is room for it at all."""
    needed = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    try:
        if needed <= memory():
            return np.zeros(shape, dtype)
    except (MemoryError, ValueError, OverflowError):
        pass
    gigabytes = shown(needed >> 30)
    raise GameError(f"one array would need {gigabytes} GiB of memory, too much here; ask for less")


def check_positions(game: Game, states: Array, source: object) -> None:
    """Refuse states from outside, such as a file called `source`, that are no positions."""
    check_states(game, states)
    if game.flaw is None:
        if wrong := out_of_bounds(game, states):
            raise GameError(f"{source}: {wrong}")
        return
    numbers = np.zeros(len(states), np.int64)
    Cpu().run(flaws_all, len(states), states, np.array([game.fresh()]), numbers)
    if (wrong_ones := np.flatnonzero(numbers)).size:
        i = int(wrong_ones[0])
        raise GameError(f"{source}: state {i} is no position: {game.flaws[numbers[i] - 1]}")


def out_of_bounds(game: Game, states: Any) -> str:
    """The first field that is outside of what random play has shown, in words; or nothing."""
    for name, (low, high) in field_bounds(game).items():
        values = states[name]
        if (values < low).any() or (values > high).any():
            odd = values[(values < low) | (values > high)].reshape(-1)[0]
            return f"`{name}` is {odd}, and in play it is {low} to {high}"
    return ""


@functools.lru_cache(maxsize=64)
def field_bounds(game: Game) -> dict[str, tuple[Any, Any]]:
    """The least and the most that random play writes into each field, the house's own aside."""
    batch = Batch(game, BOUND_GAMES, seed=0, threads=1)
    low = {n: batch.states[n].min() for n in own_fields(batch.states)}
    high = {n: batch.states[n].max() for n in own_fields(batch.states)}
    for _ in range(BOUND_PLIES):
        for step in (batch.settle, lambda: batch.wander(1)):
            step()
            for name in low:
                low[name] = min(low[name], batch.states[name].min())
                high[name] = max(high[name], batch.states[name].max())
    return {name: (low[name], high[name]) for name in low}


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


def illegal_choice(game: Game, s: Any, who: str, action: Any) -> IllegalAction:
    """What to say about a player's choice that the rules do not allow."""
    return IllegalAction(
        f"{game.name}, seat {int(game.turn(s))}: {who} chose {action}, which is not legal here; "
        f"there are: {game.choices(s)}"
    )


# Devices ---------------------------------------------------------------------------------------


def lanes(threads: int | None = None) -> int:
    """How many CPU threads a batch uses unless told: one per core that this process may run on."""
    if threads is not None:
        return whole_number("threads", threads, least=1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows let a process run on every core


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="lane")


class Cpu:
    """Runs a kernel over ranges of games, a range a thread."""

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = lanes(threads)

    def run(self, function: Function, size: int, *arrays: Any) -> None:
        parts = min(self.threads, size)
        if parts <= 1:
            function(0, size, 1, *arrays)
            return
        cuts = [size * k // parts for k in range(parts + 1)]
        work = [
            _pool(parts).submit(function, cuts[k], cuts[k + 1], 1, *arrays) for k in range(1, parts)
        ]
        function(cuts[0], cuts[1], 1, *arrays)
        for each in work:
            each.result()

    def launch(self, function: Function, size: int, *arrays: Any) -> None:
        """Run a kernel on this thread alone, for a caller that has made threads of its own."""
        function(0, size, 1, *arrays)

    def each(self, parts: Sequence[Any], work: Callable[[Any], object]) -> None:
        """Do `work` for every part, a thread a part."""
        if len(parts) == 1:
            work(parts[0])
            return
        for done in [_pool(len(parts)).submit(work, part) for part in parts]:
            done.result()

    def empty(self, shape: Any, dtype: Any) -> Array:
        return zeros(shape, dtype)

    def scratch(self, shape: Any, dtype: Any) -> Array:
        """Memory that a kernel writes before it reads it."""
        return zeros(shape, dtype)

    def put(self, array: Any) -> Array:
        return as_array(array)

    def get(self, array: Array) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def synchronize(self) -> None:
        """Nothing to wait for: `run` has waited."""


class Gpu:
    """Launches a kernel with one thread a game.

    stream: where, if it is to run beside other work; then it takes up as little of the GPU as it
    fits into.
    """

    name = "cuda"

    def __init__(self, stream: int = 0) -> None:
        self.cuda = cuda_module()
        if not self.cuda.is_available():
            raise GameError("there is no CUDA device here; use device='cpu'")
        self.stream = self.cuda.external_stream(stream) if stream else 0

    def run(self, function: Function, size: int, *arrays: Any) -> None:
        _prepare_rules_for_cuda()
        threads = PACKED if self.stream else WARP if size <= FEW else BLOCK
        blocks = (size + threads - 1) // threads
        tuples = tuple(type(array) if isinstance(array, tuple) else None for array in arrays)
        _launcher(function, tuples)[blocks, threads, self.stream](size, *_unpacked(arrays))

    launch = run

    def empty(self, shape: Any, dtype: Any) -> Array:
        return self.cuda.to_device(zeros(shape, dtype))

    def scratch(self, shape: Any, dtype: Any) -> Array:
        """Memory that a kernel writes before it reads it: nothing is copied from the host."""
        return self.cuda.device_array(shape, dtype)

    def put(self, array: Any) -> Array:
        if hasattr(array, "copy_to_host"):  # is on the device already
            return array
        if hasattr(array, "__cuda_array_interface__"):  # a torch tensor, say
            return self.cuda.as_cuda_array(array)
        return self.cuda.to_device(np.ascontiguousarray(as_array(array)))

    def get(self, array: Array) -> np.ndarray[Any, Any]:
        return array.copy_to_host() if hasattr(array, "copy_to_host") else np.asarray(array)

    def synchronize(self) -> None:
        self.cuda.synchronize()


Device = Cpu | Gpu


def device_named(name: str, threads: int | None = None) -> Any:
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
    # A small batch leaves most of the GPU idle; whoever asks for one knows that.
    cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    return cuda


def _prepare_rules_for_cuda() -> None:
    """Give every rule a CUDA dispatcher that widens integers as the CPU one does.

    numba-cuda would make a plain one when it first meets the rule, and compile a copy of the rule
    for every width of integer.
    """
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return
    from numba.cuda.dispatcher import CUDADispatcher

    slot = "_CUDATypingContext__dispatcher"  # where numba-cuda looks for one made earlier
    for each in RULES:
        if not hasattr(each, slot):
            settings = {**each.targetoptions, "device": True, "debug": False, "opt": True}
            setattr(each, slot, widen_integers(CUDADispatcher(each.py_func, settings)))


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
    return cuda_module().jit(scope["launch"])


def _unpacked(arrays: tuple[Any, ...]) -> list[Any]:
    """Arguments with the fields of named tuples in their place."""
    return [a for array in arrays for a in (array if isinstance(array, tuple) else (array,))]


# A batch ---------------------------------------------------------------------------------------


class Batch:
    """`size` games of one kind, side by side.

    >>> from kibitz.games import load
    >>> batch = Batch(load("liars_dice"), 1000, seed=1)
    >>> batch.wander(plies=10)  # random play, for the exercise
    >>> batch.turns().shape
    (1000,)

    states: records [size]; rngs: one chance stream a game [size]. Both live on the device.
    """

    def __init__(
        self,
        game: Game,
        size: int,
        *,
        device: str = "cpu",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.game, self.size = game, whole_number("the games of a batch", size, least=1)
        self.device = device_named(device, threads)
        self.states = self.device.empty(self.size, game.state)
        self.rngs = self.device.put(streams(seed, "table", self.size))
        self.options = self.device.put(np.array([game.options.numbers()]))
        self.start()

    @classmethod
    def of(cls, game: Game, states: Array, rngs: Array, *, device: str = "cpu") -> Batch:
        """A batch over states and streams that exist already; on their device nothing is copied.

        The states are taken for positions of play: those from outside go through `check_positions`.
        """
        batch = cls.__new__(cls)
        batch.game, batch.device = game, device_named(device)
        batch.states = batch.device.put(states)
        check_states(game, batch.states)
        batch.size = len(batch.states)
        batch.rngs = batch._streams(rngs)
        batch.options = batch.device.put(np.array([game.options.numbers()]))
        return batch

    def run(self, function: Function, *arrays: Any) -> None:
        """Run a kernel over all games; integers and arrays of the device pass as they are."""
        self.device.run(function, self.size, *arrays)

    def start(self) -> None:
        """All tables before anything happened, chance not yet settled."""
        self.run(start_all, self.states, self.options)

    def settle(self) -> None:
        """Throw dice and draw cards until every game waits for a seat or is over."""
        self.run(settle_all, self.states, self.rngs)

    def turns(self) -> Array:
        """The seat to move, CHANCE or OVER, by game. int64 [size]"""
        return self._made(turns_all, np.int64)

    def actions(self) -> tuple[Array, Array]:
        """Legal actions, ascending, and how many. int16 [size, max_legal], int64 [size]"""
        out = self.device.empty((self.size, self.game.max_legal), np.int16)
        counts = self.device.empty(self.size, np.int64)
        self.run(actions_all, self.states, out, counts)
        return out, counts

    def play(self, chosen: Array, *, check: bool = True) -> None:
        """Play an action a game; a negative one waits. The check refuses the whole batch."""
        chosen = self._one_a_game("actions", chosen)
        if check:
            self._check(chosen)
        self.run(play_all, self.states, chosen)

    def _check(self, chosen: Array) -> None:
        status = self.device.empty(self.size, np.int64)
        self.run(check_all, self.states, chosen, status)
        asked = self.device.get(chosen)
        wrong = np.flatnonzero((self.device.get(status) != LEGAL) & (asked >= 0))
        if wrong.size:
            i = int(wrong[0])
            s = self.device.get(self.states)[i]
            raise IllegalAction(
                f"{self.game.name}, game {i} of the batch: action {int(asked[i])} is not legal at "
                f"{self.game.text(s)!r}; there are: {self.game.choices(s) or 'none'}"
            )

    def observe(self, seats: Array, out: Array | None = None) -> Array:
        """Views of one seat a game, written into `out`: float32 [size, view_size].

        `out` may be a torch tensor on the same device. It must have been zero when it was made.
        """
        if out is None:
            out = self.device.empty((self.size, self.game.view_size), np.float32)
        self.run(observe_all, self.states, self.seats(seats), self._as_views(out))
        return out

    def _as_views(self, out: Array) -> Array:
        views = self.device.put(out)
        check_memory("views", views)
        if views.shape != (self.size, self.game.view_size) or views.dtype != np.float32:
            wanted = f"float32 [{self.size}, {self.game.view_size}]"
            raise GameError(f"views go into {wanted}, not {views.dtype} {list(views.shape)}")
        return views.view(self.game.view).reshape(self.size)

    def scores(self) -> Array:
        """What each seat got, zero where the game goes on. float32 [size, seats]"""
        out = self.device.empty((self.size, self.game.seats), np.float32)
        self.run(score_all, self.states, out)
        return out

    def margins(self) -> Array:
        """By how much each seat won, in the game's own measure. float32 [size, seats]"""
        out = self.device.empty((self.size, self.game.seats), np.float32)
        self.run(margin_all, self.states, out)
        return out

    def known(self, seats: Array) -> Array:
        """Hashes of what a seat a game knows. uint64 [size]"""
        return self._made(known_all, np.uint64, self.seats(seats))

    def redeal(self, seats: Array, rngs: Array) -> None:
        """Replace what one seat a game cannot know."""
        self.run(redeal_all, self.states, self.seats(seats), self._streams(rngs))

    def choose(self, player: str, seats: Array, rngs: Array) -> Array:
        """What a compiled player of the game would do, where a seat is named. int64 [size]"""
        out = self.device.empty(self.size, np.int64)
        seats = self.seats(seats, waiting=True)
        self.run(choose_all, self._token(player), self.states, seats, self._streams(rngs), out)
        return out

    def contest(self, one: str, other: str, sides: Array, rngs: Array) -> None:
        """Play every game to its end between two compiled players, who never see the truth.

        sides: by game and seat, 0 where the one sits and 1 where the other does; rngs: a stream for
        each of the two in every game [size, 2].
        """
        sides = self._sides(sides)
        own = self.device.put(rngs)
        if own.shape != (self.size, 2) or own.dtype != STREAM:
            raise GameError(f"two players need streams [{self.size}, 2], not {list(own.shape)}")
        check_memory("chance streams", own)
        tokens = self._token(one), self._token(other)
        copies = self.device.scratch(self.size, self.game.state)
        illegal = self.device.scratch(self.size, np.int64)
        self.run(
            contest_all,
            *tokens,
            sides,
            self.states,
            as_words(self.states),
            copies,
            as_words(copies),
            self.rngs,
            own,
            illegal,
        )
        self._check_contest((one, other), sides, illegal)

    def _sides(self, given: Array) -> Array:
        sides = self.device.put(given)
        if sides.shape != (self.size, self.game.seats) or sides.dtype.kind not in "iu":
            wanted = f"integers [{self.size}, {self.game.seats}]"
            raise GameError(f"sides are {wanted} by game and seat, not {list(sides.shape)}")
        if isinstance(sides, np.ndarray) and ((sides < 0) | (sides > 1)).any():
            raise GameError("sides are 0 for the one player and 1 for the other")
        return as_int64("the sides of a contest", sides)

    def _check_contest(self, players: tuple[str, str], sides: Array, illegal: Array) -> None:
        chosen = self.device.get(illegal)
        if (wrong := np.flatnonzero(chosen != NO_ACTION)).size:
            i = int(wrong[0])
            s = self.device.get(self.states)[i]
            who = players[int(self.device.get(sides)[i, self.game.turn(s)])]
            raise illegal_choice(self.game, s, who, int(chosen[i]))

    def _token(self, player: str) -> Array:
        has = ["random", *self.game.players]
        if not isinstance(player, str) or player not in has:
            name, named = self.game.name, ", ".join(has)
            raise GameError(f"{name} has no compiled player {shown(player)}; there are: {named}")
        return self.device.put(np.array([token(self.game, player)]))

    def wander(self, plies: int) -> None:
        """Random play: `plies` decisions a game, chance and new games in between."""
        plies = whole_number("plies", plies, most=2**63 - 1)
        self.run(wander_all, self.states, self.options, self.rngs, plies)

    def host(self) -> Any:
        """The states as a NumPy array; a copy when they are on a GPU."""
        return self.device.get(self.states)

    # Compiled code checks nothing, so what comes from outside is checked here.

    def _one_a_game(self, what: str, given: Array) -> Array:
        array = self.device.put(given)
        if array.shape != (self.size,) or array.dtype.kind not in "iu":
            told = f"{array.dtype} {list(array.shape)}"
            raise GameError(f"{what} are integers, one a game: [{self.size}], not {told}")
        return as_int64(what, array)

    def seats(self, given: Array, *, waiting: bool = False) -> Array:
        """Seats, one a game, once they are known to be seats of the game; -1 may be `waiting`."""
        seats = self._one_a_game("seats", given)
        if isinstance(seats, np.ndarray):  # reading from a GPU would make every call wait for it
            lowest = OVER if waiting else 0
            counted = seats - lowest if lowest else seats
            # One look at all of them: what is too low is huge as an unsigned number.
            if counted.view(np.uint64).max() >= self.game.seats - lowest:
                wrong = seats[(seats < lowest) | (seats >= self.game.seats)][0]
                has = f"{self.game.name} has the seats 0 to {self.game.seats - 1}"
                raise GameError(f"{has}, not {wrong}")
        return seats

    def _streams(self, given: Array) -> Array:
        rngs = self.device.put(given)
        if getattr(rngs, "dtype", None) != STREAM or rngs.shape != (self.size,):
            raise GameError(
                f"chance streams come one a game: [{self.size}], not {list(rngs.shape)}"
            )
        check_memory("chance streams", rngs)
        return rngs

    def _made(self, function: Callable[..., Any], dtype: Any, *arrays: Any) -> Array:
        out = self.device.empty(self.size, dtype)
        self.run(function, self.states, *arrays, out)
        return out
