"""Who answers: people on the survey server, LLM raters, simulated annotators."""
