"""An emulator of the Prolific API on this machine, with simulated participants and money."""
