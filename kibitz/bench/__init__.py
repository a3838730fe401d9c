"""Speed, as ratios within one run."""

from .dual_view import bench_compiled_net
from .latent import bench_latent
from .moves import bench_move
from .networks import bench_net, bench_search, recipe_evaluator
from .open_games import bench_open
from .rules import alternating_speeds, bench_rules
from .selfplay import bench_selfplay

__all__ = [
    "alternating_speeds",
    "bench_compiled_net",
    "bench_latent",
    "bench_move",
    "bench_net",
    "bench_open",
    "bench_rules",
    "bench_search",
    "bench_selfplay",
    "recipe_evaluator",
]
