"""LLM raters beside people, put together from what other rooms found."""
