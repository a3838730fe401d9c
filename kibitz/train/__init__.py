"""Learning: self-play writes positions, replay samples them, the learner improves a network."""
