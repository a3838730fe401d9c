"""Learning: methods that improve a network, and runs that gate, rate and keep the results."""
