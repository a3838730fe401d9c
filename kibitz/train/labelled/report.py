"""How well values predict labels, beside a constant and a linear evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]
Figures = dict[str, float | None]


@dataclass(frozen=True)
class Examined:
    """Positions on which predictions are measured."""

    targets: Floats
    proven: Flags
    groups: Mapping[str, Flags]
    """Kinds of positions that are measured on their own, by name: where they are of that kind."""

    def parts(self) -> dict[str, Flags]:
        """All positions; then, for every group, those in it and those that are not."""
        parts = {"all": np.ones(len(self.targets), np.bool_)}
        for name, inside in self.groups.items():
            parts |= {name: inside, f"no {name}": ~inside}
        return parts

    def figures(self, predicted: Floats, part: Flags) -> Figures:
        """Of one prediction on a part of the positions; None where there is nothing to measure."""
        proven, open_ = part & self.proven, part & ~self.proven
        right = np.sign(predicted[proven]) == np.sign(self.targets[proven])
        return {
            "mse": _mean((predicted[part] - self.targets[part]) ** 2),
            "sign_accuracy": _mean(right),
            "correlation": correlation(predicted[open_], self.targets[open_]),
        }

    def report(self, predictions: Mapping[str, Floats]) -> dict[str, dict[str, object]]:
        """Figures by part and by who predicts."""
        return {
            name: {
                "positions": int(part.sum()),
                "proven": int((part & self.proven).sum()),
                **{who: self.figures(values, part) for who, values in predictions.items()},
            }
            for name, part in self.parts().items()
        }


def _mean(values: NDArray[np.generic]) -> float | None:
    return float(np.mean(values.astype(np.float64))) if len(values) else None


def correlation(one: Floats, other: NDArray[np.number]) -> float | None:
    """None where it is not defined."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def report_text(report: Mapping[str, Mapping[str, object]]) -> str:
    """A report as a table."""
    form = "{:<18} {:<10} {:>10} {:>8} {:>14} {:>12}"
    heads = ("positions", "predicted", "number", "MSE", "sign accuracy", "correlation")
    lines = [form.format(*heads)]
    for part, entries in report.items():
        for who, figures in entries.items():
            if isinstance(figures, dict):
                numbers = (_text(figures[name]) for name in figures)
                lines.append(form.format(part, who, f"{entries['positions']:,}", *numbers))
    lines.append("Sign accuracy is on proven positions, correlation on the others.")
    return "\n".join(lines) + "\n"


def _text(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.4f}"
