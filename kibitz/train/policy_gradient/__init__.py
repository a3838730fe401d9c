"""Learning from one's own games without a search: what went better than expected is done more."""
