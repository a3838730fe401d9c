"""Commands that measure speed."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table as Grid

from .app import (
    Device,
    GameName,
    Json,
    OptionTexts,
    Seed,
    bench_app,
    err,
    options_of,
    or_none,
    out,
    print_json,
)

# Speed ------------------------------------------------------------------------------------------


@bench_app.command("rules", epilog="Example: kibitz bench rules liars_dice --device cuda --json")
def bench_rules(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    players: Annotated[
        tuple[str, str],
        typer.Option(help="Two of the game's own players, for whole games per second."),
    ] = ("random", "random"),
    as_json: Json = False,
) -> None:
    """Random plies per second: one thread, all threads, the GPU, and against OpenSpiel."""
    from ..bench import bench_rules as measured

    with err.status("measuring ..."):
        result = measured(name, options_of(option), device, players)
    if as_json:
        print_json(result.as_json())
        return
    rows = {
        "plies/s, one thread": f"{result.plies_per_s_1:,.0f}",
        f"plies/s, {result.threads} threads": f"{result.plies_per_s_all:,.0f}",
        "times one thread": f"{result.scaling:.2f}",
        f"whole games/s, {' against '.join(players)}, one thread": f"{result.games_per_s_1:,.0f}",
        "the same as in a match": f"{result.match_games_per_s_1:,.0f}",
        "ratio of the two": f"{result.match_ratio:.2f}",
        "views/s, one thread": f"{result.views_per_s_1:,.0f}",
        "times OpenSpiel from Python": or_none(result.ratio_openspiel, ".0f"),
        "seconds to the first ply, cold cache": f"{result.compile_s:.1f}",
        "seconds to the first ply, warm cache": f"{result.cached_start_s:.2f}",
        "plies/s, GPU, one ply per launch": or_none(result.plies_per_s_gpu, ",.0f"),
        "whole games/s, GPU": or_none(result.games_per_s_gpu, ",.0f"),
        "views/s into a torch tensor, GPU": or_none(result.views_per_s_gpu, ",.0f"),
    }
    grid = Grid.grid(padding=(0, 2))
    for what, figure in rows.items():
        grid.add_row(what, figure)
    out.print(grid)


@bench_app.command("search", epilog="Example: kibitz bench search beasty_bar --trees 256")
def bench_search(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    trees: Annotated[int, typer.Option(min=1, help="Trees searched in lockstep.")] = 256,
    simulations: Annotated[int, typer.Option(min=2, help="Simulations per tree.")] = 16,
    eager: Annotated[
        bool, typer.Option("--eager", help="On a GPU: plain torch, operation by operation.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Simulations per second with the game's network, beside the speed of the network alone.

    A GPU needs thousands of trees: --device cuda --trees 65536 --simulations 64.
    """
    from ..bench import bench_search as measured

    with err.status("measuring ..."):
        result = measured(name, options_of(option), device, trees, simulations, eager)
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row("simulations/s with the network", or_none(result.simulations_per_s, ",.0f"))
    grid.add_row("evaluations/s of the network alone", or_none(result.evaluations_per_s, ",.0f"))
    grid.add_row("ratio", or_none(result.ratio, ".2f"))
    grid.add_row("simulations/s with rollouts", f"{result.rollouts_per_s:,.0f}")
    grid.add_row("the same on one thread", or_none(result.rollouts_per_s_1, ",.0f"))
    grid.add_row("seconds to the first simulation", f"{result.first_simulation_s:.1f}")
    out.print(grid)


@bench_app.command("latent", epilog="Example: kibitz bench latent kuhn --trees 64")
def bench_latent(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    trees: Annotated[int, typer.Option(min=1, help="Trees searched in lockstep.")] = 256,
    simulations: Annotated[int, typer.Option(min=2, help="Simulations per tree.")] = 16,
    recipe: Annotated[str, typer.Option(help="Which recipe of the game.")] = "muzero",
    as_json: Json = False,
) -> None:
    """Simulations per second in a learned model, beside steps of its network alone.

    A GPU needs thousands of trees: --device cuda --trees 16384 --simulations 50.
    """
    from ..bench import bench_latent as measured

    with err.status("measuring ..."):
        result = measured(name, options_of(option), device, trees, simulations, recipe)
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row("simulations/s", f"{result.simulations_per_s:,.0f}")
    for size, speed in result.steps_per_s.items():
        grid.add_row(f"the network alone, batches of {size}", f"{speed:,.0f} steps/s")
    grid.add_row(f"ratio to batches of {result.best_batch}", f"{result.ratio:.2f}")
    out.print(grid)


@bench_app.command(
    "move", epilog="Example: kibitz bench move beasty_bar --player champion:sims=200 --json"
)
def bench_move(
    name: GameName,
    who: Annotated[str, typer.Option("--player", help="Whose moves; see kibitz games GAME.")],
    option: OptionTexts = None,
    moves: Annotated[int, typer.Option(min=1, help="Moves to time, over several games.")] = 60,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Milliseconds per move at one table, as somebody who waits for the player feels them."""
    from ..bench import bench_move as measured

    with err.status("measuring ..."):
        result = measured(name, options_of(option), who, moves, seed)
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row(f"median of {result.moves} moves", f"{result.median_ms:,.2f} ms")
    grid.add_row("one move in ten takes longer than", f"{result.slow_ms:,.2f} ms")
    grid.add_row("the first move, compilation included", f"{result.first_ms:,.0f} ms")
    out.print(grid)


@bench_app.command("selfplay", epilog="Example: kibitz bench selfplay beasty_bar --tables 64")
def bench_selfplay(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    tables: Annotated[
        int | None,
        typer.Option(min=1, help="Games at the same time; on a GPU usually the recipe's."),
    ] = None,
    recipe: Annotated[str, typer.Option(help="Which recipe of the game.")] = "default",
    as_json: Json = False,
) -> None:
    """Simulations per second of self-play beside those of its search alone; steps of learning."""
    from ..bench import bench_selfplay as measured

    with err.status("measuring ..."):
        result = measured(name, options_of(option), device, tables, recipe)
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row("simulations/s of self-play", f"{result.simulations_per_s:,.0f}")
    grid.add_row("simulations/s of its search alone", f"{result.search_simulations_per_s:,.0f}")
    grid.add_row("ratio", f"{result.ratio:.2f}")
    grid.add_row(f"learning, steps/s of {result.batch}", f"{result.steps_per_s:,.2f}")
    grid.add_row("decisions per game", f"{result.decisions_per_game:.1f}")
    grid.add_row("searched of these", f"{result.searched_per_game:.1f}")
    for part, share in result.shares.items():
        grid.add_row(f"share of an iteration: {part}", f"{share:.1%}")
    out.print(grid)


@bench_app.command("net", epilog="Example: kibitz bench net beasty_bar")
def bench_net(name: GameName, device: Device = "cpu", as_json: Json = False) -> None:
    """The network of a game: milliseconds for one view, and views per second by batch size."""
    from ..bench import bench_net as measured

    with err.status("measuring ..."):
        result = measured(name, device)
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row("one view", f"{result.latency_ms:.2f} ms")
    for size, speed in result.views_per_s.items():
        grid.add_row(f"batches of {size}", f"{speed:,.0f} views/s")
    for what, took in (result.decision_us or {}).items():
        grid.add_row(f"a decision by values, {what}", f"{took:.0f} microseconds")
    if result.evaluations_per_s is not None:
        grid.add_row("actions evaluated by values", f"{result.evaluations_per_s:,.0f} per second")
    out.print(grid)


@bench_app.command("compiled-net", epilog="Example: kibitz bench compiled-net --json")
def bench_compiled_net(as_json: Json = False) -> None:
    """A network with two perspectives on one core: compiled inference beside torch."""
    from ..bench import bench_compiled_net as measured

    with err.status("measuring ..."):
        result = measured()
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    for size in result.ratio:
        grid.add_row(f"compiled, batches of {size}", f"{result.compiled_us[size]:.0f} us/position")
        grid.add_row(f"torch, batches of {size}", f"{result.torch_us[size]:.0f} us/position")
        grid.add_row("ratio of the two", f"{result.ratio[size]:.2f}")
    out.print(grid)


@bench_app.command("alphabeta", epilog="Example: kibitz bench alphabeta escampe --json")
def bench_alphabeta(
    name: GameName,
    option: OptionTexts = None,
    positions: Annotated[int, typer.Option(min=1, help="Positions to search.")] = 50,
    depth: Annotated[int, typer.Option(min=1, max=40, help="To compare features at.")] = 8,
    deep: Annotated[int, typer.Option(min=1, max=40, help="To compare threads at.")] = 10,
    as_json: Json = False,
) -> None:
    """Perft and alpha-beta in an open game: nodes per second, features, and two threads."""
    from ..bench import bench_open as measured

    with err.status("measuring ..."):
        result = measured(name, options_of(option), positions=positions, depth=depth, deep=deep)
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row(f"perft {result.perft_depth} in bulk", f"{result.perft_bulk_per_s:,.0f}/s")
    grid.add_row("the same, every move played", f"{result.perft_played_per_s:,.0f}/s")
    grid.add_row("alpha-beta, nodes", f"{result.nodes_per_s:,.0f}/s")
    for row in result.features:
        what = f"depth {depth} without {row.without}"
        grid.add_row(what, f"{row.nodes:,} nodes, {row.seconds:.2f} s")
    grid.add_row("nodes, of those of plain alpha-beta", f"{result.share_of_plain:.3f}")
    grid.add_row(f"depth {deep} with two threads, of one's time", f"{result.threads_ratio:.2f}")
    out.print(grid)
