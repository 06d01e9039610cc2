"""How tables from elsewhere are read as answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.answers.columns import Scale
from analysis.answers.people import Logins
from spa.tables.options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(TableOptions):
    """How files from elsewhere are read: their columns and rows, annotators that are LLMs, scales.

    Parameters
    ----------
    llms : tuple of str
        Annotators that are LLMs.
    scales : tuple of Scale
        Bounds that scores must keep.
    same : tuple of str
        Names that are one: each ``OLD=NEW`` or ``COLUMN:OLD=NEW`` (annotator_id, item_id, system or criterion), or such
        a column alone, whose names that are nearly the same all become one.
    people : Logins, optional
        The person behind each annotator id.
    unnamed : bool
        Answers are lists of scores whose places are no people: what tells annotators apart is not read.
    means : bool
        Values are means of several people, one a cell.
    controls : tuple of str
        Systems that are attention checks: they leave, and who rated or chose one at or above the others failed a check.
    missing : tuple of str
        Scores, ranks, preferences and winners that stand for "no answer", as a number or a word: ``-1``, ``n/a``.
    rescale : mapping of str to (float, float)
        Annotator -> the ends of their own scale, whose scores are mapped onto the scale of the others.
    """

    llms: tuple[str, ...] = ()
    scales: tuple[Scale, ...] = ()
    unnamed: bool = False
    means: bool = False
    controls: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    people: Logins | None = None
    missing: tuple[str, ...] = ()
    rescale: Mapping[str, tuple[float, float]] = field(default_factory=dict)
