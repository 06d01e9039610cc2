"""Answers collected with other tools, as tidy tables."""
