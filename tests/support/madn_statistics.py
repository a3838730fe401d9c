"""Random play and matches of baselines, measured: `python madn_statistics.py [PRESET ...]`.

The tests use a few games of it; the whole, with the numbers of games that the specification has,
takes some minutes.
"""

import sys

import numpy as np

from kibitz import chance, games
from kibitz.batch import Batch
from kibitz.game import OVER

# By preset: games, mean plies, standard deviation, share of passes, of plies with a choice, and
# legal actions when not passing, as the specification gives them.
RANDOM_PLAY = {
    "madn": (4000, 472, 106, 0.076, 0.50, 1.83),
    "madn2": (6000, 166.1, 31, 0.114, 0.58, 2.16),
    "madn_teams": (2900, 346.4, 55, 0.062, 0.61, 2.06),
    "dmadn": (2600, 352, 71, 0.009, 0.96, 9.6),
    "dmadn_teams": (2500, 331.4, 47, 0.010, 0.96, 9.45),
    "cards_plain": (2030, 184.0, 36, 0.188, 0.63, 3.36),
    "dog_nojoker": (400, 570, 187, 0.064, 0.78, 4.9),
    "dog_solo": (406, 587, 189, 0.055, 0.79, 6.5),
    "dog": (422, 981, 275, 0.041, 0.82, 5.4),
}
# A player alone, or a pair, against the others: wins and games.
MATCHES = {
    ("madn", "runner", "random"): (3622, 6000),
    ("madn", "greedy", "random"): (2312, 6000),
    ("madn", "rules", "random"): (1481, 4000),
    ("madn2", "greedy", "random"): (5321, 8000),
    ("dmadn", "greedy", "random"): (1257, 1400),
    ("madn_teams", "greedy", "random"): (2229, 2800),
    ("madn_teams", "rules", "random"): (2184, 2800),
    ("madn_teams", "runner", "random"): (2044, 2800),
    ("madn_teams", "rules", "runner"): (1369, 2800),
    ("madn_teams", "rules", "greedy"): (923, 2000),
    ("dmadn_teams", "greedy", "random"): (700, 700),
    ("dmadn_teams", "rules", "random"): (600, 600),
    ("dmadn_teams", "runner", "random"): (597, 600),
    ("dmadn_teams", "greedy", "rules"): (566, 600),
    ("dog", "runner", "random"): (120, 120),
}


def random_play(preset, count, seed=1):
    """Plies of every game, and of all plies: passes, those with a choice, legal actions in play."""
    game = games.load("madn", preset=preset)
    plies = passes = choices = legal = 0
    batch, last = Batch(game, count, seed=seed, threads=1), game.num_actions - 1
    dice, lengths = np.random.default_rng(seed), np.zeros(count, int)
    while True:
        batch.settle()
        if (batch.turns() == OVER).all():
            break
        actions, counts = batch.actions()
        drawn = (dice.random(count) * counts).astype(int)
        chosen = actions[np.arange(count), drawn].astype(np.int64)
        going = counts > 0
        passed = going & (chosen == last)
        lengths += going
        plies, passes = plies + going.sum(), passes + passed.sum()
        choices, legal = choices + (counts > 1).sum(), legal + counts[going & ~passed].sum()
        chosen[~going] = -1
        batch.play(chosen, check=False)
    won = batch.scores()[:, 0] > 0
    return lengths, passes / plies, choices / plies, legal / (plies - passes), won.mean()


def match(preset, one, other, count, seed=1):
    """How often a player wins alone against others or, with teams, as a pair; seats rotate."""
    game = games.load("madn", preset=preset)
    teams = np.array(game.teams)
    own = np.arange(count) % len(game.captains)
    sides = (teams[None, :] != own[:, None]).astype(np.int64)
    batch = Batch(game, count, seed=seed, threads=1)
    batch.contest(one, other, sides, chance.streams(seed, "player", 2 * count).reshape(count, 2))
    scores = batch.scores()
    return int((scores[np.arange(count), own] > 0).sum())


def agrees(wins, count, known_wins, known_count):
    """Whether two shares differ by chance only; of nearly all games at most 3 % may be lost."""
    share = known_wins / known_count
    if share >= 0.99:
        return wins >= 0.97 * count
    spread = 3 * np.sqrt(share * (1 - share) * (1 / count + 1 / known_count))
    return abs(wins / count - share) <= spread


def main(presets):
    for preset, (count, mean, sd, *rest) in RANDOM_PLAY.items():
        if preset in presets or not presets:
            lengths, passes, choices, legal, won = random_play(preset, count)
            far = 3 * sd * np.sqrt(2 / count)
            print(
                f"{preset}: {count} games, mean {lengths.mean():.1f} ({mean} +- {far:.1f}) sd "
                f"{lengths.std():.0f} ({sd}) passes {passes:.3f} choice {choices:.3f} legal "
                f"{legal:.2f} ({rest}) seat 0 wins {won:.3f} "
                f"{'ok' if abs(lengths.mean() - mean) <= far else 'DIFFERS'}",
                flush=True,
            )
    for (preset, one, other), (wins, count) in MATCHES.items():
        if preset in presets or not presets:
            own = match(preset, one, other, count)
            print(
                f"{preset}: {one} against {other} {own}/{count} = {own / count:.3f} "
                f"({wins / count:.3f}) {'ok' if agrees(own, count, wins, count) else 'DIFFERS'}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
