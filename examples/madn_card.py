"""The matches of a champion's card of Mensch ärgere dich nicht, dMADN or DOG.

    python examples/madn_card.py dog champion --games 4000

Run it from the repository. The network plays alone and with searches of true positions, against the
game's own players and a search with rollouts; one that imagines the game searches there, too
(`--own`). In team games it can also sit beside a strange partner (`--partners rules greedy`),
because a person will sit there.
`--card FILE` writes the results into the champion's card, in place of earlier ones of the same
matches; run it again for other opponents or simulations.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kibitz.arena.match import match
from kibitz.games import load
from kibitz.players import player

SEARCH = "mcts:sims=200"
BASELINES = ("random", "runner", "rules", "greedy", "expectimax:depth=2", SEARCH)
SEED = 7


@dataclass
class Partners:
    """Two players who share a team: the first has the seats of the first half of the table."""

    one: object
    other: object

    @property
    def name(self):
        return f"{self.one.name} with {self.other.name}"

    def choose(self, sight):
        first = sight.seats < sight.game.seats // 2
        return np.where(first, self.one.choose(sight), self.other.choose(sight))


def with_options(text, *options):
    given = [option for option in options if option]
    return text + (":" if ":" not in text else ",") + ",".join(given) if given else text


def strengths(text, simulations, own, device):
    """The player's text by its name in the card, alone, with searches, and in its own model."""
    on = "" if device == "cpu" else f"device={device}"
    named = {
        f"champion:sims={n}" if n else "champion": with_options(text, f"sims={n}" if n else "", on)
        for n in simulations
    }
    return named | {
        f"champion:sims={n},model=own": with_options(text, f"sims={n}", "model=own", on)
        for n in own
    }


def entry(game, who, name, other, games):
    """A match, as a card has it."""
    began = time.monotonic()
    others = [other] * (len(game.captains) - 1)
    result = match(game, who, *others, games=games, seed=SEED)
    print(
        f"{name} against {other}: {result.win_rate:.1%} ({result.low:.1%} to {result.high:.1%}), "
        f"{result.games} games, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return {
        "player": name,
        "against": other,
        "games": result.games,
        "win_rate": round(result.win_rate, 4),
        "low": round(result.low, 4),
        "high": round(result.high, 4),
    }


def merged(card, rows):
    """The card's results with these rows in place of those of the same matches."""
    new = {(row["player"], row["against"]) for row in rows}
    kept = [row for row in card.get("results", []) if (row["player"], row["against"]) not in new]
    return {**card, "results": kept + rows}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("preset", help="madn, madn_teams, dmadn_teams, dog or another")
    words.add_argument("player", help="champion, or net:FILE")
    words.add_argument("--games", type=int, default=4000)
    words.add_argument("--simulations", type=int, nargs="*", default=[0, 32])
    words.add_argument("--own", type=int, nargs="*", default=[], help="simulations in its model")
    words.add_argument("--against", nargs="*", default=list(BASELINES))
    words.add_argument("--partners", nargs="*", default=[], help="instead, beside these")
    words.add_argument("--device", default="cpu")
    words.add_argument("--card", type=Path, help="the champion's card, to write the results into")
    asked = words.parse_args()
    game = load("madn", preset=asked.preset)
    rows = []
    for name, text in strengths(asked.player, asked.simulations, asked.own, asked.device).items():
        who = player(text, game)
        seated = {f"{name} beside {p}": Partners(who, player(p, game)) for p in asked.partners}
        for other in asked.against:
            for shown, pair in (seated or {name: who}).items():
                rows.append(entry(game, pair, shown, other, asked.games))
            if asked.card is not None:
                card = merged(json.loads(asked.card.read_text()), rows)
                asked.card.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
