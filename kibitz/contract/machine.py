"""Promises of the machine: the same bytes interpreted, compiled, in any batch and on a GPU."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import from_dtype, types

from ..batch import Batch
from ..cache import kept_signatures
from ..chance import below, stream, streams
from ..compiled import RULES
from ..game import CHANCE, OVER, Game
from ..notation import own_fields
from .cases import variations
from .sources import explained
from .trial import Broken, NotTried, State, Trial
from .watch import answer_of

STEPS = 10  # of a trace, for every game of the trial
BATCH, PLIES = 256, 40
SPOILT = 10  # positions with numbers replaced, for every game of the trial
SIMULATED, SIMULATED_PLIES = 3, 4  # the CUDA simulator takes a second for a few games

# What is played, to be compared -------------------------------------------------------------------


def trace(trial: Trial) -> Iterator[tuple[State, str]]:
    """Every step of random play, with a few digits of the state and of all that rules say of it."""
    rules, left = trial.rules, STEPS * trial.games
    for index in range(trial.games):
        rng, other, s = stream(trial.seed, "table", index), trial.rng(index), rules.fresh()
        while left:
            left -= 1
            who = trial.turn(s)
            yield s, _digits(trial, s, who, other)
            if who == CHANCE:
                rules.roll(s, rng)
            elif who == OVER:
                break
            else:
                legal = rules.legal(s)
                rules.play(s, legal[int(below(rng, len(legal)))])


def _digits(trial: Trial, s: State, who: int, rng: Any) -> str:
    rules = trial.rules
    parts: list[Any] = [s.tobytes(), who]
    for seat in range(trial.game.seats):
        parts += [rules.look(s, seat).tobytes(), trial.known(s, seat)]
        if who != OVER:
            parts.append(trial.redealt(s, seat, rng).tobytes())
    if who == OVER:
        parts.append(rules.scores(s))
    elif who == CHANCE:
        parts.append(rules.chances(s))
    else:
        legal = rules.legal(s)
        parts += [legal, [int(rules.label(s, a)) for a in legal]]
        parts += [trial.choice(player, s, who, rng) for player in trial.game.players]
    return hashlib.blake2b(repr(parts).encode(), digest_size=5).hexdigest()


def story(
    game: Game, seed: int, size: int, plies: int, device: str = "cpu", threads: int | None = None
) -> dict[str, Any]:
    """What every kernel makes of a batch after random play: arrays by name."""
    batch = Batch(game, size, device=device, seed=seed, threads=threads)
    batch.wander(plies)
    get = batch.device.get
    turns = get(batch.turns())
    found = {"states": batch.host().copy(), "streams": get(batch.rngs).copy(), "turns": turns}
    found["actions"], found["counts of actions"] = map(get, batch.actions())
    for seat in range(game.seats):
        seats = np.full(size, seat)
        found[f"views of seat {seat}"] = get(batch.observe(seats))
        found[f"`known` of seat {seat}"] = get(batch.known(seats))
    for player in game.players:
        chosen = batch.choose(player, turns, streams(seed, "player", size))
        found[f"choices of {player}"] = get(chosen)
    batch.settle()
    found["scores"] = get(batch.scores())
    batch.redeal(np.zeros(size, np.int64), streams(seed, "search", size))
    found["re-dealt states"] = batch.host().copy()
    return found


def digests(found: dict[str, Any]) -> dict[str, str]:
    """A story, short enough for another process to tell."""
    return {name: hashlib.sha256(a.tobytes()).hexdigest()[:16] for name, a in found.items()}


def copies(game: Game) -> dict[str, int]:
    """How often each rule of the game has been compiled for the same records.

    What other processes compiled counts: from the disk comes only what is called from outside.
    """
    parts = game.play.__module__.split(".")
    room = ".".join(parts[: 3 if parts[0] == "kibitz" else 1]) + "."
    kind = from_dtype(game.state)
    return {
        rule.py_func.__qualname__: max(_copies_by_records(rule, kind).values(), default=0)
        for rule in RULES
        if f"{rule.py_func.__module__}.".startswith(room)
    }


def _copies_by_records(rule: Any, kind: types.Type) -> Counter[tuple[types.Type, ...]]:
    signatures = {*rule.signatures, *kept_signatures(rule, (kind,))}
    return Counter(
        tuple(t for t in signature if isinstance(t, types.Record))
        for signature in signatures
        if kind in signature
    )


def spoilt(trial: Trial) -> Iterator[State]:
    """Positions of play with one to three numbers replaced: mostly nonsense, some of it lawful."""
    positions = trial.decisions + trial.chances + trial.ends
    dice = np.random.default_rng(trial.seed)
    for _ in range(SPOILT * trial.games):
        s = trial.game.copy(positions[dice.integers(len(positions))])
        for _ in range(dice.integers(1, 4)):
            name = str(dice.choice(own_fields(s)))
            kind, values = s.dtype[name].base, np.array(s[name])
            low, high = (
                (-2, 20) if dice.random() < 0.7 else (np.iinfo(kind).min, np.iinfo(kind).max)
            )
            number = dice.integers(max(low, np.iinfo(kind).min), high, dtype=kind, endpoint=True)
            values.reshape(-1)[dice.integers(values.size)] = number
            s[name] = values
        yield s


def use(trial: Trial, s: State, rng: Any) -> None:
    """Everything that rules can do with a position, to its end."""
    for seat in range(trial.game.seats):
        trial.rules.look(s, seat)
        trial.known(s, seat)
        trial.play_on(trial.redealt(s, seat, rng), rng)
    trial.play_on(s, rng)


# Other processes ---------------------------------------------------------------------------------


def elsewhere(trial: Trial, question: str, **switches: str) -> dict[str, Any]:
    """Ask another process, with some of numba's switches set."""
    message = answer_of({"question": question, **trial.request()}, **switches)
    if error := message.get("error"):
        raise Broken(f"{trial.game.name}: {error}")
    return message


def answer(question: str, trial: Trial) -> dict[str, Any]:
    """What the other process says."""
    try:
        if question == "cuda":
            return digests(story(trial.game, trial.seed, SIMULATED, SIMULATED_PLIES, device="cuda"))
        if question == "laws":
            lawful = [s for s in spoilt(trial) if not trial.rules.wrong_with(s)]
            for s in lawful:
                use(trial, s, trial.rng(7))
            return {"lawful": len(lawful)}
        with np.errstate(over="raise"):
            found: dict[str, Any] = {"trace": [digits for _, digits in trace(trial)]}
        found["fingerprint"] = trial.game.fingerprint
        if question == "bounds":
            story(trial.game, trial.seed, BATCH, PLIES)
            found["copies"] = copies(trial.game)
        return found
    except Exception as error:
        return {"error": explained(error, trial)}


@functools.lru_cache(maxsize=16)
def _interpreted(trial: Trial) -> dict[str, Any]:
    return elsewhere(trial, "trace", NUMBA_DISABLE_JIT="1")


@functools.lru_cache(maxsize=16)
def _bounds_checked(trial: Trial) -> dict[str, Any]:
    return elsewhere(trial, "bounds", NUMBA_BOUNDSCHECK="1")


# Promises ----------------------------------------------------------------------------------------


def interpreted_equals_compiled(trial: Trial) -> None:
    """Plain Python, where an overflow is an error, gives the same bytes as machine code."""
    _same_trace(trial, _interpreted(trial)["trace"], "interpreted")


def indices_stay_in_bounds(trial: Trial) -> None:
    """No rule reads or writes outside an array; without this check nobody would notice."""
    _same_trace(trial, _bounds_checked(trial)["trace"], "with bounds checked")


def _same_trace(trial: Trial, theirs: list[str], run: str) -> None:
    for (s, one), other in zip(trace(trial), theirs, strict=True):
        if one != other:
            raise Broken(f"{trial.at(s)}: the state, or what a rule says of it, differs {run}")


def rules_compile_once(trial: Trial) -> None:
    """Each rule has one compiled copy for this game's record, whatever integers it is given."""
    many = {rule: n for rule, n in _bounds_checked(trial)["copies"].items() if n > 1}
    if many:
        raise Broken(f"{trial.game.name}: rules compiled more than once: {many}")


def positions_are_lawful(trial: Trial) -> None:
    """`flaw` finds nothing wrong with positions of play, and what it passes can be played."""
    game = trial.game
    if game.flaw is None:
        raise NotTried("there is no `flaw`: positions from outside are held to bounds by field")
    rng = trial.rng(8)
    for s in trial.chances + trial.decisions + trial.ends:
        redealt = [trial.redealt(s, seat, rng) for seat in range(game.seats)]
        for t in [s, *redealt] if trial.turn(s) != OVER else [s]:
            if wrong := game.wrong_with(t):
                raise Broken(f"{trial.at(t)} is met in play, but `flaw` says: {wrong}")
    elsewhere(trial, "laws", NUMBA_BOUNDSCHECK="1")


def batches_are_only_faster(trial: Trial) -> None:
    """A game of a batch does not depend on threads, on the size of the batch, or on the run."""
    game, seed = trial.game, trial.seed
    one = story(game, seed, BATCH, PLIES, threads=1)
    _same_story(trial, one, story(game, seed, BATCH, PLIES, threads=2), "two threads")
    half = story(game, seed, BATCH // 2, PLIES, threads=1)
    _same_story(trial, {n: a[: BATCH // 2] for n, a in one.items()}, half, "half the batch")


def gpu_equals_cpu(trial: Trial) -> None:
    """The GPU gives the same bytes as the CPU."""
    if trial.device != "cuda":
        raise NotTried("no GPU was asked for; device='cuda' asks")
    size = max(BATCH, 40 * trial.games)
    on_gpu = story(trial.game, trial.seed, size, PLIES, device="cuda")
    _same_story(trial, story(trial.game, trial.seed, size, PLIES), on_gpu, "the GPU")


def cuda_path_runs(trial: Trial) -> None:
    """The launches of GPU kernels run, in the CUDA simulator, and give the same bytes."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise NotTried("numba-cuda is not installed")
    theirs = elsewhere(trial, "cuda", NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1")
    ours = digests(story(trial.game, trial.seed, SIMULATED, SIMULATED_PLIES))
    if wrong := [name for name in ours if ours[name] != theirs[name]]:
        raise Broken(f"{trial.game.name}: the simulated GPU has other {', '.join(wrong)}")


def _same_story(trial: Trial, one: dict[str, Any], other: dict[str, Any], run: str) -> None:
    for name in one:
        for i, (a, b) in enumerate(zip(one[name], other[name], strict=True)):
            if a.tobytes() != b.tobytes():
                raise Broken(
                    f"{trial.game.name}: {run} gave other {name}, first in game {i}: {a} / {b}"
                )


def fingerprints_tell_options_apart(trial: Trial) -> None:
    """The fingerprint is the same in every process and another under other options."""
    game = trial.game
    if (theirs := _interpreted(trial)["fingerprint"]) != game.fingerprint:
        raise Broken(f"{game.name}: fingerprint {game.fingerprint}, another process says {theirs}")
    for options in variations(game.options):
        if game.under(options).fingerprint == game.fingerprint:
            raise Broken(f"{game.name}: {options} has the fingerprint of {game.options}")
    game.bind()  # the last one made is what a record stands for: let that be this game again
