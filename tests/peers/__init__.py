"""What other tools make of our exports, run outside the tests: ``make peers`` writes ``peers.json``."""
