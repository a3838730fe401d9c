"""One recorded game as text: a changed rule shows up in review as a diff that a player can read."""

from __future__ import annotations

import dataclasses

from ..chance import below, stream
from ..game import CHANCE, OVER, Game
from .hidden import view_entries
from .trial import State, Trial

DECISIONS = 30  # written in full; after these only moves are written
LARGE = 2000  # numbers; of a larger view only changes since the seat last looked are written


def playthrough(game: Game, seed: int = 1) -> str:
    """A game of random play: every position, what each seat sees of it, and what happened.

    >>> from kibitz.games import load
    >>> print(playthrough(load("kuhn"))[:60])
    game: kuhn, version 1
    options: none
    ...
    """
    chosen = dataclasses.asdict(game.options)
    lines = [
        f"game: {game.name}, version {game.version}",
        f"options: {' '.join(f'{n}={_value(v)}' for n, v in chosen.items()) or 'none'}",
        f"fingerprint: {game.fingerprint}",
        f"seed: {seed}",
    ]
    rng, s = stream(seed, "table"), game.fresh()
    trial, eyes, decisions = Trial(game.name, game, seed), Eyes(game), 0
    while (who := trial.turn(s)) != OVER:
        decisions += who != CHANCE
        full = decisions <= DECISIONS
        lines += ["", f"position: {game.text(s)}"] if full else []
        if who == CHANCE:
            before = game.copy(s)
            outcome = int(game.roll(s, rng))
            odds = game.chances(before)[outcome]
            lines.append(
                f"chance: {game.action_text(before, outcome)} ({outcome}), odds {odds:.4f}"
            )
        else:
            legal = game.legal(s)
            if full:
                lines += eyes.lines(trial, s)
                choices = ", ".join(f"{game.action_text(s, a)} ({a})" for a in legal)
                lines.append(f"legal: {choices}")
            action = legal[int(below(rng, len(legal)))]
            lines.append(f"seat {who} plays: {game.action_text(s, action)} ({action})")
            game.play(s, action)
    lines += ["", f"position: {game.text(s)}", *eyes.lines(trial, s)]
    lines.append(f"scores: {', '.join(f'{x:g}' for x in game.scores(s))}")
    return "\n".join(lines) + "\n"


class Eyes:
    """What the seats see, in words and as the numbers that are not zero."""

    def __init__(self, game: Game) -> None:
        self.large = game.view_size > LARGE
        self.before: list[dict[str, dict[str, float]]] = [{} for _ in range(game.seats)]

    def lines(self, trial: Trial, s: State) -> list[str]:
        lines = []
        for seat in range(trial.game.seats):
            lines.append(f"seat {seat} sees:")
            lines += [f"    {line}" for line in trial.game.seen(s, seat).splitlines()]
            lines += self._numbers(trial, s, seat)
            lines.append(f"    known: {trial.known(s, seat):016x}")
        return lines

    def _numbers(self, trial: Trial, s: State, seat: int) -> list[str]:
        lines = []
        view = view_entries(trial.game, trial.game.look(s, seat).tobytes())
        for name, now in view.items():
            entries, before = now, self.before[seat].get(name, {})
            if self.large:
                gone = dict.fromkeys(before.keys() - now.keys(), 0.0)
                changed = {at: v for at, v in now.items() if before.get(at) != v}
                entries = dict(sorted((changed | gone).items(), key=lambda entry: _place(entry[0])))
            parts = [at if value == 1 else f"{at}:{value:g}" for at, value in entries.items()]
            lines.append(f"    view.{name}: {' '.join(parts) or '-'}")
        self.before[seat] = view
        return lines


def _place(at: str) -> list[int]:
    return [int(index) for index in at.split(",")]


def _value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
