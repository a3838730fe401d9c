"""The figures of a Liar's Dice champion's card: how hard it is to exploit, and its matches.

    python examples/liars_dice_card.py net:player.safetensors,mode=sample --card card.json

Up to two dice each what a perfect opponent wins is exact, without and with looking ahead; two dice
each need 6 GB. At larger tables a local response says at least how much that is. Rows of a card
that are measured again are replaced, all others stay. `--parts` measures less, `--against` meets
more players with five dice each, such as a network of another program.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from kibitz.arena.exploitability import exploit
from kibitz.arena.local_response import local_response
from kibitz.arena.match import match
from kibitz.games import load
from kibitz.players import player

ROUNDS = (0, 16, 64, 256)  # of looking ahead
SOLVED = ((1, 1), (1, 2), (2, 1))
EQUAL = ((3, 3), (4, 4), (5, 5))
UNEQUAL = tuple(d for d in product(range(1, 6), repeat=2) if d[0] != d[1] and d not in SOLVED)
# Games and seeds. Few games say too little about some figures, so there are more with other seeds.
RESPONSES = (
    *((dice, 8000, 41) for dice in EQUAL),
    *((dice, 24_000, 11) for dice in EQUAL[1:]),
    *((dice, 2000, 5) for dice in UNEQUAL),
)
MATCHES = ((24_000, 31), (8000, 8))  # games and seeds
FEW = (("random", {}), ("honest", {"die_loss": "loser"}))  # 2,000 games: enough for these

Row = dict[str, object]
IDENTITY = ("player", "dice", "rounds", "against", "options", "games", "seed")


def exact(text: str, most: int) -> Iterator[Row]:
    """What a perfect opponent wins, in points per game."""
    tables = [*product(SOLVED, ROUNDS), ((2, 2), 0)]
    for dice, rounds in tables[:most]:
        game = load("liars_dice", dice=dice)
        who = f"{text}{':' if text == 'champion' else ','}rounds={rounds}" if rounds else text
        lost = exploit(game, player(who, game)).response.exploitability
        yield {"dice": dice, "rounds": rounds, "exact": rounded(lost)}


def at_least(text: str, most: int) -> Iterator[Row]:
    """What a local response wins."""
    for dice, games, seed in RESPONSES:
        bound = local_response(load("liars_dice", dice=dice), text, min(games, most), seed)
        figures = {name: rounded(getattr(bound, name)) for name in ("lower_bound", "low", "high")}
        yield {"dice": dice, "games": bound.games, **figures, "seed": seed}


def matches(text: str, most: int, against: list[str]) -> Iterator[Row]:
    """How often it wins with five dice each, and whole matches."""
    met = [(who, {}, *settings) for who in ("honest", *against) for settings in MATCHES]
    for other, options, games, seed in [*met, *((*few, 2000, 7) for few in FEW)]:
        result = match(
            load("liars_dice", **options), text, other, games=min(games, most), seed=seed
        )
        figures = {name: rounded(getattr(result, name)) for name in ("win_rate", "low", "high")}
        name = player(other, load("liars_dice")).name
        yield {"against": name, "options": options, "games": result.games, **figures, "seed": seed}


def rounded(figure: float) -> float:
    """To four digits behind the point, or to one digit that is not 0."""
    return round(figure, 4) or float(f"{figure:.1g}")


def write(path: Path, part: str, row: Row) -> None:
    """Put a row into a card, in place of an earlier one of the same kind."""
    facts = json.loads(path.read_text()) if path.exists() else {}
    row = json.loads(json.dumps(row))
    kept = [old for old in facts.get(part, []) if identity(old) != identity(row)]
    path.write_text(json.dumps({**facts, part: [*kept, row]}, indent=1) + "\n")


def identity(row: Row) -> list[object]:
    return [row.get(name) for name in IDENTITY]


def main() -> None:
    parts = {"exploitability": exact, "exploitability_at_least": at_least, "results": matches}
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("player", help="champion, or net:FILE,mode=sample")
    words.add_argument("--parts", nargs="*", default=[*parts], choices=[*parts])
    words.add_argument("--against", nargs="*", default=[], help="more players to meet")
    words.add_argument("--name", default="champion", help="of the player in the card")
    words.add_argument("--most", type=int, default=24_000, help="the most games, or exact tables")
    words.add_argument("--card", type=Path, help="where rows are written to")
    asked = words.parse_args()
    for part in asked.parts:
        more = [asked.against] if part == "results" else []
        for row in parts[part](asked.player, asked.most, *more):
            print(json.dumps(row), flush=True)
            if asked.card is not None:
                write(asked.card, part, {"player": asked.name, **row})


if __name__ == "__main__":
    main()
