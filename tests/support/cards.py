"""Play the matches on the champions' cards again, and compare.

    python tests/support/cards.py [CARD ...] [--processes N] [--device cuda]

A rate agrees if it is within 3.3 standard errors of the two measurements together. Rows against the
published networks need their folder in KIBITZ_MODELS. Matches over many kingdoms, beside strange
partners or against players that are no longer there are left out; `examples/` plays the former two.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch

import kibitz
from kibitz.arena.match import Z95
from kibitz.players.champions import CHAMPIONS

Row = dict[str, object]
SEED = 7  # where a row names none
ROUNDS = ", matches from five dice each down (die_loss=loser)"


def published(dice: list[int], mode: str) -> str:
    """The text of a published network for so many dice."""
    folder = Path(os.environ["KIBITZ_MODELS"]) / "liars_dice"
    file = next(folder.glob(f"*{dice[0]}{dice[1]}_joker*.onnx"))
    return f"net:{file},mode={mode}"


def is_plain(row: Row) -> bool:
    """Whether a row is one match of players that are there."""
    return (
        "worst" not in row
        and " beside " not in str(row["player"])
        and not str(row["against"]).startswith(("the ", "a "))
    )


def played(game: str, row: Row, preset: str, device: str) -> tuple[float, float]:
    """Win rate and standard error of a row's match, played anew.

    device: where networks that guide a search are asked.
    """
    torch.set_num_threads(1)
    who, against, options = str(row["player"]), str(row["against"]), {}
    if preset:
        options["preset"] = preset
    if "sims" in who:
        who = f"{who},device={device}"
    if "dice" in row:
        options["dice"] = tuple(row["dice"])
    if against.startswith("published"):
        against = published(list(row["dice"]), against.rpartition(" ")[2])
    if against.endswith(ROUNDS):
        against, options["die_loss"] = against.removesuffix(ROUNDS), "loser"
    seed, games = int(row.get("seed", SEED)), int(row["games"])
    table = kibitz.load(game, **options)
    others = [against] * (len(table.captains) - 1)
    result = kibitz.match(table, who, *others, games=games, seed=seed)
    return result.win_rate, result.standard_error


def preset_of(card: dict[str, object]) -> str:
    options = card.get("options") or {}
    assert isinstance(options, dict)
    return str(options.get("preset", ""))


def compared(row: Row, rate: float, error: float) -> tuple[float, str]:
    """How many standard errors a rate is from that of a row, and the same in words."""
    then = (float(row["high"]) - float(row["low"])) / (2 * Z95)
    sigmas = abs(rate - float(row["win_rate"])) / math.hypot(error, then)
    dice = f" dice {row['dice']}" if "dice" in row else ""
    match = f"{row['player']} against {row['against']}{dice}"
    return sigmas, f"{match}: {row['win_rate']:.4f}, now {rate:.4f}, {sigmas:.2f} standard errors"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cards", nargs="*", help="beasty_bar, liars_dice, ...; by default all")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu", help="where searching networks are asked")
    given = parser.parse_args()
    files = [
        f for f in sorted(CHAMPIONS.glob("*.json")) if not given.cards or f.stem in given.cards
    ]
    cards = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}
    rows = [(name, card["game"], r) for name, card in cards.items() for r in card["results"]]
    rows = [entry for entry in rows if is_plain(entry[2])]
    if "KIBITZ_MODELS" not in os.environ:
        rows = [entry for entry in rows if not str(entry[2]["against"]).startswith("published")]
    differing = 0
    with ProcessPoolExecutor(given.processes) as pool:
        asked = {
            pool.submit(played, game, row, preset_of(cards[name]), given.device): (name, row)
            for name, game, row in rows
        }
        for answer in as_completed(asked):
            name, row = asked[answer]
            sigmas, text = compared(row, *answer.result())
            differing += sigmas > 3.3
            print(f"{name}: {text}", flush=True)
    print(f"{len(rows) - differing} of {len(rows)} rows agree")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
