"""System-level probabilistic assessment: ask people and LLMs which text or image generator is better.

The public names stand in ``__init__.pyi``; each is imported when it is first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
