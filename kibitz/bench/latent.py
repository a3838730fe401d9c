"""The speed of search in a learned model beside that of its network alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..chance import streams
from ..devices import Device, Gpu, device_named, lanes
from ..game import GameError
from ..games import load
from ..search.latent import LatentSearch
from .networks import midgame
from .timing import best_of, in_turns

if TYPE_CHECKING:
    from ..nets.latent_model import LatentModel
    from ..train.muzero.loop import MuZeroTraining

BATCHES = {"cpu": (64, 256, 1024), "cuda": (1024, 4096, 16384, 65536)}  # of the network alone
ROUNDS = 8  # steps of a measurement


@dataclass(frozen=True)
class LatentBench:
    """Search in the model of a recipe's network, untrained, and that network alone."""

    game: str
    device: str
    net: str
    trees: int
    simulations: int
    simulations_per_s: float
    steps_per_s: dict[int, float]
    """Of the network alone, by the size of its batch. A step is what one simulation asks: from a
    latent and an action to the next latent and what is said of it."""
    best_batch: int
    ratio: float
    """Simulations to steps at the best batch, measured in turns."""
    threads: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def bench_latent(
    name: str,
    options: Mapping[str, object],
    device: str,
    trees: int,
    simulations: int,
    which: str = "muzero",
) -> LatentBench:
    """Measure the search of a recipe that learns a model; which: its name."""
    from ..nets.latent_model import LatentModel

    chosen = _recipe(name, which, options)
    game = load(chosen.game, **chosen.options).through(chosen.view)
    model = LatentModel(chosen.network(game, 0), device)
    place = device_named(device)
    alone = {size: _steps(model, place, size) for size in BATCHES[device]}
    speeds = {size: _rate(place, size) / best_of(work, place) for size, work in alone.items()}
    best = max(speeds, key=lambda size: speeds[size])
    batch = midgame(game, trees, device)
    settings = replace(chosen.search, simulations=simulations)
    search = LatentSearch(game, trees, settings, model=model, device=device)
    searching = lambda: search.run(batch.states, streams(1, "search", trees))  # noqa: E731
    searched, stepped = in_turns([searching, alone[best]], place)
    found = trees * simulations / searched
    return LatentBench(
        game=game.name,
        device=device,
        net=chosen.net,
        trees=trees,
        simulations=simulations,
        simulations_per_s=found,
        steps_per_s=speeds,
        best_batch=best,
        ratio=found * stepped / _rate(place, best),
        threads=lanes(),
    )


def _recipe(name: str, which: str, options: Mapping[str, object]) -> MuZeroTraining:
    from ..recipes import recipe
    from ..train.muzero.loop import MuZeroTraining

    found = recipe(name, which, **options)
    if not isinstance(found, MuZeroTraining):
        raise GameError(f"the recipe {which!r} of {name} does not learn a model of the game")
    return found


def _rate(device: Device, size: int) -> int:
    """Steps of a measurement, on all threads."""
    return ROUNDS * size * (1 if isinstance(device, Gpu) else device.threads)


def _steps(model: LatentModel, device: Device, size: int) -> Callable[[], object]:
    """Steps of the network alone: nothing is looked up, and nothing kept."""
    import torch

    net, place = model.net, model.device
    latents = torch.rand(size, *net.latent_shape, device=place, dtype=model.dtype)
    numbers = torch.arange(size, device=place)
    actions, codes = numbers % net.config.actions, numbers % net.config.codes

    @torch.inference_mode()
    def steps(_: object) -> None:
        for _ in range(ROUNDS):
            afterstates = net.act(latents, actions)
            if net.config.codes > 1:
                net.odds(afterstates).softmax(1)
            outlook = net.judge(net.settle(latents, afterstates, codes))
            net.values(outlook.scores)

    if isinstance(device, Gpu):
        return lambda: steps(None)
    return lambda: device.each([None] * device.threads, steps)
