"""How long a test waits for what must come: a guard against hanging alone, which no busy machine should reach."""

SECONDS = 120.0  # half of the time that the suite allows a test
MILLISECONDS = 1000 * SECONDS
