"""How many annotators a study needs, what they cost, and which difference they can find."""
