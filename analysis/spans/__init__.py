"""Errors marked in outputs: where annotators agree on them, and how many there are."""
