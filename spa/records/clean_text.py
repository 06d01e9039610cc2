"""Text as every page and every service can show it."""

from __future__ import annotations

import re

# Control characters but tab and line ends, halves of surrogate pairs, and the two non-characters
# that no XML or HTML document may hold. Joiners and direction marks are part of ordinary writing.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_END = re.compile("\r\n?")
REPLACEMENT = "\ufffd"


def is_control(character: str) -> bool:
    """Return whether a character cannot be shown on a page or sent to a service."""
    return _CONTROL.match(character) is not None


def cleaned(text: str) -> str:
    r"""Return the text with one kind of line end, and U+FFFD for every character that cannot be shown.

    >>> ascii(cleaned("a\r\nb\x00c"))
    "'a\\nb\\ufffdc'"
    """
    return _CONTROL.sub(REPLACEMENT, _LINE_END.sub("\n", text))


def printable(text: str | None) -> str | None:
    """Spell out lone surrogates, which no file format takes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
