"""Replies of LLMs in free words, read as numbers, options and orders."""
