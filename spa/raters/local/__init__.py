"""Models on this machine: loaded once, read through a shared prefix, their probabilities looked at."""
