"""From answers and a plan to results.json."""
