"""Audited raters: an LLM answers everything, people a part drawn with known chances, and both give people's mean."""
