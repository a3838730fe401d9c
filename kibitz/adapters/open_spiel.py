"""Every kibitz game as an OpenSpiel game, for OpenSpiel's algorithms to play, solve and test.

>>> import pyspiel
>>> register_all()
>>> pyspiel.load_game("kibitz_liars_dice(dice=1;1,sides=3,variant=high)").num_distinct_actions()
7
>>> game("liars_dice", dice=(1, 1), sides=3).get_parameters()["dice"]
'1;1'

A game's options are OpenSpiel's game parameters under the same names. Commas separate parameters
there, so a tuple is written with semicolons; a tuple of one number ends with one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import chance, games
from ..game import CHANCE, OVER, Game, Options, State, nothing_hidden

try:
    import pyspiel
except ImportError as error:
    raise ImportError('OpenSpiel is missing: pip install "kibitz[adapters]"') from error

# OpenSpiel needs a bound on the length, and the contract has none. No game comes near this one, and
# algorithms that allocate a table of this length still have enough memory.
MOST_MOVES = 100_000
MOST_PARTS = 10_000  # the largest denominator of a score

Parameters = dict[str, int | bool | str]
"""Game parameters as OpenSpiel writes them, by name."""

Pickled = tuple[Callable[..., object], tuple[object, ...]]
"""A function and its arguments that make an object again."""


def register(name: str | Path) -> str:
    """Make a game loadable by `pyspiel.load_game`, in this process; returns its name there.

    name: a game of the package, or the path of a game's file or folder.
    """
    rules = games.load(name)
    kind = game_type(rules, rules.options)
    # A class, not a function: OpenSpiel releases it after Python has ended. Only an object in a
    # reference cycle, as every class is, survives that.
    pyspiel.register_game(kind, type("SpielGame", (SpielGame,), {"base": rules, "name": name}))
    return str(kind.short_name)


def register_all() -> None:
    """Register every game of the package."""
    for name in games.names():
        register(name)


def game(name: str | Path, **options: object) -> pyspiel.Game:
    """A game as a `pyspiel.Game`, under options given as to `kibitz.load`."""
    return loaded(name, written(games.load(name, **options).options))


def loaded(name: str | Path, parameters: Parameters) -> pyspiel.Game:
    """Register a game and load it under these parameters."""
    return pyspiel.load_game(register(name), parameters)


# Options as parameters --------------------------------------------------------------------------


def written(options: Options) -> Parameters:
    """Options as game parameters."""
    values = dataclasses.asdict(options)
    return {n: _joined(v) if isinstance(v, tuple) else v for n, v in values.items()}


def _joined(values: tuple[int, ...]) -> str:
    # "5" alone would be read as a number, and OpenSpiel refuses a number where it expects a text.
    return ";".join(map(str, values)) + (";" if len(values) == 1 else "")


def _bound(rules: Game, parameters: Parameters) -> Game:
    values = {n: _read(rules, n, v) if isinstance(v, str) else v for n, v in parameters.items()}
    return rules.bind(**values)


def _read(rules: Game, name: str, text: str) -> str | tuple[int, ...]:
    """The text of a parameter as that of an option; an empty one may stand for no numbers."""
    if not text and isinstance(getattr(rules.options, name, None), tuple):
        return ()
    return _commas(text)


def _commas(text: str) -> str:
    return text.rstrip(";").replace(";", ",")


# What OpenSpiel asks about a game ---------------------------------------------------------------


def game_type(rules: Game, defaults: Options) -> pyspiel.GameType:
    """The `pyspiel.GameType`: what kind of game this is."""
    kind = pyspiel.GameType
    chances, secrecy = kind.ChanceMode, kind.Information
    hides = rules.redeal is not nothing_hidden
    return kind(
        short_name=f"kibitz_{rules.name}",
        long_name=f"{rules.name.replace('_', ' ').title()} (kibitz)",
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=chances.EXPLICIT_STOCHASTIC if rules.num_outcomes else chances.DETERMINISTIC,
        information=secrecy.IMPERFECT_INFORMATION if hides else secrecy.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM if rules.zero_sum else kind.Utility.GENERAL_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=rules.seats,
        min_num_players=rules.seats,
        provides_information_state_string=True,
        provides_information_state_tensor=rules.perfect_recall,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=written(defaults),
    )


def game_info(rules: Game) -> pyspiel.GameInfo:
    """The `pyspiel.GameInfo`: how large the game is."""
    return pyspiel.GameInfo(
        num_distinct_actions=rules.num_actions,
        max_chance_outcomes=rules.num_outcomes,
        num_players=rules.seats,
        min_utility=rules.score_range[0],
        max_utility=rules.score_range[1],
        utility_sum=0.0 if rules.zero_sum else None,
        max_game_length=MOST_MOVES,
    )


class SpielGame(pyspiel.Game):  # type: ignore[misc]
    """A kibitz game under OpenSpiel's names. Registering one makes a subclass."""

    base: Game  # under its default options
    name: str | Path  # what it was registered by

    def __init__(self, parameters: Parameters) -> None:
        self.rules = _bound(self.base, parameters)
        kind = game_type(self.rules, self.base.options)
        super().__init__(kind, game_info(self.rules), written(self.rules.options))
        # OpenSpiel asks for a new table at every clone, so one is kept ready.
        self.first = self.rules.fresh()
        self.first_turn = int(self.rules.turn(self.first))
        self.first_infostates = tuple(
            f"{seat}{knowledge(self.rules, self.first, seat)}" for seat in range(self.rules.seats)
        )

    def __reduce__(self) -> Pickled:
        return loaded, (self.name, self.get_parameters())

    def new_initial_state(self) -> SpielState:
        return SpielState(self)

    def max_chance_nodes_in_history(self) -> int:
        return MOST_MOVES if self.rules.num_outcomes else 0

    def make_py_observer(
        self, kind: pyspiel.IIGObservationType | None = None, params: object = None
    ) -> SpielObserver | None:
        """What a seat sees; None for its public or private part, which a view does not separate."""
        kind = kind or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return SpielObserver(self.rules, remembers=kind.perfect_recall)


class SpielState(pyspiel.State):  # type: ignore[misc]
    """A table in play: the record of the game and the information state of every seat.

    OpenSpiel clones and saves a state by copying its attributes, so the rules are not one of them.
    """

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self.s = game.rules.copy(game.first)
        self.who, self.infostates = game.first_turn, game.first_infostates

    def __reduce__(self) -> Pickled:
        return read, (self.get_game(), self.serialize())

    @property
    def rules(self) -> Game:
        return self.get_game().rules  # type: ignore[no-any-return]

    def current_player(self) -> int:
        if self.who == OVER:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if self.who == CHANCE else self.who

    def is_terminal(self) -> bool:
        return self.who == OVER

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(o, p) for o, p in enumerate(self.rules.chances(self.s)) if p > 0]

    def _legal_actions(self, player: int) -> list[int]:
        return self.rules.legal(self.s)

    def _apply_action(self, action: int) -> None:
        rules, who = self.rules, self.who
        seats = range(rules.seats)
        events = [_event(rules, self.s, who, seat, int(action)) for seat in seats]
        rules.play(self.s, int(action))
        self.who = int(rules.turn(self.s))
        self.infostates = tuple(
            extended(self.infostates[seat], knowledge(rules, self.s, seat), events[seat])
            for seat in seats
        )

    def returns(self) -> list[float]:
        if self.who != OVER:
            return [0.0] * self.num_players()
        return [exact(score) for score in self.rules.scores(self.s)]

    def _action_to_string(self, player: int, action: int) -> str:
        # Only possible moves have words; OpenSpiel's messages name others, too.
        here = self.rules.moves(self.s) if player == self.current_player() else ()
        return str(self.rules.action_text(self.s, action)) if action in here else str(action)

    def __str__(self) -> str:
        return str(self.rules.text(self.s))

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> SpielState:
        """A table that `player` cannot tell from this one; the history stays that of this one.

        For algorithms written in Python. OpenSpiel's binding does not forward the C++ method of
        this name to Python games, so it is "not implemented" there.
        """
        twin, rules = self.clone(), self.rules
        rules.redeal(twin.s, int(player), chance.stream(int(sampler() * 2**53), "search"))
        # The others never received their new cards by any moves, but they know what they hold.
        twin.infostates = tuple(
            infostate if seat == player else f"{seat}~{knowledge(rules, twin.s, seat)}"
            for seat, infostate in enumerate(self.infostates)
        )
        return twin  # type: ignore[no-any-return]


def read(game: SpielGame, serialized: str) -> SpielState:
    """A state from its serialized text."""
    return game.deserialize_state(serialized)  # type: ignore[no-any-return]


def exact(score: float) -> float:
    """A score in double precision: 1/3 for float32's 0.33333334, so that thirds sum to zero."""
    return float(Fraction(score).limit_denominator(MOST_PARTS))


# Information states -----------------------------------------------------------------------------


def knowledge(rules: Game, s: State, seat: int) -> str:
    """The hash of what a seat knows, always of one length."""
    return f".{int(rules.known(s, seat)):016x}"


def extended(infostate: str, now: str, event: str) -> str:
    """An information state after one more event, unchanged if the seat noticed nothing.

    now: what the seat knows after the event. An action can reveal more than its name says.
    """
    return infostate if not event and infostate.endswith(now) else f"{infostate} {event}{now}"


def _event(rules: Game, s: State, who: int, seat: int, action: int) -> str:
    """What a seat notices of a move: its own action, or the news of another seat's.

    Outcomes of chance are part of what it knows afterwards.
    """
    if who == CHANCE:
        return ""
    news = "_".join(rules.news_text(s, seat, action).split())
    return str(action) if who == seat else f"{who}:{news}"


class SpielObserver:
    """A seat's view in numbers and words; with `remembers` the words are its information state."""

    def __init__(self, rules: Game, remembers: bool) -> None:
        self.rules, self.remembers = rules, remembers
        self.tensor: NDArray[np.float32] | None = None
        self.dict: dict[str, NDArray[np.float32]] = {}
        if not remembers or rules.perfect_recall:
            self.view = np.zeros(1, rules.view)
            self.tensor = self.view.view(np.float32).reshape(-1)
            for name in rules.view.names or ():
                part, start = rules.view.fields[name][:2]  # type: ignore[index]
                numbers = self.tensor[start // 4 : (start + part.itemsize) // 4]
                self.dict[name] = numbers.reshape(part.shape)

    def set_from(self, state: SpielState, player: int) -> None:
        if self.tensor is not None:
            self.rules.observe(state.s, self.rules.seat(player), self.view[0])

    def string_from(self, state: SpielState, player: int) -> str:
        if self.remembers:
            return state.infostates[player]
        return str(self.rules.seen(state.s, self.rules.seat(player)))
