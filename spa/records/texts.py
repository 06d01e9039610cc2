"""What forms say in one language, with placeholders filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from spa.errors import StudyError

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of one study, in its language."""

    language: str
    right_to_left: bool
    entries: Mapping[str, str]

    def has(self, *keys: str) -> bool:
        """Return whether there are all of these texts."""
        return self.entries.keys() >= set(keys)

    def say(self, key: str, **values: str) -> str:
        """Return the text of ``key`` with its ``{placeholders}`` filled.

        Parameters
        ----------
        key : str
            "form.x" or "page.x".
        **values : str
            What the placeholders become; braces inside a value mean nothing.

        Raises
        ------
        StudyError
            If this language and study have no such text.

        >>> entries = {"form.system_label": "Writer {label}"}
        >>> Texts(language="en", right_to_left=False, entries=entries).say("form.system_label", label="B")
        'Writer B'
        """
        text = self.entries.get(key)
        if text is None:
            raise StudyError(f"texts: no text {key!r} in language {self.language!r}; add it under [texts]")
        pieces = _pieces(text)
        if len(pieces) == 1:
            return text
        filled = [*pieces]
        filled[1::2] = [values.get(name, f"{{{name}}}") for name in pieces[1::2]]
        return "".join(filled)


def placeholders(text: str) -> frozenset[str]:
    """Return the names in braces that ``Texts.say`` fills.

    >>> sorted(placeholders("{x} or {y}, {7*7}"))
    ['x', 'y']
    """
    return frozenset(_PLACEHOLDER.findall(text))


@lru_cache(maxsize=2048)
def _pieces(text: str) -> tuple[str, ...]:
    """Cut a text at its placeholders: what stands between them, and every second one a name."""
    return tuple(_PLACEHOLDER.split(text))
