"""The matches of a Dominion champion's card: 26 kingdoms, four strengths, all scripted strategies.

    python examples/dominion_card.py net:player.safetensors --games 2000 --device cuda

Run it from the repository. The kingdoms are the six recommended ones and the random ones of the
seeds 1 to 20; a strategy is met where the kingdom has all cards that it buys. Results are kept in a
file: run it again to go on, or for some opponents only (`--against bmu --games 2000`), which may be
any players (`--against champion:sims=32,device=cuda`: thousands of tables fill a GPU); `--games 0`
prints what there is. `--hardest` meets only whoever has won most from the network alone in each
kingdom, in other games than those in which they were found. `--card FILE` writes results into the
champion's card, too.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

from kibitz.arena.gauntlet import Gauntlet, average, gauntlet
from kibitz.games import load
from kibitz.games.dominion.options import KINGDOMS, kingdom
from kibitz.games.dominion.strategies import read_strategies
from kibitz.recipes.dominion import POLICY, TEACHERS, THEMED

ORACLE = Path(__file__).parent.parent / "tests" / "oracles" / "dominion.json"
SEEDS = range(1, 21)
SEED, OTHER_SEED = 1, 2  # of the games; the least of many rates from the same games is too low
SEARCH = "mcts:sims=200,rollout=bmu"
TAUGHT = {*TEACHERS, *THEMED.scripted.players, *POLICY.opponents}
HARDEST = "whoever wins most there"
EVERYWHERE = ("bmx", "bme", "themes")  # buy what there is of their cards; others need all of theirs


def tables(names):
    """The kingdoms by name, as games that know the strategies of the oracle file, too."""
    names = names or [*KINGDOMS, *(f"seed:{seed}" for seed in SEEDS)]
    base = load("dominion")
    players = {**base.players, **read_strategies(ORACLE)}
    return {name: replace(load("dominion", kingdom=name), players=players) for name in names}


def opponents(games, only, device):
    """Who is met where: by the text of a player, the names of the kingdoms."""
    found = {"random": list(games), with_option(SEARCH, f"device={device}"): list(games)}
    for name, strategy in next(iter(games.values())).players.items():
        cards = {int(card) for field in ("cards", "plays") for card in strategy.plan[field].flat}
        needed = {card for card in cards if card >= 7}  # the others are in every game
        found[name] = [k for k in games if name in EVERYWHERE or needed <= set(kingdom(k))]
    known = {who.split(",device")[0]: who for who in found}
    met = {known.get(who, who): found.get(known.get(who), list(games)) for who in only or known}
    return {who: at for who, at in met.items() if at}


def hardest(found: Gauntlet, text, met):
    """Of the strategies that a player has met, only whoever won most in each kingdom."""
    won_most = found.hardest(text, scripted(met))
    by_name = {other: [k for k, (who, _) in won_most.items() if who == other] for other in met}
    return {other: kingdoms for other, kingdoms in by_name.items() if kingdoms}


def scripted(met):
    return [who for who in met if who != "random" and ":" not in who]


def with_option(text, option):
    return f"{text},{option}" if ":" in text else f"{text}:{option}"


def strengths(text, simulations, device):
    """The player's text by its name in the card, alone and with searches.

    One simulation is the network alone, which plays what it prefers. Its games with strategies of
    Dominion stay on the device from the first move to the last, see `arena.lone_networks`.
    """
    text = with_option(text, f"device={device}")
    named = {n: f"champion:sims={n}" if n else "champion" for n in simulations}
    return {named[n]: with_option(text, f"sims={n or 1}") for n in simulations}


def rows(found: Gauntlet, players, met):
    """An entry of the card for each player and opponent."""
    for name, text in players.items():
        for other in met:
            if by_kingdom := found.tables(text, other):
                mean, low, high = average(list(by_kingdom.values()))
                worst = min(by_kingdom, key=lambda k: by_kingdom[k].win_rate)
                yield {
                    "player": name,
                    "against": other.split(",device")[0],
                    "taught": other in TAUGHT,
                    "games": sum(result.games for result in by_kingdom.values()),
                    "win_rate": round(mean, 4),
                    "low": round(low, 4),
                    "high": round(high, 4),
                    "worst": worst,
                    "by_kingdom": {k: round(r.win_rate, 4) for k, r in by_kingdom.items()},
                }


def hardest_rows(found: Gauntlet, players, met):
    """An entry of the card for each player, against whoever won most in each kingdom."""
    for name, text in players.items():
        if won_most := found.hardest(text, scripted(met)):
            mean, low, high = average([result for _, result in won_most.values()])
            yield {
                "player": name,
                "against": HARDEST,
                "games": sum(result.games for _, result in won_most.values()),
                "win_rate": round(mean, 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "by_kingdom": {k: [who, round(r.win_rate, 4)] for k, (who, r) in won_most.items()},
            }


def in_all_pairs(found: Gauntlet, players, met):
    """What each player wins from all strategies, the mean over strategies and kingdoms."""
    for name, text in players.items():
        if pairs := [r for other in scripted(met) for r in found.tables(text, other).values()]:
            mean, low, high = average(pairs)
            games = sum(result.games for result in pairs)
            where = f"{len(pairs)} pairs of a strategy and a kingdom, {games} games"
            print(f"{name} in {where}: {mean:.1%} ({low:.1%} to {high:.1%})")


def summary(card, hardest_card):
    for row in card:
        games, worst = f"{row['games']} games", row["by_kingdom"][row["worst"]]
        mean = f"{row['win_rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
        where = f"{len(row['by_kingdom'])} kingdoms, worst {row['worst']} {worst:.1%}, {games}"
        taught = ", a teacher" if row["taught"] else ""
        print(f"{row['player']} against {row['against']}{taught}: {mean}; {where}")
    for row in hardest_card:
        mean = f"{row['win_rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
        print(f"{row['player']} against {HARDEST}: {mean}, {row['games']} games")
        for k, (other, rate) in row["by_kingdom"].items():
            print(f"  {k}: {other}, {rate:.1%}")


def write(path, card):
    """Put results into a champion's card, in place of earlier ones of the same matches."""
    facts = json.loads(path.read_text()) if path.exists() else {}
    new = {(row["player"], row["against"]) for row in card}
    kept = [r for r in facts.get("results", []) if (r["player"], r["against"]) not in new]
    path.write_text(json.dumps({**facts, "results": card + kept}, indent=1) + "\n")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("player", help="champion, or net:FILE")
    words.add_argument("--games", type=int, default=200, help="for each opponent in each kingdom")
    words.add_argument("--simulations", type=int, nargs="*", default=[0, 32, 128, 800])
    words.add_argument("--against", nargs="*", default=[], help="only these opponents")
    words.add_argument("--hardest", action="store_true", help="only whoever wins most there")
    words.add_argument("--kingdoms", nargs="*", default=[], help="only these")
    words.add_argument("--device", default="cpu")
    words.add_argument("--at-once", type=int, default=16384, help="games in lockstep")
    words.add_argument("--save", type=Path, default=Path("dominion_card.sqlite"))
    words.add_argument("--card", type=Path, help="the champion's card, to write the results into")
    asked = words.parse_args()
    games = tables(asked.kingdoms)
    met = opponents(games, asked.against, asked.device)
    players = strengths(asked.player, asked.simulations, asked.device)
    if asked.hardest:
        (alone,) = strengths(asked.player, [0], asked.device).values()
        met = hardest(gauntlet(asked.save, games, [alone], met, games=0, seed=SEED), alone, met)
    began = time.monotonic()

    def progress(text, done, of):
        print(f"{time.monotonic() - began:.0f} s: {text}, {done} of {of} games", flush=True)

    found = gauntlet(
        asked.save,
        games,
        list(players.values()),
        met,
        games=asked.games,
        seed=OTHER_SEED if asked.hardest else SEED,
        at_once=asked.at_once,
        progress=progress,
    )
    card, hardest_card = list(rows(found, players, met)), list(hardest_rows(found, players, met))
    summary([] if asked.hardest else card, hardest_card)
    in_all_pairs(found, players, met)
    if asked.card is not None:
        write(asked.card, hardest_card if asked.hardest else card)


if __name__ == "__main__":
    main()
