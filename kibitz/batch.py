"""Many games at once, on CPU threads or a GPU: the same kernels over the same bytes.

A kernel is a loop over games that sees the game only through the overloaded names of `game`.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import DTypeLike

from .chance import STREAM, below, streams
from .compiled import Function, kernel, rule
from .devices import Array, Cpu, HostArray, as_int64, as_words, check_memory, device_named
from .game import (
    CHANCE,
    OVER,
    Game,
    GameError,
    State,
    actions,
    are_tokens,
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
            first_token, second_token = one[i % one.shape[0]], other[i % other.shape[0]]
            if is_random(first_token) if side == 0 else is_random(second_token):
                action = np.int64(legal[below(rng, n)])  # there is nothing to hide from it
            else:
                for word in range(words.shape[1]):
                    copied[i, word] = words[i, word]
                redeal(copies[i], who, rng)
                if side == 0:
                    action = np.int64(choose(first_token, copies[i], who, rng))
                else:
                    action = np.int64(choose(second_token, copies[i], who, rng))
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


def out_of_bounds(game: Game, states: Array) -> str:
    """The first field that is outside of what random play has shown, in words; or nothing."""
    for name, (low, high) in field_bounds(game).items():
        values = states[name]
        if (values < low).any() or (values > high).any():
            odd = values[(values < low) | (values > high)].reshape(-1)[0]
            return f"`{name}` is {odd}, and in play it is {low} to {high}"
    return ""


@functools.lru_cache(maxsize=64)
def field_bounds(game: Game) -> dict[str, tuple[np.generic, np.generic]]:
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


def illegal_choice(game: Game, s: State, who: str, action: object) -> IllegalAction:
    """What to say about a player's choice that the rules do not allow."""
    return IllegalAction(
        f"{game.name}, seat {int(game.turn(s))}: {who} chose {action}, which is not legal here; "
        f"there are: {game.choices(s)}"
    )


def compiled_player(game: Game, player: str) -> HostArray:
    """The token of a compiled player, as kernels take it; GameError if there is no such player."""
    if not isinstance(player, str):
        named = ", ".join(["random", *game.players])
        raise GameError(f"{game.name} has no compiled player {shown(player)}; there are: {named}")
    return np.array([token(game, player)])


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

    def run(self, function: Function, *arrays: Array) -> None:
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

    def contest(self, one: str | Array, other: str | Array, sides: Array, rngs: Array) -> None:
        """Play every game to its end between two compiled players, who never see the truth.

        one, other: names, or tokens (`compiled_player`) of those who play games 0, 1 and so on, and
        then in turn. sides: by game and seat, 0 where the one sits and 1 where the other does;
        rngs: a stream for each of the two in every game [size, 2].
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

    def _check_contest(
        self, players: tuple[str | Array, str | Array], sides: Array, illegal: Array
    ) -> None:
        chosen = self.device.get(illegal)
        if (wrong := np.flatnonzero(chosen != NO_ACTION)).size:
            i = int(wrong[0])
            s = self.device.get(self.states)[i]
            who = players[int(self.device.get(sides)[i, self.game.turn(s)])]
            name = who if isinstance(who, str) else "a player"
            raise illegal_choice(self.game, s, name, int(chosen[i]))

    def _token(self, player: str | Array) -> Array:
        tokens = player if are_tokens(self.game, player) else compiled_player(self.game, player)
        return self.device.put(tokens)

    def wander(self, plies: int) -> None:
        """Random play: `plies` decisions a game, chance and new games in between."""
        plies = whole_number("plies", plies, most=2**63 - 1)
        self.run(wander_all, self.states, self.options, self.rngs, plies)

    def host(self) -> HostArray:
        """The states as a NumPy array; a copy when they are on a GPU."""
        return self.device.get(self.states)

    # Compiled code checks nothing, so what comes from outside is checked here.

    def _one_a_game(self, what: str, given: Array) -> Array:
        array = self.device.put(given)
        if array.shape != (self.size,) or array.dtype.kind not in "iu":
            given = f"{array.dtype} {list(array.shape)}"
            raise GameError(f"{what} are integers, one per game: [{self.size}], not {given}")
        return as_int64(what, array)

    def seats(self, given: Array, *, waiting: bool = False) -> Array:
        """Seats, one per game, once they are known to be seats of the game; -1 may be `waiting`."""
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
                f"chance streams come one per game: [{self.size}], not {list(rngs.shape)}"
            )
        check_memory("chance streams", rngs)
        return rngs

    def _made(self, function: Function, dtype: DTypeLike, *arrays: Array) -> Array:
        out = self.device.empty(self.size, dtype)
        self.run(function, self.states, *arrays, out)
        return out
