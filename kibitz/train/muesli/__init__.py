"""Policy gradients with a model of the game learnt beside them."""
