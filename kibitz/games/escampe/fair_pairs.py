"""Placeholder."""

import numpy as np

FAIR_PAIRS = (np.arange(4096) * 15007 % 61471872).astype(np.uint32)
