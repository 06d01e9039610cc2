"""Juries of LLMs: how far members agree, what each adds, what they cost."""
