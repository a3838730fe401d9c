"""Promises over whole games: what a seat knew and heard on the way must fit what it is dealt."""

from __future__ import annotations

from collections.abc import Iterator

from .trial import Broken, NotTried, Playout, State, Trial

WORLDS = 300  # tables that a seat holds possible, beyond which they are not followed any more
FOLLOWED = 30_000  # moves that are tried in such tables, of all games together
REDEALS = 5

Worlds = dict[bytes, State]  # by their bytes: all tables that fit what a seat knew and heard


def known_does_not_repeat(trial: Trial) -> None:
    """Within one game `known` of the seat to move never returns to an earlier value.

    A game may say `Shape(repeats=True)`: then it returns if the whole position does, bit by bit.
    """
    repeats = trial.game.sizes.repeats
    for playout in trial.playouts:
        met: dict[tuple[int, int], State] = {}
        for s in playout.states:
            if (seat := trial.turn(s)) < 0:
                continue
            before: State = met.setdefault((seat, trial.known(s, seat)), s)
            if before is not s and not (repeats and before.tobytes() == s.tobytes()):
                raise Broken(
                    f"{trial.at(s)}: `known` of seat {seat} is what it was earlier in this game, "
                    f"at {trial.game.text(before)!r}, and a search would walk in circles for ever. "
                    f"Count the moves, or how often a position occurred, in the state and in "
                    f"`known`, and let `turn` end the game after a number of moves: an option"
                )


def redealing_contradicts_nothing(trial: Trial) -> None:
    """A re-dealt table could have come about, by legal moves, as the seat knew and heard them.

    Every table that fits `turn`, `known` and `news` of the seat is followed from the start. What is
    re-dealt must be one of them, as far as `known` of all seats tells. Where they become too many,
    nobody looks.
    """
    if not trial.hides:
        raise NotTried("nothing is hidden")
    if not trial.game.deduces:
        raise NotTried("the game says deduces=False: re-deals ignore what follows from moves")
    follower, compared, rng = Follower(trial), 0, trial.rng(9)
    for playout in trial.playouts:
        for seat in range(trial.game.seats):
            for s, worlds in follower.possible(playout, seat):
                if trial.turn(s) >= 0:
                    compared += 1
                    named = {_names(trial, world) for world in worlds.values()}
                    for _ in range(REDEALS):
                        t = trial.redealt(s, seat, rng)
                        if t.tobytes() not in worlds and _names(trial, t) not in named:
                            raise Broken(_contradiction(trial, s, t, seat, len(worlds)))
    if not compared:
        raise NotTried(f"a seat holds more than {WORLDS} tables possible from the start")


def _contradiction(trial: Trial, s: State, t: State, seat: int, worlds: int) -> str:
    return (
        f"{trial.at(s)}: `redeal` for seat {seat} deals {trial.game.text(t)!r}, which contradicts "
        f"what the seat knew or heard before: {worlds} tables fit its `known` and `news` so far "
        f"by legal moves, and none of them is like that"
    )


class Follower:
    """Finds all tables that a seat must hold possible, as long as they are few."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.left = trial, trial.most(FOLLOWED)

    def possible(self, playout: Playout, seat: int) -> Iterator[tuple[State, Worlds]]:
        """Every position of a game, with all tables that the seat must hold possible there."""
        worlds: Worlds = {playout.states[0].tobytes(): playout.states[0]}
        for s, move, t in zip(playout.states, playout.moves, playout.states[1:], strict=False):
            yield s, worlds
            worlds = self._after(worlds, s, move, t, seat)
            if self.left <= 0 or len(worlds) > WORLDS:
                return

    def _after(self, worlds: Worlds, s: State, move: int, t: State, seat: int) -> Worlds:
        """The tables that are possible once a move has led from `s` to `t`."""
        trial, fitting = self.trial, {}
        own = trial.turn(s) == seat
        after = trial.turn(t), trial.known(t, seat), str(trial.rules.news(s, seat, move))
        for world in worlds.values():
            for other in [move] if own else trial.moves(world):
                self.left -= 1
                u = trial.after(world, other)
                news = str(trial.rules.news(world, seat, other))
                if (trial.turn(u), trial.known(u, seat), news) == after:
                    fitting[u.tobytes()] = u
            if len(fitting) > WORLDS or self.left <= 0:
                break
        return fitting


def _names(trial: Trial, s: State) -> tuple[int, ...]:
    """What everybody knows: two tables that agree in it differ at most in what nobody knows."""
    return tuple(trial.known(s, seat) for seat in range(trial.game.seats))
