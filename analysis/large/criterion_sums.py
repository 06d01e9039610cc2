"""The sums of one group and criterion, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.equal_weights import AnnotatorTotals
from analysis.answers.units import Unit, who_answers
from analysis.large.adding import PACKED, PART, ROOM
from analysis.large.totals import AnswerTotals, SummedKind, ValueTotals
from analysis.rating_checks.crossed import ClusterSquares, crossed_of_squares, items_by_pair
from analysis.rating_checks.many_tests import Flags, ManyTests
from analysis.rating_checks.pair_differences import UNITS, pair_lookup
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.record import names_of
from analysis.statistics.weighed_items import WeighedItems

ADDED = ("n", "total", "above", "tied")  # by pair and unit
PAIR = "pair"  # x * number of systems + y
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]
Places: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]  # first row and number of rows by group and criterion


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CriterionSums:
    """Sums of one group and criterion by system (ratings) and by pair, each overall and by unit.

    ``clusters`` counts combinations of an annotator and an item, ``blocks`` these with assignment and variant, and
    ``answers`` all with repeats;
    ``scale`` is the largest size of an answer, ``options`` are the different scores, ascending, where these are few,
    and ``sampled`` says that there are several samples of outputs.
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
    clusters: int
    blocks: int
    answers: int

    @property
    def n_annotators(self) -> int:
        """Annotators with an answer."""
        return len(np.unique((self.scores or self.pairs)["annotator"]["annotator"]))


def by_criterion(totals: AnswerTotals) -> Iterator[CriterionSums]:
    """Yield the groups and criteria that have answers, in the order of the results."""
    order, kinds, k = totals.order, dict(totals.groups), len(totals.order.systems)
    scores, pairs, counts = _placed(totals.scores), _placed(totals.pairs), _places(totals.counts)
    sizes = {(group, criterion): scale for group, criterion, scale in totals.scale.select(*PART, "scale").iter_rows()}
    layout = totals.layout.select(*PART, "clusters", "blocks", "answers")
    for group, criterion, clusters, blocks, answers in layout.iter_rows():
        place = (group, criterion)
        names = order.groups[group], order.criteria[criterion]
        yield CriterionSums(
            kind=totals.kind,
            group=names[0],
            criterion=names[1],
            llm=kinds[names[0]] == "llm",
            systems=order.systems,
            scale=sizes[names],
            scores={name: _columns(*frame, place, k) for name, frame in scores.items()},
            pairs={name: _columns(*frame, place, k) for name, frame in pairs.items()},
            counts=_columns(totals.counts, counts, place, k),
            options=totals.options.filter(group=group, criterion=criterion)["value"].to_numpy(),
            sampled=names in totals.sampled,
            clusters=clusters,
            blocks=blocks,
            answers=answers,
        )


def ways_of_totals(totals: AnswerTotals) -> dict[str, str | None]:
    """Return how each criterion was asked, as far as the table says it."""
    asked = totals.columns.filter(pl.col("column") == "elicitation").select("criterion", "value").unique().sort("value")
    return dict.fromkeys(totals.order.criteria) | dict(asked.iter_rows())


def _placed(values: ValueTotals | None) -> dict[str, tuple[pl.DataFrame, Places]]:
    frames = {} if values is None else {name: getattr(values, name) for name in names_of(ValueTotals)}
    return {name: (frame, _places(frame)) for name, frame in frames.items()}


def _places(frame: pl.DataFrame) -> Places:
    """Return where the rows of each group and criterion begin, and how many there are."""
    counted = frame.group_by(PART, maintain_order=True).len()
    ends = counted["len"].cum_sum().to_list()
    return {
        (group, criterion): (end - n, n) for (group, criterion, n), end in zip(counted.iter_rows(), ends, strict=True)
    }


def _columns(frame: pl.DataFrame, places: Places, place: tuple[int, int], k: int) -> Columns:
    start, n = places.get(place, (0, 0))
    own = [column.slice(start, n) for column in frame.iter_columns() if column.name not in PART]
    found = {one.name: (one.cast(pl.Int64) if one.dtype == pl.Int32 else one).to_numpy() for one in own}
    if "x" in found:
        found[PAIR] = found.pop("x") * k + found.pop("y")
    return found


def option_counts(part: CriterionSums, unit: str) -> Ints | None:
    """Return how often each option was given, by row of the scores of a unit; ``None`` where that is not known.

    Returns
    -------
    array of int, shape (n_rows, n_options), or None
        Scores have too many options, some are repeated and so averaged, or a row has too many answers.
    """
    own, n_options = part.scores[unit], len(part.options)
    if not n_options or part.answers != own["n"].sum() or own["n"].max() >= 1 << ROOM:
        return None
    counts = [own[f"packed_{n // PACKED}"] >> ROOM * (n % PACKED) & (1 << ROOM) - 1 for n in range(n_options)]
    return np.stack(counts, axis=1).astype(np.int64)


def squares_about_mean(n: Ints | Floats, total: Floats, squares: Floats, scale: float) -> Floats:
    """Return the squared distances of scores from their mean, added up; what is 0 in exact arithmetic is 0."""
    rest: Floats = squares - total**2 / n
    noise = snap(rest, scale=scale**2 * float(n.max(initial=1)), digits=13) == 0
    return np.where(noise, 0.0, rest)


def rows_of_units(pairs: Mapping[str, Columns], kind: Ints, k: int) -> dict[str, npt.NDArray[Any]]:
    """Return the sums of each pair by its own unit.

    Parameters
    ----------
    pairs : mapping of str to columns
        Sums by unit.
    kind : array of int, shape (k * k,)
        Unit of each pair, as a place in ``UNITS``.
    k : int
        Number of systems.
    """
    kept = []
    for place, unit in enumerate(UNITS):
        own = pairs[unit]
        there = kind[own[PAIR]] == place
        kept.append({"unit": own[unit][there], **{name: own[name][there] for name in (PAIR, *ADDED)}})
    return {name: np.concatenate([rows[name] for rows in kept]) for name in kept[0]}


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
    uneven: Flags
    items: Columns

    def of(self, number: int, columns: Columns) -> Columns:
        """Return the rows of one pair (system)."""
        own = columns[self.key] == number
        return {name: column[own] for name, column in columns.items()}


def equal_sums(part: CriterionSums, of: Literal["scores", "pairs"], who: Unit) -> EqualSums:
    """Return the sums of all pairs, or systems, with everybody weighing the same."""
    values: Mapping[str, Columns] = getattr(part, of)
    key, n_about = (PAIR, len(part.systems) ** 2) if of == "pairs" else ("system", len(part.systems))
    own = values[who]
    about = own[key]
    people = np.bincount(about, minlength=n_about).astype(np.int64)
    least, most = np.full(n_about, np.inf), np.zeros(n_about)
    np.minimum.at(least, about, own["n"])
    np.maximum.at(most, about, own["n"])
    uneven = least < most
    plain, weighed = values["item"], values["weighed"]
    alike, kept = ~uneven[plain[key]], uneven[weighed[key]]
    n = np.bincount(about, weights=own["n"], minlength=n_about)[plain[key][alike]]
    unit = np.bincount(weighed[key], weights=weighed["share"], minlength=n_about)[weighed[key]]
    count, places = plain["n"][alike], {"share": unit, "total": unit, "square": people[weighed[key]] ** 2.0}
    even = {"share": count / n, "square": count / n**2, "total": plain["total"][alike] / n}
    if of == "pairs":
        places["higher"] = unit
        even["higher"] = (plain["above"][alike] + plain["tied"][alike] / 2) / n
    rows = {name: np.concatenate([even[name], (weighed[name] / places[name])[kept]]) for name in even}
    ids = {name: np.concatenate([plain[name][alike], weighed[name][kept]]) for name in (key, "item")}
    with_weight = {**own, "weight": 1 / (people[about] * own["n"])}
    return EqualSums(key=key, who=who, by_unit=with_weight, people=people, uneven=uneven, items={**ids, **rows})


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


def crossed_tests_of(part: CriterionSums, x: Ints, y: Ints, *, against: float, confidence: float) -> ManyTests:
    """Test the pairs of systems x and y over annotators (of few LLMs: assignments) and items at once."""
    overall, number = part.pairs["overall"], pair_lookup(x, y, len(part.systems)).ravel()
    place = number[overall[PAIR]]
    n, same = np.zeros(len(x), dtype=np.int64), np.zeros(len(x), dtype=np.bool_)
    n[place], same[place] = overall["n"], overall["squares"] == 0
    who = votes_of(part)
    equal = equal_sums(part, "pairs", who)

    def added(pair: Ints, values: Floats) -> Floats:
        return np.bincount(pair, weights=values, minlength=len(x)).astype(np.float64)

    own, of_own, of_item = equal.by_unit, number[equal.by_unit[PAIR]], number[equal.items[PAIR]]
    people = np.bincount(of_own, minlength=len(x)).astype(np.int64)
    with np.errstate(all="ignore"):
        mean = added(of_own, own["total"] / own["n"]) / people
    rest = snap(own["total"] / own["n"] - mean[of_own], scale=part.scale, digits=13) / people[of_own]
    annotators = ClusterSquares(squares=added(of_own, rest**2), clusters=people)
    both = part.pairs["clusters" if who == "annotator" else "visits"]
    of_both, weight = number[both[PAIR]], weights_of(equal, both)
    cells = ClusterSquares(
        squares=added(of_both, weight**2 * both["squares"]),
        clusters=added(of_both, both["clusters"]).astype(np.int64),
    )
    shares = added(of_both, weight**2 * both["n"] ** 2 * both["clusters"])
    columns = (equal.items["share"], equal.items["square"])
    of_items = snap(equal.items["total"] - columns[0] * mean[of_item], scale=part.scale, digits=13)
    items = items_by_pair(of_item, *columns, of_items, shares)
    return crossed_of_squares(n, mean, annotators, items, cells, same=same, against=against, confidence=confidence)


def weights_of(equal: EqualSums, rows: Columns) -> Floats:
    """Return the weight of a value of the annotator (assignment) of each row."""
    width = 1 + max(int(columns[equal.who].max(initial=0)) for columns in (equal.by_unit, rows))
    known = equal.by_unit[equal.key] * width + equal.by_unit[equal.who]
    order = np.argsort(known)
    place = np.searchsorted(known, rows[equal.key] * width + rows[equal.who], sorter=order)
    weights: Floats = equal.by_unit["weight"][order[place]]
    return weights


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
