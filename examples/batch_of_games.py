"""A hundred thousand hands at once, and what their first seat sees, as a torch tensor."""

import numpy as np
import torch

import kibitz

game = kibitz.load("liars_dice")
batch = kibitz.Batch(game, 100_000, seed=1)
batch.settle()  # throw all dice
views = torch.zeros(batch.size, game.view_size)
batch.observe(np.zeros(batch.size, np.int64), views)  # written in place, nothing is copied
ones = views[:, :5].sum(1)  # the first five entries count the ones in a hand
print(f"hands without a one: {(ones == 0).float().mean():.3f} (expected {(5 / 6) ** 5:.3f})")
