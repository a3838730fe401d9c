"""Odd positions, actions, arrays and players: what public functions take that sit at a table."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import fuzz_mutation as mutate
import numpy as np
from fuzzing import ACCEPTED, REFUSED, Wrong

import kibitz
from kibitz.arena.table import Table
from kibitz.batch import Batch, check_positions
from kibitz.chance import stream, streams
from kibitz.dispatch import _GAMES
from kibitz.game import CHANCE, OVER, Game, GameError
from kibitz.games import load
from kibitz.players import Sight
from kibitz.search.mcts import Search, Settings

NAMES = ("kuhn", "liars_dice", "beasty_bar", "dominion", "escampe")
MOVES = 20_000  # after which a game from an odd position is left
SIZE = 3  # tables of a batch


SMALLER = load("liars_dice", dice=(1, 1))


@functools.cache
def game_named(name: str) -> Game:
    return load(name, **{"dominion": {"kingdom": "first_game", "max_turns": 20}}.get(name, {}))


@functools.cache
def played(name: str, number: int) -> Any:
    """A position that random play comes to."""
    batch = Batch(game_named(name), 1, seed=number, threads=1)
    batch.wander(number % 40)
    if number % 3:
        batch.settle()
    return batch.states[0].copy()


def prepare() -> None:
    """Compile everything that the cases use."""
    rng = random.Random(1)
    for name in NAMES:
        game, s = game_named(name), played(name, 1)
        play_on(game, game.read(game.text(s)), rng)
        for use in USES.values():
            use(game, lambda given: given)
        kibitz.match(game, "random", Honest(), games=2, seed=1)


class NotCompiled(GameError):
    """A table of another size, which is valid and takes too long to compile for."""


def begin() -> None:
    """From now on games under options that need another record are not played."""
    compiled, under = {*_GAMES}, Game.under

    def only_compiled(self: Game, options: Any) -> Game:
        game = under(self, options)
        if game.state not in compiled:
            raise NotCompiled(f"{game.name}: the fuzz tests do not compile for {options}")
        return game

    Game.under = only_compiled  # type: ignore[method-assign]


def refused(work: Callable[[], object]) -> str:
    """Do something that may be refused by one of our errors, and by nothing else."""
    try:
        work()
    except NotCompiled:
        return ACCEPTED
    except GameError as error:
        if not str(error).strip():
            raise Wrong(f"{type(error).__name__} says nothing") from error
        return REFUSED
    return ACCEPTED


# Positions and actions ----------------------------------------------------------------------------


def a_position(rng: random.Random) -> str:
    name = rng.choice(NAMES)
    game = game_named(name)
    text = game.text(played(name, rng.randrange(60)))
    change = rng.choice((mutate.text, mutate.changed_number, _fields))
    text = mutate.several(rng, change, text)

    def look() -> None:
        play_on(game, game.read(text), rng)

    return refused(look)


def _fields(rng: random.Random, text: str) -> str:
    """Parts of a position dropped, repeated, or taken from another position or game."""
    parts = text.split(" ")
    other = game_named(name := rng.choice(NAMES)).text(played(name, rng.randrange(60))).split(" ")
    where = rng.randrange(len(parts))
    match rng.randrange(4):
        case 0:
            del parts[where]
        case 1:
            parts.insert(where, rng.choice(parts))
        case 2:
            parts[where] = rng.choice(other)
        case _:
            rng.shuffle(parts)
    return " ".join(parts)


def play_on(game: Game, s: Any, rng: random.Random) -> None:
    """Do with a position what tables and searches do, and play to the end."""
    stream_ = stream(rng.randrange(1 << 30), "table")
    for seat in range(game.seats):
        game.look(s, seat)
        game.known(s, seat)
        str(game.seen(s, seat))
        twin = game.copy(s)
        game.redeal(twin, seat, stream_)
        if game.turn(twin) != game.turn(s):
            raise Wrong(f"another turn after a re-deal of {game.text(s)!r}")
        game.look(twin, seat)
    for _ in range(MOVES):
        who = int(game.turn(s))
        if who == OVER:
            break
        if who == CHANCE:
            game.roll(s, stream_)
            continue
        if not 0 <= who < game.seats:
            raise Wrong(f"seat {who} is to move at {game.text(s)!r}")
        legal = game.legal(s)
        if not 0 < len(legal) <= game.max_legal or not 0 <= legal[0] <= legal[-1]:
            raise Wrong(f"the actions {legal} at {game.text(s)!r}")
        if legal[-1] >= game.num_actions:
            raise Wrong(f"the actions {legal} at {game.text(s)!r}")
        game.play(s, rng.choice(legal))
    if game.turn(s) == OVER:
        game.scores(s)
    game.text(s)


def an_action(rng: random.Random) -> str:
    name = rng.choice(NAMES)
    table = Table(game_named(name), seed=rng.randrange(20))
    for _ in range(rng.randrange(6)):
        if not table.over:
            table.play(rng.choice(table.actions))
    if table.over:
        return refused(lambda: table.play("again"))
    given: Any = mutate.several(rng, mutate.text, rng.choice(table.choices))
    if rng.random() < 0.2:
        given = rng.choice(
            (*ODD_ACTIONS, rng.choice(table.actions), int(rng.choice(table.actions)))
        )
    s = table.game.copy(table._truth)

    def read() -> None:
        action = table.game.read_action(s, given)
        if action not in table.game.moves(s) and not -(2**63) <= action < 2**63:
            raise Wrong(f"{given!r} is read as {action}")

    if isinstance(given, str):
        refused(read)
    return refused(lambda: table.play(given))


ODD_ACTIONS: tuple[Any, ...] = (
    *(-1, 2**63, -(2**63), 10**30, None, True, 1.5, float("nan"), b"1x1", [], [0], (0,), {}),
    *(np.int8(0), np.uint64(2**63), np.float32(0), np.zeros(2, np.int64), np.array(0), object()),
)


# Arrays -------------------------------------------------------------------------------------------


def an_array(rng: random.Random) -> str:
    """A public function with one array that is not as it should be."""
    game = game_named(rng.choice(NAMES))
    use = USES[rng.choice(list(USES))]
    count, changed = 0, rng.randrange(3)

    def maybe(given: Any) -> Any:
        nonlocal count
        count += 1
        if count - 1 != changed:
            return given
        return odd_array(rng, given) if isinstance(given, np.ndarray) else rng.choice(ODD_VALUES)

    return refused(lambda: use(game, maybe))


def odd_array(rng: random.Random, given: Any) -> Any:
    """The same array with another dtype, shape, order, place or content, or no array at all."""
    changes: list[Callable[[], Any]] = [
        lambda: given[:0],
        lambda: np.concatenate([given, given]),
        lambda: given[:1],
        lambda: np.repeat(given, 2, 0)[::2],
        lambda: given[::-1],
        lambda: given.reshape(1, *given.shape),
        lambda: given.reshape(*given.shape, 1),
        lambda: given[0],
        lambda: np.asfortranarray(np.stack([given, given])),
        lambda: _read_only(given),
        lambda: given.view(np.uint8) if given.flags.c_contiguous else given,
        lambda: list(given),
        lambda: np.frombuffer(b"\0" + given.tobytes(), np.uint8)[1:].view(given.dtype),
        lambda: given.astype(object),
        lambda: rng.choice(ODD_VALUES),
        lambda: game_named(rng.choice(NAMES)).state,
        lambda: np.zeros(len(given), game_named(rng.choice(NAMES)).state),
        lambda: np.zeros(len(given), SMALLER.state),
    ]
    if given.dtype.kind in "iuf":
        kinds = ("i1", "u1", "i2", ">i4", ">i8", "u8", "f4", "f8", "c16", "?", "U3", "S3", "M8[s]")
        values = (-1, -2, -3, 1, 2, 99, 2**31, 2**63 - 1, -(2**63), 255)
        changes += [
            *(lambda kind=kind: given.astype(np.dtype(kind)) for kind in kinds),
            *(lambda value=value: np.full(given.shape, value) for value in values),
            lambda: np.full(given.shape, 2**64 - 1, np.uint64),
            lambda: np.full(given.shape, np.nan),
            lambda: np.ma.masked_array(given, np.ones(given.shape)),
        ]
    return rng.choice(changes)()


def _read_only(given: Any) -> Any:
    twin = given.copy()
    twin.flags.writeable = False
    return twin


ODD_VALUES: tuple[Any, ...] = (
    *(None, 0, -1, 1, 1.5, float("nan"), 10**30, "", "random", "x" * 5000, b"", [], [[]], {}, ()),
    *(
        True,
        [1, [2]],
        range(3),
        object(),
        np.float64(1),
        np.array(None),
        np.zeros((0, 3)),
        Ellipsis,
    ),
    *(2**31, 2**40, 2**62, np.int8(3), np.uint64(2**63), slice(None), int, lambda: None),
)

Maybe = Callable[..., Any]


def _batch(game: Game) -> Batch:
    batch = Batch(game, SIZE, seed=1, threads=1)
    batch.settle()
    return batch


def _use_batch(game: Game, maybe: Maybe) -> None:
    Batch(game, maybe(SIZE), seed=maybe(1), threads=maybe(1)).settle()


def _use_of(game: Game, maybe: Maybe) -> None:
    batch = Batch.of(game, maybe(_batch(game).states), maybe(streams(1, "table", SIZE)))
    batch.settle()
    batch.scores()


def _use_play(game: Game, maybe: Maybe) -> None:
    batch = _batch(game)
    legal, _ = batch.actions()
    batch.play(maybe(legal[:, 0].astype(np.int64)))
    batch.settle()


def _use_observe(game: Game, maybe: Maybe) -> None:
    batch = _batch(game)
    out = np.zeros((SIZE, game.view_size), np.float32)
    batch.observe(maybe(np.zeros(SIZE, np.int64)), out=maybe(out))


def _use_known(game: Game, maybe: Maybe) -> None:
    _batch(game).known(maybe(np.ones(SIZE, np.int64)))


def _use_redeal(game: Game, maybe: Maybe) -> None:
    _batch(game).redeal(maybe(np.ones(SIZE, np.int64)), maybe(streams(1, "player", SIZE)))


def _use_choose(game: Game, maybe: Maybe) -> None:
    batch = _batch(game)
    name = next(iter(game.players), "random")
    batch.choose(maybe(name), maybe(batch.turns()), maybe(streams(1, "player", SIZE)))


def _use_contest(game: Game, maybe: Maybe) -> None:
    own = streams(1, "player", SIZE * 2).reshape(SIZE, 2)
    sides = np.tile([0, 1], (SIZE, 1))
    _batch(game).contest("random", "random", maybe(sides), maybe(own))


def _use_wander(game: Game, maybe: Maybe) -> None:
    plies = maybe(4)
    if not (type(plies) is int and plies > 1000):  # who asks for years gets them
        _batch(game).wander(plies)


def _use_check(game: Game, maybe: Maybe) -> None:
    states = _batch(game).states
    raw = states.view(np.uint8).copy()
    check_positions(game, maybe(raw.view(game.state)), "an array")


def _use_search(game: Game, maybe: Maybe) -> None:
    search = Search(game, SIZE, Settings(simulations=4), threads=1)
    search.run(maybe(_batch(game).states), maybe(streams(1, "search", SIZE)), reuse=maybe(False))


def _use_settings(game: Game, maybe: Maybe) -> None:
    settings = Settings(simulations=maybe(4), explore=maybe(2.0), considered=maybe(16))
    if not (type(settings.simulations) is int and 1000 < settings.simulations < 2**32):
        Search(game, 1, settings, threads=1).run(_batch(game).states[:1], streams(1, "search", 1))


def _use_sight(game: Game, maybe: Maybe) -> None:
    batch = _batch(game)
    given = maybe(batch.states), maybe(batch.turns()), maybe(streams(1, "player", SIZE))
    sight = Sight(game, *given)
    sight.imagine()
    sight.ask("random")
    assert len(sight.actions) == len(sight.views)


def _use_table(game: Game, maybe: Maybe) -> None:
    table = Table(game, seed=maybe(1), index=maybe(0))
    table.play(maybe(table.actions[0]))


def _use_streams(game: Game, maybe: Maybe) -> None:
    count = maybe(3)
    if not (type(count) is int and count > 10**6):
        streams(maybe(1), "player", count, maybe(0))


def _use_bind(game: Game, maybe: Maybe) -> None:
    names = list(game.describe()["options"])
    values = {name: maybe(getattr(game.options, name)) for name in names[:3]}
    game.bind(**values)


def _use_one_state(game: Game, maybe: Maybe) -> None:
    game.read(maybe(game.text(played(game.name, 1))))
    game.look(game.fresh(), maybe(0))
    game.seat(maybe(1))


USES: dict[str, Callable[[Game, Maybe], None]] = {
    name.removeprefix("_use_"): use for name, use in list(globals().items()) if "_use_" in name
}


# Players ------------------------------------------------------------------------------------------


class Honest:
    """A player as it should be; the others are odd in one way."""

    name = "first"

    def choose(self, sight: Sight) -> Any:
        return sight.legal[0][:, 0].astype(np.int64)


class Odd(Honest):
    def __init__(self, rng: random.Random) -> None:
        self.rng = random.Random(rng.random())
        self.way, self.value = rng.randrange(4), rng.choice((*ODD_VALUES, *ODD_ACTIONS))

    def choose(self, sight: Sight) -> Any:
        right = super().choose(sight)
        match self.way:
            case 0:
                return self.value
            case 1:
                return odd_array(self.rng, right)
            case 2:
                return [self.value] * len(sight)
            case _:
                for array in (sight.rngs, sight.seats, *sight.legal):  # a player that cheats
                    array.view(np.uint8)[:] = 255
                return right


def a_player(rng: random.Random) -> str:
    game = game_named(rng.choice(NAMES))
    players = [Odd(rng), "random"]
    rng.shuffle(players)

    def sit_down() -> None:
        if rng.random() < 0.5:
            kibitz.match(game, *players, games=2, seed=1)
        else:
            Table(game, seed=1).ask(Odd(rng))

    return refused(sit_down)


CASES = {
    "positions": a_position,
    "actions": an_action,
    "arrays": an_array,
    "players": a_player,
}
