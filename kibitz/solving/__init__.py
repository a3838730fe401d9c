"""What to do next in a game of hidden hands, solved from what everybody knows."""
