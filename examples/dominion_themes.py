"""Breed themes for Dominion: what to buy and play with a few cards of a kingdom.

    python examples/dominion_themes.py themes.json --seconds 170 --device cuda

A theme has up to five kingdom cards and a strategy in the language of
`kibitz/games/dominion/strategies.py`. For a random kingdom the best theme that fits is changed a
little, gets one more card, or is crossed with another that fits; the child meets `bme` in random
kingdoms with its cards, and so does its parent, with the same deals. It stays if it wins more. Run
it again to go on. `--shelf FILE` writes the themes that are picked in random kingdoms, the best
first, as `kibitz/games/dominion/themes.json` has them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kibitz.batch import Batch, compiled_player
from kibitz.chance import streams
from kibitz.devices import as_words, device_named
from kibitz.games import load
from kibitz.games.dominion.catalogue import CARDS
from kibitz.games.dominion.strategies import PLAN, strategy
from kibitz.games.dominion.themes import FILE

RIVAL = "bme"
MAX_TURNS = 50
LARGEST = 5  # cards of a theme
KINGDOM_CARDS = sorted(card.name for card in CARDS.values() if card.is_kingdom)
OTHER_CARDS = ("Silver", "Gold", "Duchy", "Estate", "Province")
# Cards that give Actions or cards are played before those that end an Action phase.
PLAY_ORDER = (
    *("Village", "Festival", "Laboratory", "Market", "Merchant", "Sentry", "Poacher", "Harbinger"),
    *("Cellar", "Vassal", "Throne Room", "Witch", "Council Room", "Smithy", "Library", "Bandit"),
    *("Militia", "Artisan", "Mine", "Moneylender", "Remodel", "Chapel", "Bureaucrat", "Workshop"),
    "Moat",
)
LITTER = 16  # fresh strategies of a theme
GAMES = (192, 512, 2048)  # of child and parent; who falls behind plays no more of them
NUMBER = re.compile(r"(.*?[<>]=?)(\d+)$")


@dataclass
class Theme:
    """A strategy and what it has won against the rival, in kingdoms with all of its cards."""

    needs: frozenset[str]
    lists: dict
    rate: float
    games: int


# Games -----------------------------------------------------------------------------------------


class Trials:
    """Games of strategies against the rival, many at a time."""

    def __init__(self, device: str) -> None:
        self.game, self.name = load("dominion", max_turns=MAX_TURNS), device
        self.at_once = 1 << (20 if device == "cuda" else 15)
        self.device = device_named(device)
        self.rival = compiled_player(self.game, RIVAL)
        self.starts: dict[frozenset[str], np.ndarray] = {}

    def rates(self, entries, games, seed):
        """The share of points of each strategy. entries: cards of the kingdoms, lists."""
        size = max(2, self.at_once // games)
        parts = [entries[k : k + size] for k in range(0, len(entries), size)]
        return np.concatenate([self._rates(part, games, seed) for part in parts])

    def _rates(self, entries, games, seed):
        count = len(entries)
        words = np.concatenate([self._start(needs) for needs, _ in entries])
        sides = np.repeat(np.arange(games) % 2, count)
        rngs = np.repeat(streams(seed, "table", games), count)
        own = np.repeat(streams(seed, "player", 2 * games).reshape(games, 2), count, axis=0)
        batch = Batch.of(self.game, self._tiled(words, games), rngs, device=self.name)
        tokens = self._tokens([lists for _, lists in entries])
        batch.contest(tokens, self.rival, np.stack([sides, 1 - sides], 1), own)
        scores = self.device.get(batch.scores())[np.arange(len(sides)), sides]
        return (scores.reshape(games, count).mean(0) + 1) / 2

    def _tokens(self, all_lists):
        tokens = np.repeat(self.rival, len(all_lists))
        plans = [strategy(lists).plan for lists in all_lists]
        for name in PLAN.names:
            tokens[name] = np.stack([plan[name] for plan in plans])
        return tokens

    def _start(self, needs):
        """A table before its kingdom is drawn, as 64-bit words. [1, words]"""
        if needs not in self.starts:
            kingdom = f"random with {', '.join(sorted(needs))}" if needs else "random"
            game = load("dominion", kingdom=kingdom, max_turns=MAX_TURNS)
            self.starts[needs] = as_words(Batch(game, 1).states).copy()
        return self.starts[needs]

    def _tiled(self, words, games):
        """Every start so many times: on a GPU they are copied there."""
        if self.name == "cpu":
            return np.tile(words, (games, 1)).reshape(-1).view(self.game.state)
        import torch

        there = torch.as_tensor(words.view(np.int64), device="cuda").repeat(games, 1)
        return self.device.put(there).view(self.game.state).reshape(len(there))


# Changes ---------------------------------------------------------------------------------------


def copied(lists):
    return {"buy": [list(entry) for entry in lists["buy"]], "play": list(lists["play"])}


def in_order(cards):
    return [card for card in PLAY_ORDER if card in cards]


def placed(entries, entry, rng):
    entries.insert(rng.randint(0, len(entries)), entry)


def condition(card, needs, rng):
    other = rng.choice(sorted(needs) or ["Gold"])
    return rng.choice(
        [
            f"own:{card}<{rng.choice([1, 2, 3, 4, 6])}",
            f"own:{card}<=own:{other}",
            f"own:{other}>={rng.randint(1, 3)}",
            f"P<={rng.randint(1, 6)}",
            f"P>{rng.randint(1, 6)}",
            f"turn<={rng.randint(2, 10)}",
            f"M>={rng.randint(5, 24)}",
            f"coins<{rng.randint(4, 8)}",
        ]
    )


def changed(lists, needs, rng):
    """The lists with one to three small changes."""
    lists, ways = copied(lists), (added, removed, moved, renumbered, restricted, reordered)
    for change in rng.choices(ways, (5, 3, 4, 4, 2, 2), k=rng.choice([1, 1, 1, 2, 3])):
        change(lists, needs, rng)
    return lists


def added(lists, needs, rng):
    card = rng.choice(sorted(needs) * 2 + [*OTHER_CARDS])
    placed(lists["buy"], [card, condition(card, needs, rng)][: rng.choice([1, 2, 2, 2])], rng)


def removed(lists, needs, rng):
    if len(lists["buy"]) > 2:
        lists["buy"].pop(rng.randrange(len(lists["buy"])))


def moved(lists, needs, rng):
    placed(lists["buy"], lists["buy"].pop(rng.randrange(len(lists["buy"]))), rng)


def renumbered(lists, needs, rng):
    entry = rng.choice(lists["buy"])
    k = rng.randrange(len(entry))
    if found := NUMBER.match(entry[k]):
        entry[k] = found[1] + str(max(0, int(found[2]) + rng.choice([-3, -2, -1, 1, 2, 3])))


def restricted(lists, needs, rng):
    entry = rng.choice(lists["buy"])
    if len(entry) > 1 and rng.random() < 0.5:
        entry.pop(rng.randrange(1, len(entry)))
    else:
        entry.append(condition(entry[0], needs, rng))


def reordered(lists, needs, rng):
    if lists["play"]:
        placed(lists["play"], lists["play"].pop(rng.randrange(len(lists["play"]))), rng)


def extended(lists, card, rng):
    """The lists with one more card."""
    lists = copied(lists)
    most = 1 if card == "Chapel" else rng.choice([1, 1, 2, 3, 5, 9])
    placed(lists["buy"], [card, f"own:{card}<{most}"], rng)
    if card in PLAY_ORDER and card not in lists["play"]:
        lists["play"].append(card)
        if rng.random() < 0.7:
            lists["play"] = in_order(lists["play"])
    return lists


def crossed(one, other, rng):
    """The first lists with the cards that only the second ones have, about where those had them."""
    lists, known = copied(one), {entry[0] for entry in one["buy"]}
    for k, entry in enumerate(other["buy"]):
        if entry[0] not in known:
            at = round(k / len(other["buy"]) * len(lists["buy"]))
            lists["buy"].insert(at, list(entry))
    lists["play"] += [card for card in other["play"] if card not in lists["play"]]
    if rng.random() < 0.6:
        lists["play"] = in_order(lists["play"])
    return lists


def fresh(needs, rng):
    """Big money with these cards somewhere in its list."""
    buy = [
        ["Province", f"M>={rng.choice([8, 12, 16, 18])}"],
        ["Duchy", f"P<={rng.choice([3, 4, 5])}"],
        ["Estate", "P<=2"],
        ["Gold"],
        ["Silver"],
    ]
    lists = {"buy": buy, "play": []}
    for card in needs:
        lists = extended(lists, card, rng)
    return {**lists, "play": in_order(lists["play"])}


# Breeding --------------------------------------------------------------------------------------


def seeded(themes, trials, size, rng):
    """Begin so many themes of one to four cards, each with the best of a few fresh strategies."""
    sets = {
        frozenset(rng.sample(KINGDOM_CARDS, rng.choice([1, 2, 2, 3, 3, 4]))) for _ in range(size)
    }
    entries = [(needs, fresh(needs, rng)) for needs in sets - set(themes) for _ in range(LITTER)]
    rates = trials.rates(entries, GAMES[0], rng.randrange(2**40))
    for (needs, lists), rate in zip(entries, rates, strict=True):
        if needs not in themes or rate > themes[needs].rate:
            themes[needs] = Theme(needs, lists, float(rate), GAMES[0])


def child(themes, rng):
    """Somebody new for a random kingdom, and its parent."""
    kingdom = frozenset(rng.sample(KINGDOM_CARDS, 10))
    fitting = [t for t in themes.values() if t.needs and t.needs <= kingdom]
    if not fitting:
        return child(themes, rng)
    fitting.sort(key=lambda theme: -theme.rate)
    parent = fitting[int(min(8, len(fitting)) * rng.random() ** 2)]
    lists, needs, way = parent.lists, parent.needs, rng.random()
    if way < 0.45:
        return needs, changed(lists, needs, rng), parent
    if way < 0.8:
        card = rng.choice(sorted(kingdom - needs))
        return needs | {card}, extended(lists, card, rng), parent
    other = rng.choice(fitting[:20])
    return needs | other.needs, crossed(lists, other.lists, rng), parent


def valid(needs, lists):
    if not 1 <= len(needs) <= LARGEST:
        return False
    try:
        strategy(lists)
    except ValueError:
        return False
    return True


def generation(themes, trials, size, rng):
    """Try so many children; those that win more than their parents stay. How many did."""
    tried = []
    while len(tried) < size:
        needs, lists, parent = child(themes, rng)
        if valid(needs, lists):
            tried.append((needs, lists, themes.get(needs, parent).lists))
    points, played, alive = np.zeros((size, 2)), 0, list(range(size))
    for games in GAMES:
        entries = [(tried[k][0], lists) for k in alive for lists in tried[k][1:]]
        found = trials.rates(entries, games, rng.randrange(2**40)).reshape(-1, 2)
        points[alive] += found * games
        played += games
        ahead = (points[alive, 0] - points[alive, 1]) / np.sqrt(played)  # in half deviations
        least = 0.65 if games == GAMES[-1] else 0.2
        alive = [k for k, lead in zip(alive, ahead, strict=True) if lead > least]
        if not alive:
            break
    for k in alive:
        needs, lists, _ = tried[k]
        themes[needs] = Theme(needs, lists, float(points[k, 0] / played), played)
    return len(alive)


def picked(themes, rng, kingdoms=20_000):
    """The themes that are the best fitting ones of random kingdoms, and how often they are."""
    ranked = sorted(themes.values(), key=lambda theme: -theme.rate)
    found = {}
    for _ in range(kingdoms):
        kingdom = frozenset(rng.sample(KINGDOM_CARDS, 10))
        first = next(theme for theme in ranked if theme.needs <= kingdom)
        found[first.needs] = found.get(first.needs, 0) + 1
    return [theme for theme in ranked if theme.needs in found], found


def read(path):
    """What there is, or else the theme that needs no cards: that of the rival."""
    rows = json.loads(path.read_text()) if path.exists() else json.loads(FILE.read_text())[-1:]
    themes = [
        Theme(
            needs=frozenset(row["needs"]),
            lists={"buy": row["buy"], "play": row["play"]},
            rate=row["rate"],
            games=row["games"],
        )
        for row in rows
    ]
    return {theme.needs: theme for theme in themes}


def write(path, themes):
    rows = [
        {"needs": sorted(t.needs), **t.lists, "rate": round(t.rate, 4), "games": t.games}
        for t in sorted(themes, key=lambda theme: -theme.rate)
    ]
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("file", type=Path, help="where the themes are kept")
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--children", type=int, default=96, help="that are tried at a time")
    words.add_argument("--seeds", type=int, default=300, help="themes to begin with")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--device", default="cpu")
    words.add_argument("--shelf", type=Path, help="write what is picked in random kingdoms")
    words.add_argument("--most", type=int, default=255, help="themes on the shelf")
    asked = words.parse_args()
    rng, trials, themes = random.Random(asked.seed), Trials(asked.device), read(asked.file)
    began = said = time.monotonic()
    tried = kept = 0
    while len(themes) < asked.seeds:
        seeded(themes, trials, asked.children, rng)
    while (now := time.monotonic()) - began < asked.seconds:
        kept += generation(themes, trials, asked.children, rng)
        tried += asked.children
        if now - said > 10:
            said = now
            write(asked.file, themes.values())
            used, often = picked(themes, random.Random(0), 2000)
            mean = sum(t.rate * often[t.needs] for t in used) / 2000
            print(
                f"{now - began:.0f} s: {kept} of {tried} children kept, {len(themes)} themes, "
                f"{len(used)} picked, which won {mean:.1%}",
                flush=True,
            )
    write(asked.file, themes.values())
    if asked.shelf is not None:
        used, often = picked(themes, rng)
        best = sorted(used, key=lambda theme: -often[theme.needs])[: asked.most]
        write(asked.shelf, {t.needs: t for t in [*best, themes[frozenset()]]}.values())


if __name__ == "__main__":
    main()
