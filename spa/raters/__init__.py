"""LLM raters: the identical form put to a model, every call on record, every answer read by the same rules."""
