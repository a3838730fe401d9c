"""Mensch ärgere dich nicht, dMADN and DOG: true positions searched, or a model of the game learnt.

`default` searches true positions with a dense network over the compact view, `policy` plays without
a search and learns the same network from many more games. `muesli` does so with a network that
learns to imagine the game on the way, so that its player can search what it imagines. `muzero`
learns the game as a ring, from such searches. They are for a GPU, and take any preset:
`-o preset=dmadn_teams`. A preset is best begun with the weights of an easier one, `--from FILE`, in
the order `dmadn`, `dmadn_teams`, `madn_teams`, `cards_plain`, `dog_nojoker`, `dog_solo`, `dog`.
`dropout` is `policy` for a network that has learnt `dog` with open hands (`-o reveal=all`): every
foreign hand is hidden, at first never and from the middle of the run on always.
`first` goes on from a champion of `madn`, where everybody plays alone, and learns to come first
among three `random` or three `runner` (the score of these games counts nothing else).
`smoke` is small enough to watch on two cores.
"""

from __future__ import annotations

from dataclasses import replace

from ..search.mcts import Settings
from ..train.muesli.learner import Imagining
from ..train.muzero.learner import Unrolling
from ..train.muzero.loop import MuZeroTraining
from ..train.policy_gradient.learner import PolicyLearning
from ..train.policy_gradient.loop import PolicyTraining
from ..train.tree_search.growth import Growth
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining
from ._any_game import imagined_search, with_model

BASELINES = ("random", "runner", "greedy", "rules")

DEFAULT = SearchTraining(
    game="madn",
    net="residual",
    config={"width": 256, "blocks": 4},
    search=Settings(simulations=32, root="gumbel", considered=8, c_scale=1.0, explore=1.5),
    learning=Learning(batch=4096, steps=12_000, average_decay=0.998, search_share=0.5),
    games=4096,
    steps=120,
    replay_size=2_000_000,
    iterations=100,
    gate_every=5,
    gate_games=1000,
    baselines=BASELINES,
)

POLICY = PolicyTraining(
    game="madn",
    net="residual",
    config=DEFAULT.config,
    learning=PolicyLearning(
        batch=32_768, learning_rate=1e-3, steps=12_000, entropy=0.02, trace=0.98
    ),
    games=8192,
    ticks=64,
    opponents=("greedy", "rules", "runner"),
    opponent_share=0.25,
    iterations=400,
    gate_every=50,
    gate_games=1000,
    baselines=BASELINES,
)

MUESLI = with_model(
    POLICY,
    config={"width": 256, "blocks": 4, "dynamics_blocks": 2},
    learning=replace(POLICY.learning, gradient_clip=1.0),
    imagining=Imagining(walks=8192, shaping=1.0),
)

MUZERO = MuZeroTraining(
    game="madn",
    net="muzero_ring",
    search=imagined_search(simulations=50),
    learning=Unrolling(batch=1024, steps=20_000, average_decay=0.998),
    games=2048,
    steps=200,
    replay_size=4_000_000,
    iterations=100,
    gate_every=5,
    gate_games=1000,
    baselines=BASELINES,
)

DROPOUT = replace(
    POLICY,
    options={"preset": "dog"},
    growth=Growth("reveal", share=0.5),
    learning=replace(POLICY.learning, learning_rate=7e-4, steps=9600, entropy=0.01),
    iterations=300,  # of 32 steps
    gate_every=100,
)

# So much is luck that only large batches say what is better, and self-play teaches other things.
FIRST = replace(
    POLICY,
    options={"preset": "madn"},
    learning=replace(POLICY.learning, batch=131_072, learning_rate=5e-4, steps=4000, entropy=0.01),
    games=32_768,
    opponents=("random", "random", "random", "runner"),
    opponent_share=0.8,
    iterations=125,  # of 32 steps
    gate_every=25,
    gate_rate=0.0,  # against three of the best so far the rate says little about three others
    baselines=("random", "runner"),
)

SMOKE = replace(
    MUZERO,
    options={"preset": "dmadn", "num_players": 2, "distance": 8, "max_plies": 120},
    config={"width": 32, "blocks": 2, "dynamics_blocks": 1},
    search=imagined_search(simulations=8, considered=4),
    learning=Unrolling(batch=64, steps=400, average_decay=0.9),
    games=64,
    steps=20,
    replay_size=20_000,
    iterations=20,
    gate_every=10,
    gate_games=100,
    baselines=("random",),
)

RECIPES = {
    "default": DEFAULT,
    "policy": POLICY,
    "muesli": MUESLI,
    "muzero": MUZERO,
    "dropout": DROPOUT,
    "first": FIRST,
    "smoke": SMOKE,
}
