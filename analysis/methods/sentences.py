"""What a methods section is made of: sentences, each with the facts that it says and the papers that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.printing.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence.

    Attributes
    ----------
    text : str
        Plain text without its full stop; names and quotations in it may hold any character.
    facts : tuple of str
        Keys of ``results.json`` that it says, as "settings.fwer"; of a list, of all its rows.
    cites : tuple of str
        Names of entries of the bibliography.
    """

    text: str
    facts: tuple[str, ...]
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodsParagraph:
    """Sentences under one title."""

    title: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """A methods section, and what its author must add, as the results do not say it."""

    paragraphs: tuple[MethodsParagraph, ...]
    to_add: tuple[str, ...]

    @property
    def cited(self) -> tuple[str, ...]:
        """Return the names of the entries cited, in the order of the alphabet."""
        every = (name for paragraph in self.paragraphs for each in paragraph.sentences for name in each.cites)
        return tuple(sorted(set(every)))


def said(text: str, *facts: str, cites: Sequence[str] = ()) -> Iterator[Sentence]:
    """Yield one sentence."""
    yield Sentence(text=text, facts=facts, cites=tuple(cites))


def of_each(counts: Sequence[int], one: str, many: str) -> str:
    """Return "5 outputs", or "1, 2 and 4 outputs", of different counts.

    >>> of_each([1], "output", "outputs"), of_each([1, 2, 4], "output", "outputs")
    ('1 output', '1, 2 and 4 outputs')
    """
    if len(counts) == 1:
        return plural(counts[0], one, many)
    return f"{', '.join(map(str, counts[:-1]))} and {counts[-1]} {many}"
