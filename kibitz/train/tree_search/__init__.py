"""Learning from self-play in which every move is searched."""
