"""Studies that end when their pairs are decided: the state of the answers so far."""
