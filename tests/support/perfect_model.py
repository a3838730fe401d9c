"""A model for latent search that knows the rules: its latents are true positions."""

from __future__ import annotations

import numpy as np

from kibitz.game import CHANCE, OVER
from kibitz.search.latent import Imagined

ILLEGAL = -1e9


class Guess:
    """Logits and values that follow from views, and mean nothing: an evaluator."""

    def __init__(self, game, seed=0, *, even=False):
        rng = np.random.default_rng(seed)
        size = game.num_actions + game.seats
        self.weights = rng.normal(size=(game.view_size, size)) * (0.0 if even else 1.0)
        self.actions = game.num_actions

    def room(self, size, view_size):
        return np.zeros((size, view_size), np.float32)

    def __call__(self, views):
        # In 64 bits and then rounded: the batch size must not change an answer.
        found = (np.asarray(views, np.float64) @ self.weights / 4).astype(np.float32)
        return found[:, : self.actions], np.tanh(found[:, self.actions :])

    def stream(self, views):
        raise NotImplementedError


class PerfectModel:
    """Plays the true rules from these root positions; an evaluator says what it thinks of views."""

    def __init__(self, game, states, evaluator, *, codes=None):
        self.game, self.states, self.evaluator = game, states, evaluator
        self.codes = game.num_outcomes if codes is None else codes

    def memory(self, size, latents, view_size):
        assert size == len(self.states), "search with threads=1: there is one lane"
        return PerfectMemory(self, size, latents, view_size)


class PerfectMemory:
    def __init__(self, model, size, latents, view_size):
        self.model, self.game = model, model.game
        self.views = np.zeros((size, view_size), np.float32)
        self.origins, self.actions, self.codes, self.targets = np.zeros((4, size), np.int64)
        self.positions = np.zeros(size * latents + 1, self.game.state)
        self.positions[: size * latents : latents] = model.states
        self.after = np.zeros(size, self.game.state)
        self.movers = np.zeros(size, np.int64)

    def begin(self):
        return self.model.evaluator(self.views)

    def act(self):
        odds = np.zeros((len(self.after), self.model.codes), np.float32)
        for b, (origin, action) in enumerate(zip(self.origins, self.actions, strict=True)):
            self.after[b] = self.positions[origin]
            s, self.movers[b] = self.after[b], self.game.turn(self.positions[origin])
            if int(action) in self.game.legal(s):  # a tree at its end asks anything
                self.game.play(s, int(action))
            if self.game.turn(s) == CHANCE:
                odds[b] = self.game.chances(s)
            else:
                odds[b, 0] = 1.0
        return odds

    def settle(self):
        if self.model.codes == 1:
            self.act()
        size, game = len(self.after), self.game
        turns, ends = np.zeros((size, game.seats), np.float32), np.zeros(size, np.float32)
        views, scores = self.views.copy(), np.zeros((size, game.seats), np.float32)
        legal = np.zeros((size, game.num_actions), bool)
        for b in range(size):
            s = self.after[b]
            if game.turn(s) == CHANCE:
                game.play(s, int(self.codes[b]))
            assert game.turn(s) != CHANCE, "one code stands for one outcome"
            self.positions[self.targets[b]] = s
            if game.turn(s) == OVER:
                ends[b], scores[b] = 1, np.roll(game.scores(s), -self.movers[b])
                continue
            turns[b, (game.turn(s) - self.movers[b]) % game.seats] = 1
            views[b] = game.look(s, game.turn(s))
            out = np.zeros(game.max_legal, np.int16)
            legal[b, out[: game.candidates(s, out)]] = True
        logits, values = self.model.evaluator(views)
        values = np.where(ends[:, None] > 0, scores, values)
        return Imagined(np.where(legal, logits, np.float32(ILLEGAL)), values, turns, ends)
