"""Trees and their roots, whatever grows between them: true positions or a learned model."""

from __future__ import annotations

import functools
import time

import numpy as np
from numpy.typing import NDArray

from ..batch import check_states, turns_all
from ..chance import STREAM
from ..devices import Array, Device, check_memory
from ..game import Game, GameError
from . import gumbel
from .roots import (
    RootRows,
    decide_by_halving_all,
    decide_by_visits_all,
    draw_noise_all,
    empty_rows,
    read_roots_all,
    write_priors_all,
)
from .settings import Floats, Found, Settings
from .tree import Forest, Selection, uniforms_all


class Rooted:
    """The base of searches: the selection, the noise on the roots, and what is read out of them."""

    game: Game
    size: int
    settings: Settings
    device: Device
    forest: Forest
    selection: Selection

    def _selection(self) -> Selection:
        s = self.settings
        plan = gumbel.plan(s.considered if s.root == "gumbel" else 0, s.simulations)
        return Selection(
            explore=float(s.explore),
            c_visit=float(s.c_visit),
            c_scale=float(s.c_scale),
            noise=self.device.empty((self.size, self.game.max_legal), np.float32),
            plan=self.device.put(plan),
            root_values=self.device.empty(self.size, np.float64),
            gumbel_scale=float(s.gumbel_scale),
            improved=int(s.inner == "improved"),
            spread=int(s.chance == "spread"),
            by_path=int(s.nodes == "path"),
        )

    def _deadline(self) -> float | None:
        seconds = self.settings.seconds
        return None if seconds is None else time.monotonic() + seconds

    def _check(self, states: Array, rngs: Array) -> None:
        check_states(self.game, states)
        if len(states) != self.size or rngs.shape != (self.size,) or rngs.dtype != STREAM:
            given = f"{len(states)} with streams {list(rngs.shape)}"
            raise GameError(f"this search is for {self.size} tables, not {given}")
        check_memory("chance streams", rngs)

    def _check_turns(self, states: Array) -> None:
        turns = self.device.empty(self.size, np.int64)
        self.device.run(turns_all, self.size, states, turns)
        if (waiting := np.flatnonzero(self.device.get(turns) < 0)).size:
            raise GameError(
                f"table {waiting[0]} has no seat to move, so there is nothing to search"
            )

    @functools.cached_property
    def _rows(self) -> RootRows:
        return empty_rows(self.device, self.size, self.game.max_legal)

    def roots(self) -> RootRows:
        """What the last search found; on the device, and only until the next one."""
        self.device.run(read_roots_all, self.size, self.forest, self._rows)
        if self.settings.root == "gumbel":
            self.device.run(decide_by_halving_all, self.size, self._rows, self.selection)
        else:
            self.device.run(decide_by_visits_all, self.size, self._rows)
        return self._rows

    def _host_roots(self) -> RootRows:
        return RootRows(*(np.array(self.device.get(array)) for array in self.roots()))

    def _prepare_roots(self) -> None:
        """Noise on the roots, once they have their priors."""
        if self.settings.root == "gumbel":
            self.device.run(draw_noise_all, self.size, self.forest, self.selection)
        elif self.settings.noise > 0.0:
            self._mix_noise_into_priors(self._host_roots())

    def _mix_noise_into_priors(self, rows: RootRows) -> None:
        s = self.settings
        dirichlet = np.where(self._legal(rows), gamma(s.alpha, *self._uniforms(3)), 0.0)
        dirichlet /= np.maximum(dirichlet.sum(1, keepdims=True), 1e-30)
        mixed = self.device.put((1 - s.noise) * rows.priors + s.noise * dirichlet)
        self.device.run(write_priors_all, self.size, self.forest, mixed)

    def _legal(self, rows: RootRows) -> NDArray[np.bool_]:
        """Where a list has an action. [trees, max_legal]"""
        return np.arange(self.game.max_legal) < np.asarray(rows.counts)[:, None]

    def _uniforms(self, rows: int) -> Floats:
        """[rows, trees, max_legal], drawn from the trees' streams; logarithms are for the host."""
        out = self.device.empty((self.size, rows * self.game.max_legal), np.float64)
        self.device.run(uniforms_all, self.size, self.forest.rngs, out)
        drawn: Floats = self.device.get(out).reshape(self.size, rows, -1)
        return drawn.transpose(1, 0, 2)

    def _found(self) -> Found:
        rows = self._host_roots()
        return Found(
            actions=rows.acts,
            counts=rows.counts,
            visits=rows.visits,
            values=rows.means,
            priors=rows.priors,
            policy=rows.policy,
            value=rows.value,
            best=rows.best,
            simulations=rows.simulations,
        )


def gamma(alpha: float, a: Floats, b: Floats, c: Floats) -> Floats:
    """Gamma-distributed numbers from three uniform ones each, near enough for noise.

    Wilson and Hilferty: the cube root of a gamma variable of shape 1 + alpha is almost normal; a
    power of a uniform one takes the shape down to alpha.
    """
    normal = np.sqrt(-2.0 * np.log(a)) * np.cos(2.0 * np.pi * b)
    k = 1.0 + alpha
    root = 1.0 - 1.0 / (9.0 * k) + normal / (3.0 * np.sqrt(k))
    return np.asarray(k * np.maximum(root, 0.0) ** 3 * c ** (1.0 / alpha))
