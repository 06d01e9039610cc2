"""Sums of a table of ratings or choices, from which it is analysed; parts are added to each other exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.input_files import InputFile
from analysis.answers.order import Order
from analysis.answers.rescaling import Rescaled
from analysis.answers.same_names import NearNames
from analysis.statistics.record import AnnotatorKind

LargeKind: TypeAlias = Literal["preferences", "ratings", "choices"]
RaterCounts: TypeAlias = Mapping[tuple[str, str], dict[str, Any]]  # by group and criterion
SummedKind: TypeAlias = Literal["ratings", "choices"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueTotals:
    """Counts and sums of values by what they are about: a system, or two systems ``x`` before ``y`` in the order.

    All frames begin with ``group``, ``criterion`` and ``system`` (or ``x`` and ``y``), which number the entries of
    the totals' ``order``; rows are sorted by their numbers. ``n`` counts values and ``total`` adds them up. Frames of
    pairs have ``above`` and ``tied``, too: how often x is better (a difference above 0, a share above one half), and
    how often neither is.

    Attributes
    ----------
    overall : DataFrame
        Also ``squares``: squared distances from the mean, added up. Of pairs of ratings also ``squares_x``,
        ``squares_y`` and ``product``: of the ratings that lie side by side, squares and products of their distances
        from the means of all ratings of x and of y, added up.
    annotator, assignment, item : DataFrame
        Sums by unit, whose column has the unit's name and numbers it from 0. An assignment belongs to one annotator;
        its frame holds LLMs' alone (people's unit is the annotator). Also ``squares``: values squared, added up. Of
        scores also ``packed_0`` and so on, in which each option was counted (``PACKED`` of
        :mod:`analysis.sums.adding`).
    clusters : DataFrame
        What one annotator gave to one item is a cluster. Of the ``clusters`` of an ``annotator`` with ``n`` values
        each, ``squares`` adds up the squared distances of their sums from n times the mean of the annotators' means.
    visits : DataFrame
        The same of an ``assignment`` and an item, LLMs' alone, about the mean of assignments' means.
    weighed : DataFrame
        By ``item``, where annotators (of few LLMs: assignments) gave different numbers n of values: ``share`` adds up
        1 / n, ``square`` 1 / n², ``total`` the values / n, and of pairs ``higher`` 1 / n where x is better, half where
        neither is; ``share``, ``total`` and ``higher`` in one unknown unit.
    """

    overall: pl.DataFrame
    annotator: pl.DataFrame
    assignment: pl.DataFrame
    item: pl.DataFrame
    clusters: pl.DataFrame
    visits: pl.DataFrame
    weighed: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableTotals:
    """What is known of a table in parts besides its answers.

    Attributes
    ----------
    order : Order
        Groups, criteria and systems as numbered.
    groups : tuple of (str, str)
        Group and ``annotator_kind``, in the order of the results.
    missing : DataFrame
        ``group, criterion, reason, level: n``: answers that cannot be used.
    missing_systems : DataFrame
        ``system_x, system_y``: which systems these are about, of ratings the same twice.
    seen : DataFrame
        ``group, annotators, assignments``: how many are in the table, those with missing answers, too. Assignments are
        counted where they have ids.
    counted : mapping of (str, str) to dict
        What :func:`analysis.results.rater_table.count_answers` counts.
    columns : DataFrame
        ``group, criterion, column, value: n``: what ``elicitation``, ``form``, ``readout``, ``variant`` and ``visit``
        say, rows counted, those with missing answers, too. Names, no numbers.
    empty_parts, n_parts : int
        Parts without a row, and all.
    absent : frozenset of (str, str or None)
        Annotators and assignments of the tables beside that have no answers.
    near_names : tuple of NearNames
        Names of systems, criteria and (where these are few) annotators that are nearly the same.
    """

    kind: LargeKind
    order: Order
    groups: tuple[tuple[str, AnnotatorKind], ...]
    missing: pl.DataFrame
    missing_systems: pl.DataFrame
    seen: pl.DataFrame
    counted: RaterCounts
    columns: pl.DataFrame
    inputs: tuple[InputFile, ...] = ()
    empty_parts: int = 0
    n_parts: int = 1
    scales: tuple[Scale, ...] = ()
    absent: frozenset[tuple[str, str | None]] = frozenset()
    near_names: tuple[NearNames, ...] = ()
    missing_codes: tuple[str, ...] = ()
    comparison_ends: tuple[float, float] | None = None
    rescaled: tuple[Rescaled, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerSums:
    """What of :class:`AnswerTotals` statistics need, of parts as of a table in memory."""

    kind: SummedKind
    order: Order
    groups: tuple[tuple[str, AnnotatorKind], ...]
    scores: ValueTotals | None
    pairs: ValueTotals
    counts: pl.DataFrame
    layout: pl.DataFrame
    scale: pl.DataFrame
    options: pl.DataFrame
    sampled: frozenset[tuple[str, str]]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerTotals(TableTotals):
    """Sufficient statistics of one table of ratings or choices; the same for any split of it into parts.

    Counts are exact. Values are added up exactly, too, as whole multiples of 1e-13 to 1e-14 of the largest of their
    group and criterion (whole numbers and scores of few decimals are such multiples), and rounded once at the end.

    Attributes
    ----------
    scores : ValueTotals or None
        Ratings: of cells (repeats averaged), by system.
    pairs : ValueTotals
        Ratings: differences x minus y of what one annotator (in one assignment and variant) rated on one item,
        samples averaged; choices: shares that x won (a tie is half), of cells. For every two systems that met.
    counts : DataFrame
        Ratings: ``group, criterion, system, score: n``, as many as there are in ``listed`` parts; choices:
        ``group, criterion, x, y, score: n`` with score 1, 0.5 and 0. Of cells.
    layout : DataFrame
        ``group, criterion: clusters, blocks, answers``: combinations of an annotator and an item, these with assignment
        and variant, and answers, repeats too, counted.
    scale : DataFrame
        ``group, criterion, scale``: largest size of a score; 1 of choices.
    options : DataFrame
        ``group, criterion, value, option``: the different scores, ascending and numbered, where these are few.
    sampled : frozenset of (str, str)
        Groups and criteria with several samples of outputs.
    repeated : int
        People who answered one question in two assignments.
    stand_in, stand_in_units : DataFrame
        ``criterion, group, annotator`` and ``criterion, group: n``: each person beside each LLM, the sums of
        :class:`analysis.llm_vs_people.alternative_annotator.AnnotatorSums`; no rows where nobody was compared.
    sizes : dict of str to int
        One more than the largest number of an annotator, assignment and item.
    names : DataFrame or None
        ``annotator, annotator_id`` where they are few.
    """

    kind: SummedKind
    scores: ValueTotals | None
    pairs: ValueTotals
    counts: pl.DataFrame
    layout: pl.DataFrame
    scale: pl.DataFrame
    options: pl.DataFrame
    sampled: frozenset[tuple[str, str]]
    repeated: int
    stand_in: pl.DataFrame
    stand_in_units: pl.DataFrame
    sizes: Mapping[str, int]
    names: pl.DataFrame | None
