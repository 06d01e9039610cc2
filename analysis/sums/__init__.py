"""Sums of a table of answers: exact, the same however the table is split, and all that most measures need."""
