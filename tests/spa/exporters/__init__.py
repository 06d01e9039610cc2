"""Answers as other tools read them."""
