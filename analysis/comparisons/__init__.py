"""Systems compared pair by pair: preferences, ratings and choices, their units, families and verdicts."""
