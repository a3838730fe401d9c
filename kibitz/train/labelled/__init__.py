"""Learning from positions with labels: generating them, their files, and a network's training."""
