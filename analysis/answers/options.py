"""How tables from elsewhere are read as answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from analysis.answers.columns import Scale
from analysis.answers.people import Logins
from analysis.answers.span_places import Ends
from spa.records.system_roles import UnrankedSystem
from spa.tables.options import TableOptions
from spa.tables.verdicts import Sides

Told: TypeAlias = Callable[[str], None]  # is told what is done now, for who waits


def untold(step: str) -> None:
    """Leave unsaid what is done now."""


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
    system_roles : mapping of str to UnrankedSystem or None
        Systems that are hidden references or anchors, rated but not ranked; ``None``: a system as others, whatever its
        name looks like.
    missing : tuple of str
        Scores, ranks, preferences and winners that stand for "no answer", as a number or a word: ``-1``, ``n/a``.
    rescale : mapping of str to (float, float)
        Annotator -> the ends of their own scale, whose scores are mapped onto the scale of the others.
    values : mapping of str to str
        Word in a column of answers -> what it counts: a number; x, y, tie, both_bad or a system; "missing".
    numbers : pair of float, optional
        Number of a comparison that says that system_x is better, and the one that says system_y.
    sides : {"names", "places"}, optional
        What a winner is that is both a system's name and a place, such as A.
    output_columns : tuple of str
        Columns of a table of outputs that hold numbers which strengths are controlled for.
    people_columns : tuple of str
        Columns of annotators, or of tables of answers, that say something of the person who answered.
    criteria : tuple of str
        Columns of ratings that hold the scores, a criterion each.
    systems : mapping of str to str
        Columns of ratings that hold the scores, or of orders that hold the ranks, a system each -> the system.
    annotator_columns : tuple of str
        Columns that hold the scores (of choices the winners, of preferences the chances), an annotator each, who is
        called as the column is.
    cut_system : bool
        ``item_id`` names outputs: the name of the system is taken out of it.
    item_from : str, optional
        The same by a regular expression that fits ``item_id`` as a whole: its group ``item``, else its first, is the
        item.
    names : tuple of str
        Words such as NA that are names where they stand in a column of names.
    ends : {"included", "excluded"}, optional
        Whether the ``end`` of a marked error is its last character, or what follows it (the default).
    clean_outputs : bool
        Whether an output in which an annotator marked nothing has no errors, where they marked some in another output
        of its item; else it counts as not judged.
    weights : mapping of str to float
        Weights of marked errors by severity, by category, or by both (``category:severity``), which goes first, in any
        case of letters.
    asked : bool
        What no option settles is refused, as of files whose columns were found: names that may be one, systems that
        may be attention checks, scores that may be ranks. Annotators with names of LLMs are LLMs.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    output_columns: tuple[str, ...] = ()
    people_columns: tuple[str, ...] = ()
    numbers: tuple[float, float] | None = None
    sides: Sides | None = None
    criteria: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    annotator_columns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    cut_system: bool = False
    item_from: str | None = None
    llms: tuple[str, ...] = ()
    scales: tuple[Scale, ...] = ()
    unnamed: bool = False
    means: bool = False
    controls: tuple[str, ...] = ()
    system_roles: Mapping[str, UnrankedSystem | None] = field(default_factory=dict)
    same: tuple[str, ...] = ()
    people: Logins | None = None
    missing: tuple[str, ...] = ()
    rescale: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ends: Ends | None = None
    clean_outputs: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)
    asked: bool = False
