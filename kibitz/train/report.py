"""Reports of a run: a line in the terminal, TensorBoard events, a picture of its curves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from .metrics import Row

LOSSES = ("loss_policy", "loss_value", "loss_margin", "loss_training", "loss_validation")
CURVES: tuple[tuple[str, str | tuple[str, ...]], ...] = (
    ("Elo above the untrained player", ("elo", "elo_new")),
    ("win rate at the gate", "against_"),
    ("loss", LOSSES),
    ("on validation positions", ("sign_accuracy", "correlation")),
    ("learning rate", ("learning_rate",)),
    ("speed", ("games_per_s", "positions_per_s", "steps_per_s")),
)
SPEEDS = ("games", "positions", "simulations")


def line(row: Row) -> str:
    """An iteration in one line."""
    figures = [f"iteration {row['iteration']}"]
    speeds = {what: row[f"{what}_per_s"] for what in SPEEDS if f"{what}_per_s" in row}
    figures += [f"{speed:,.0f} {what}/s" for what, speed in speeds.items()]
    losses = {name: row[name] for name in LOSSES if name in row and name != "loss_margin"}
    figures += [f"{name.removeprefix('loss_')} {loss:.3f}" for name, loss in losses.items()]
    for name, rate in row.items():
        if name.startswith("against_"):
            figures.append(f"{rate:.1%} {name.replace('_', ' ')}")
    if "elo" in row:
        figures.append(f"Elo {row['elo']:+.0f}")
    return ", ".join(figures)


class Board:
    """TensorBoard events, if TensorBoard is installed."""

    def __init__(self, folder: Path) -> None:
        self.writer: Any = None  # torch does not type its SummaryWriter
        if importlib.util.find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(folder))  # type: ignore[no-untyped-call]

    def add(self, row: Row) -> None:
        if self.writer is not None:
            for name, value in row.items():
                if name != "iteration":
                    self.writer.add_scalar(name, float(value), row["iteration"])
            self.writer.flush()


def draw(rows: list[Row], path: Path) -> bool:
    """Draw the curves of a run; False if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None or not rows:
        return False
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [(title, lines) for title, names in CURVES if (lines := _lines(rows, names))]
    high = max(1, -(-len(shown) // 2))
    figure, axes = pyplot.subplots(
        high, 2, squeeze=False, figsize=(11, 3.5 * high), layout="constrained"
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    for axis, (title, lines) in zip(axes.flat, shown, strict=False):
        for name, points in lines.items():
            axis.plot(*zip(*points, strict=True), label=name.replace("_", " "))
        axis.set_title(title)
        axis.set_xlabel("iteration")
        axis.grid(alpha=0.3)
        axis.legend()
    temporary = path.with_name(f".{path.name}")
    figure.savefig(temporary, format="png", dpi=100)
    pyplot.close(figure)
    temporary.replace(path)
    return True


def table(rows: list[Row]) -> str:
    """The metrics as comma-separated values, a line per iteration."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(str(row.get(name, "")) for name in names) for row in rows]
    return "".join(f"{line}\n" for line in [",".join(names), *lines])


def _lines(rows: list[Row], names: str | tuple[str, ...]) -> dict[str, list[tuple[int, float]]]:
    """The points of every curve that has any."""
    curves = {
        name: [(row["iteration"], row[name]) for row in rows if row.get(name) is not None]
        for name in _named(rows, names)
    }
    return {name: points for name, points in curves.items() if points}


def _named(rows: list[Row], names: str | tuple[str, ...]) -> list[str]:
    """The curves of a picture: these names, or all that begin with a prefix."""
    if isinstance(names, tuple):
        return list(names)
    return sorted({name for row in rows for name in row if name.startswith(names)})
