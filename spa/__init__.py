"""System-level probabilistic assessment: people and LLMs say which generator of text, images or speech is better.

The public names stand in ``__init__.pyi``; each is imported when it is first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
