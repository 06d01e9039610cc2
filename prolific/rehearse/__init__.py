"""A whole study, rehearsed on this machine: emulated platform, real survey server, simulated people, no money."""
