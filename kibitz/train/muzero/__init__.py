"""Learning a model of a game together with policy and values, from self-play in that model."""
