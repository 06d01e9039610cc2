"""The sums of one group and criterion, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.equal_weights import AnnotatorTotals
from analysis.answers.units import Unit, who_answers
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import why
from analysis.statistics.record import names_of
from analysis.statistics.weighed_items import WeighedItems
from analysis.sums.adding import PACKED, ROOM
from analysis.sums.grid import PART, UNITS
from analysis.sums.totals import AnswerSums, AnswerTotals, SummedKind, ValueTotals

ADDED = ("n", "total", "above", "tied")  # by pair and unit
SINGLE = why("needs_single_answers")
PAIR = "pair"  # x * number of systems + y
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CriterionSums:
    """Sums of one group and criterion by system (ratings) and by pair, each overall and by unit.

    ``clusters`` counts combinations of an annotator and an item, ``blocks`` these with assignment and variant, and
    ``answers`` all with repeats;
    ``scale`` is the largest size of an answer, ``options`` are the different scores, ascending, where these are few,
    and ``sampled`` says that there are several samples of outputs. ``n_annotators`` have an answer. Where only some
    pairs are kept, ``listed`` holds what x * n_systems + y is of each, and they are numbered in this order.
    """

    kind: SummedKind
    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    scale: float
    scores: Mapping[str, Columns]
    pairs: Mapping[str, Columns]
    counts: Columns
    options: Floats
    sampled: bool
    n_annotators: int
    clusters: int
    blocks: int
    answers: int
    listed: Ints | None = None

    @property
    def n_pairs(self) -> int:
        """One more than the largest number of a pair."""
        return len(self.systems) ** 2 if self.listed is None else len(self.listed)


class SumsWhenAsked(Mapping[str, Columns]):
    """Sums by name; those of ``later`` are added up when they are first asked for."""

    def __init__(self, known: Mapping[str, Columns], later: Mapping[str, Callable[[], Columns]]) -> None:
        self._known, self._later = {**known}, {**later}

    def __getitem__(self, name: str) -> Columns:
        if name in self._later:
            self._known[name] = self._later.pop(name)()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def by_criterion(totals: AnswerTotals | AnswerSums) -> Iterator[CriterionSums]:
    """Yield the groups and criteria that have answers, in the order of the results."""
    order, kinds, k = totals.order, dict(totals.groups), len(totals.order.systems)
    scores, pairs, counts = _placed(totals.scores, k), _placed(totals.pairs, k), Placed.of(totals.counts, k)
    sizes = {(group, criterion): scale for group, criterion, scale in _rows(totals.scale, *PART, "scale")}
    asked = [totals.options[name].to_numpy() for name in (*PART, "value")]
    layout = _rows(totals.layout, *PART, "clusters", "blocks", "answers")
    for group, criterion, clusters, blocks, answers in layout:
        place = (group, criterion)
        names = order.groups[group], order.criteria[criterion]
        by_system, by_pair = ({name: frame.at(place) for name, frame in own.items()} for own in (scores, pairs))
        yield CriterionSums(
            kind=totals.kind,
            group=names[0],
            criterion=names[1],
            llm=kinds[names[0]] == "llm",
            systems=order.systems,
            scale=sizes[names],
            scores=by_system,
            pairs=by_pair,
            counts=counts.at(place),
            options=asked[2][(asked[0] == group) & (asked[1] == criterion)],
            sampled=names in totals.sampled,
            n_annotators=len(np.unique((by_system or by_pair)["annotator"]["annotator"])),
            clusters=clusters,
            blocks=blocks,
            answers=answers,
        )


def _rows(frame: pl.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(frame[name].to_list() for name in names), strict=True)


def ways_of_totals(totals: AnswerTotals) -> dict[str, str | None]:
    """Return how each criterion was asked, as far as the table says it."""
    asked = totals.columns.filter(pl.col("column") == "elicitation").select("criterion", "value").unique().sort("value")
    return dict.fromkeys(totals.order.criteria) | dict(asked.iter_rows())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """Columns of a frame sorted by group and criterion, and where the rows of each begin and end."""

    columns: Columns
    places: Mapping[tuple[int, int], slice]

    @classmethod
    def of(cls, frame: pl.DataFrame, k: int) -> Placed:
        """Return the columns of a frame; ``k`` systems are compared."""
        found = {one.name: one.to_numpy() for one in frame.iter_columns()}
        group, criterion = (found.pop(name) for name in PART)
        found = {name: one.astype(np.int64) if one.dtype == np.int32 else one for name, one in found.items()}
        if "x" in found:
            found[PAIR] = found.pop("x") * k + found.pop("y")
        later = (group[1:] != group[:-1]) | (criterion[1:] != criterion[:-1])
        begins = np.flatnonzero(np.concatenate([np.ones(min(len(group), 1), dtype=np.bool_), later]))
        keys = zip(group[begins].tolist(), criterion[begins].tolist(), strict=True)
        ends = np.append(begins[1:], len(group))[: len(begins)]
        rows = (slice(*both) for both in zip(begins.tolist(), ends.tolist(), strict=True))
        return cls(columns=found, places=dict(zip(keys, rows, strict=True)))

    def at(self, place: tuple[int, int]) -> Columns:
        """Return the rows of a group and criterion."""
        own = self.places.get(place, slice(0, 0))
        return {name: column[own] for name, column in self.columns.items()}


def _placed(values: ValueTotals | None, k: int) -> dict[str, Placed]:
    return {} if values is None else {name: Placed.of(getattr(values, name), k) for name in names_of(ValueTotals)}


def options_known(part: CriterionSums, unit: str) -> bool:
    """Return whether it is known how often each option was given."""
    n = part.scores[unit]["n"]
    return len(part.options) > 0 and part.answers == n.sum() and int(n.max()) < 1 << ROOM


def option_counts(part: CriterionSums, unit: str) -> Ints | None:
    """Return how often each option was given, by row of the scores of a unit; ``None`` where that is not known.

    Returns
    -------
    array of int, shape (n_rows, n_options), or None
        Scores have too many options, some are repeated and so averaged, or a row has too many answers.
    """
    if not options_known(part, unit):
        return None
    own, n_options = part.scores[unit], len(part.options)
    counts = [own[f"packed_{n // PACKED}"] >> ROOM * (n % PACKED) & (1 << ROOM) - 1 for n in range(n_options)]
    return np.stack(counts).astype(np.int64, copy=False).T  # columns lie together, as they are added up


def squares_about_mean(n: Ints | Floats, total: Floats, squares: Floats, scale: float) -> Floats:
    """Return the squared distances of scores from their mean, added up; what is 0 in exact arithmetic is 0."""
    rest: Floats = squares - total**2 / n
    noise = snap(rest, scale=scale**2 * float(n.max(initial=1)), digits=13) == 0
    return np.where(noise, 0.0, rest)


def distances(means: Floats, middle: Floats | float, scale: float) -> Floats:
    """Return how far means lie from the middle, with all their digits; what is 0 in exact arithmetic is 0."""
    away: Floats = means - middle
    return np.where(snap(away, scale=scale, digits=13) == 0, 0.0, away)


def sums_of_pairs(part: CriterionSums, listed: Ints) -> CriterionSums:
    """Keep the sums of some pairs, ascending."""
    pairs = {}
    for name, columns in part.pairs.items():
        place = np.searchsorted(listed, columns[PAIR])
        there = np.flatnonzero(np.append(listed, -1)[place] == columns[PAIR])
        kept = slice(None) if len(there) == len(place) else there
        pairs[name] = {column: values[kept] for column, values in columns.items()} | {PAIR: place[kept]}
    return replace(part, pairs=pairs, listed=listed)


def rows_of_units(pairs: Mapping[str, Columns], kind: Ints) -> dict[str, npt.NDArray[Any]]:
    """Return the sums of each pair by its own unit.

    Parameters
    ----------
    pairs : mapping of str to columns
        Sums by unit.
    kind : array of int, shape (n_pairs,)
        Unit of each pair, as a place in ``UNITS``.
    """
    kept, there = [], np.unique(kind).tolist() or [0]
    for place in there:
        own = pairs[unit := UNITS[place]]
        rows: Any = slice(None) if len(there) == 1 else kind[own[PAIR]] == place
        kept.append({"unit": own[unit][rows], **{name: own[name][rows] for name in (PAIR, *ADDED)}})
    return {name: np.concatenate([own[name] for own in kept]) for name in kept[0]}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EqualSums:
    """What tests in which every annotator (of few LLMs: assignment) weighs the same need, of all pairs (systems).

    Attributes
    ----------
    key : str
        Column that numbers the pairs (systems).
    by_unit : columns
        Sums by annotator (assignment), and each one's ``weight`` of a value.
    people : array of int, shape (n,)
        How many there are of each pair (system).
    uneven : array of bool, shape (n,)
        Whether some gave more values than others.
    items : columns
        ``item``, and of its values the weights (``share``), squared weights (``square``) and weighted values
        (``total``, of pairs also ``higher``), added up.
    """

    key: str
    who: Unit
    by_unit: Columns
    people: Ints
    uneven: npt.NDArray[np.bool_]
    items: Columns

    def of(self, number: int, columns: Columns) -> Columns:
        """Return the rows of one pair (system), of columns that are sorted by it."""
        start, end = np.searchsorted(columns[self.key], (number, number + 1))
        return {name: column[start:end] for name, column in columns.items()}


def equal_sums(part: CriterionSums, of: Literal["scores", "pairs"], who: Unit) -> EqualSums:
    """Return the sums of all pairs, or systems, with everybody weighing the same."""
    values: Mapping[str, Columns] = getattr(part, of)
    key, n_about = (PAIR, part.n_pairs) if of == "pairs" else ("system", len(part.systems))
    own = values[who]
    about = own[key]
    people = np.bincount(about, minlength=n_about).astype(np.int64)
    least, most = np.full(n_about, np.inf), np.zeros(n_about)
    np.minimum.at(least, about, own["n"])
    np.maximum.at(most, about, own["n"])
    uneven = least < most
    weighed = values["weighed"]
    unit = np.bincount(weighed[key], weights=weighed["share"], minlength=n_about)[weighed[key]]
    places = {"share": unit, "square": people[weighed[key]] ** 2.0, "total": unit}
    if of == "pairs":
        places["higher"] = unit
    items = {name: weighed[name] for name in (key, "item")}
    items |= {name: weighed[name] / by for name, by in places.items()}
    if not (kept := uneven[weighed[key]]).all():
        items = {name: column[kept] for name, column in items.items()}
    if people[~uneven].any():
        even = _even_items(values["item"], key, ~uneven, np.bincount(about, weights=own["n"], minlength=n_about))
        items = {name: np.concatenate([even[name], column]) for name, column in items.items()}
    if np.any(np.diff(items[key]) < 0):
        order = np.argsort(items[key], kind="stable")
        items = {name: column[order] for name, column in items.items()}
    with_weight = {**own, "weight": 1 / (people[about] * own["n"])}
    return EqualSums(key=key, who=who, by_unit=with_weight, people=people, uneven=uneven, items=items)


def _even_items(plain: Columns, key: str, even: npt.NDArray[np.bool_], n: npt.NDArray[Any]) -> Columns:
    """Return the items of pairs (systems) of which everybody gave as many values; ``n`` are all values of each."""
    rows = even[plain[key]]
    own = {name: column[rows] for name, column in plain.items() if name in (key, "item", *ADDED)}
    every = n[own[key]]
    found = {name: own[name] for name in (key, "item")}
    found |= {"share": own["n"] / every, "square": own["n"] / every**2, "total": own["total"] / every}
    if "above" in own:
        found["higher"] = (own["above"] + own["tied"] / 2) / every
    return found


def people_of_pair(equal: EqualSums, number: int) -> AnnotatorTotals:
    """Return the sums of one pair (system) by annotator (assignment)."""
    own = equal.of(number, equal.by_unit)
    count = own["n"].astype(np.float64)
    answers = own["answers"].astype(np.float64) if "answers" in own else count
    return AnnotatorTotals(who=own[equal.who], count=count, total=own["total"], answers=answers)


def items_of_pair(equal: EqualSums, number: int, *, scale: float) -> WeighedItems:
    """Return the weighed values of one pair by item."""
    own = equal.of(number, equal.items)
    mean = snap(own["total"] / own["share"], scale=scale, digits=13)
    return WeighedItems(mean=mean, share=own["share"], square=own["square"])


def votes_of(part: CriterionSums) -> Unit:
    """Return who has one vote."""
    return who_answers(llm=part.llm, n_annotators=part.n_annotators)


def counted_outcomes(part: CriterionSums, unit: Unit) -> dict[str, Any]:
    """Count how often x won, tied and lost, by pair and unit.

    Of averaged choices, those that are no ties are one outcome: the mean share that x won.
    """
    own, k = part.pairs[unit], len(part.systems)
    nothing, tied, above = np.zeros(len(own["n"])), own["tied"], own["above"]
    if part.kind == "choices" and not np.array_equal(own["total"], above + tied / 2):
        untied = own["n"] - tied
        share = (own["total"] - tied / 2) / np.maximum(untied, 1)
        apart = np.where(share == 0.5, 0.25, 0.0)  # one half would be a tie
        outcomes = [(share - apart, untied / 2), (share + apart, untied / 2), (nothing + 0.5, tied)]
    else:
        outcomes = [(nothing, own["n"] - above - tied), (nothing + 0.5, tied), (nothing + 1, above)]
    won, times = (np.concatenate(column) for column in zip(*outcomes, strict=True))
    pair, of = (np.tile(own[name], len(outcomes)) for name in (PAIR, unit))
    there = times > 0
    return {
        "x": pair[there] // k,
        "y": pair[there] % k,
        "won": won[there],
        "of_unit": of[there],
        "weights": times[there].astype(np.float64),
    }
