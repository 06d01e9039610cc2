"""Rehearsing a whole study on this machine: emulated platform, real survey server, simulated participants."""
