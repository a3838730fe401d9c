"""One recorded game as text: a changed rule shows up in review as a diff that a player can read."""

from __future__ import annotations

import dataclasses

from ..chance import below, stream
from ..game import CHANCE, OVER, Game
from .hidden import view_entries
from .trial import State, Trial


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
    trial = Trial(game.name, game, seed)
    while (who := trial.turn(s)) != OVER:
        lines += ["", f"position: {game.text(s)}"]
        if who == CHANCE:
            before = game.copy(s)
            outcome = int(game.roll(s, rng))
            odds = game.chances(before)[outcome]
            lines.append(
                f"chance: {game.action_text(before, outcome)} ({outcome}), odds {odds:.4f}"
            )
        else:
            legal = game.legal(s)
            for seat in range(game.seats):
                lines += _seat_lines(trial, s, seat)
            lines.append(f"legal: {', '.join(f'{game.action_text(s, a)} ({a})' for a in legal)}")
            action = legal[int(below(rng, len(legal)))]
            lines.append(f"seat {who} plays: {game.action_text(s, action)} ({action})")
            game.play(s, action)
    lines += ["", f"position: {game.text(s)}"]
    for seat in range(game.seats):
        lines += _seat_lines(trial, s, seat)
    lines.append(f"scores: {', '.join(f'{x:g}' for x in game.scores(s))}")
    return "\n".join(lines) + "\n"


def _seat_lines(trial: Trial, s: State, seat: int) -> list[str]:
    """What one seat sees, in words and as the numbers that are not zero."""
    lines = [f"seat {seat} sees:"]
    lines += [f"    {line}" for line in trial.game.seen(s, seat).splitlines()]
    for name, entries in view_entries(trial.game, trial.game.look(s, seat).tobytes()).items():
        told = [at if value == 1 else f"{at}:{value:g}" for at, value in entries.items()]
        lines.append(f"    view.{name}: {' '.join(told) or '-'}")
    lines.append(f"    known: {trial.known(s, seat):016x}")
    return lines


def _value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
