"""Thinking. A search gets a game and an evaluator; it cannot name a game, so it cannot cheat."""
