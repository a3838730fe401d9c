"""The matches of a champion's card of Mensch ärgere dich nicht, dMADN or DOG.

    python examples/madn_card.py dog champion --card kibitz/champions/madn_dog.json
    python examples/madn_card.py dog net:runs/madn/player.safetensors --card ...

Run it from the repository. The champion plays alone and with a search of true positions, against
the game's own players and a search with rollouts. A network that imagines the game (`--recipe
muesli`) searches in its own model instead; its results have a part of their own in the card,
`muzero` or what `--part` says. In team games they also sit beside strange partners, because a
person will sit there. Every result is written at once, in place of an earlier one of the same
match; run it again for other opponents or more games.
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
from kibitz.players.champions import card_of
from kibitz.players.texts import names

BASELINES = ("random", "runner", "rules", "rules_greedy", "greedy")
BASELINES += ("expectimax:depth=2", "mcts:sims=200")
PARTNERS = ("rules", "greedy")
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


def strengths(game, text, simulations):
    """The player's texts by their names in the card: alone, as it comes, and with a search."""
    if text != "champion":
        searching = f"{text},sims={simulations},model=own"
        return {"network alone": text, f"in its own model, {simulations} simulations": searching}
    looks_ahead = "lookahead" in card_of(game, text).players[text]
    alone = ["champion:lookahead=0"] if looks_ahead else []
    return {name: name for name in (*alone, text, f"champion:sims={simulations}")}


def seated(game, text, simulations, device):
    """Who plays, by name in the card."""
    on = f"device={device}"
    players = {
        name: player(f"{what}{',' if ':' in what else ':'}{on}", game)
        for name, what in strengths(game, text, simulations).items()
    }
    if len(game.captains) == game.seats:
        return players
    return players | {
        f"{name} beside {partner}": Partners(who, player(partner, game))
        for name, who in players.items()
        for partner in PARTNERS
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


def merged(results, row):
    """Results with this row in place of that of the same match."""
    match_of = row["player"], row["against"]
    return [old for old in results if (old["player"], old["against"]) != match_of] + [row]


def write(path, part, row):
    """Put a result into a part of the card, or without one among the champion's."""
    card = json.loads(path.read_text())
    place = card if part is None else card.setdefault(part, {})
    place["results"] = merged(place.get("results", []), row)
    path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("preset", help="madn, madn_teams, dmadn_teams, dog or another")
    words.add_argument("player", help="champion, or net:FILE for a network that imagines the game")
    words.add_argument("--games", type=int, default=4000)
    words.add_argument("--simulations", type=int, default=50)
    words.add_argument("--against", nargs="*", default=list(BASELINES))
    words.add_argument("--only", nargs="*", help="who plays, by names in the card; default: all")
    words.add_argument("--part", default="muzero", help="where a card has the network's results")
    words.add_argument("--device", default="cpu")
    words.add_argument("--card", type=Path, help="the champion's card, to write the results into")
    asked = words.parse_args()
    game = load("madn", preset=asked.preset)
    here = [other for other in asked.against if other.partition(":")[0] in names(game)]
    part = None if asked.player == "champion" else asked.part
    for name, who in seated(game, asked.player, asked.simulations, asked.device).items():
        if asked.only is not None and name not in asked.only:
            continue
        for other in here if "beside" not in name else [o for o in here if o in PARTNERS]:
            row = entry(game, who, name, other, asked.games)
            if asked.card is not None:
                write(asked.card, part, row)


if __name__ == "__main__":
    main()
