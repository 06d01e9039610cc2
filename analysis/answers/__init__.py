"""Answers read, checked, put into groups and in order, and who is excluded."""
