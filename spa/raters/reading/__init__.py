"""Replies of LLMs, or the probabilities of replies, read as answers."""
