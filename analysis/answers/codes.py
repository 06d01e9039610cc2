"""Scores that look like codes for "no answer": -1, -99, 999 or a date's serial number beside a scale of few numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.scales import declared_scale
from analysis.answers.span_tables import COUNTED
from analysis.statistics.coding import Floats, Ints, tally
from spa.errors import shortened

Marks = npt.NDArray[np.bool_]
UNSCALED = (COUNTED, "category", "choice")  # elicitations whose scores have no scale: counts, and scores of options
NEGATIVE = frozenset((-77, -88, -97, -98, -99, -100, -777, -888, -997, -998, -999, -9999, -99999))
POSITIVE = frozenset((77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9999, 99999))
SERIALS = (20_000, 80_000)  # days since 1899, as spreadsheets store a date: 1954 to 2119
SMALLEST = 6  # answers on the scale that say what the scale is
MOST_REMOVED = 4  # different codes on each side of the scale
FAR = 5  # ranges of the scale by which any value is off it
RARE = 0.1  # largest share of values that are off a scale without being a known code
FEWEST = 4  # different scores, 0 among them, that are a scale
ENDS_AT = (5.0, 7.0)  # scales from 1 beside which 0 may mean nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCode:
    """A value that may stand for "no answer".

    ``low`` and ``high`` are the ends of the other values, ``only`` the annotator who alone gave it; ``far`` says that
    it lies off the scale, else it might be its end, and ``often`` that it is more frequent than the scores next to it.
    """

    kind: str  # what is answered: scores or preferences
    criterion: str
    value: float
    n: int
    n_all: int
    n_annotators: int
    n_all_annotators: int
    only: str | None
    low: float
    high: float
    far: bool
    often: bool = True


def value_counts(table: pl.DataFrame) -> pl.DataFrame:
    """Count the answers of each annotator: ``criterion, annotator_kind, annotator_id, value, n``.

    A criterion that is a count of errors, or has named options, has no scale and is left out.
    """
    answered = table.filter(pl.col("value").is_not_null()) if table["value"].has_nulls() else table
    if "elicitation" in table.columns and table["elicitation"].null_count() < table.height:
        unscaled = table.filter(pl.col("elicitation").is_in(UNSCALED))["criterion"].unique().to_list()
        answered = answered.filter(~pl.col("criterion").is_in(unscaled))
    keys = ["criterion", "annotator_id", "value"]
    counted = tally(answered, *keys, "annotator_kind")  # an annotator has one
    return counted.select(pl.col("criterion", "annotator_kind", "annotator_id").cast(pl.String), "value", "n").sort(
        keys
    )


def find_codes(counts: pl.DataFrame, scales: Sequence[Scale], kind: str = "scores") -> tuple[AnswerCode, ...]:
    """Return the values that may stand for "no answer", by criterion.

    Parameters
    ----------
    counts : DataFrame
        :func:`value_counts`.
    scales : sequence of Scale
        What was declared: a criterion with a scale has no codes, as all its scores lie on it.
    """
    found: list[AnswerCode] = []
    criteria, given = (counts[name].to_numpy() for name in ("criterion", "value"))
    for criterion in dict.fromkeys(counts["criterion"].to_list()):
        if declared_scale(scales, criterion) is not None:
            continue
        here = criteria == criterion
        values, of = np.unique(given[here], return_inverse=True)
        n = np.bincount(of, weights=counts["n"].to_numpy()[here], minlength=len(values)).astype(np.int64)
        inside, far = codes_among(values, n) if kind == "scores" else (_after_gap(values, n), False)
        often = not inside.all()
        if kind == "scores" and not often and is_zero_below(values, n):
            inside[0] = False
        for value in values[~inside].tolist():
            own = counts.filter(pl.col("criterion") == criterion)
            givers = own.filter(pl.col("value") == value)
            who = givers["annotator_id"].unique()
            found.append(
                AnswerCode(
                    kind=kind,
                    criterion=criterion,
                    value=value,
                    n=int(givers["n"].sum()),
                    n_all=int(n.sum()),
                    n_annotators=len(who),
                    n_all_annotators=own["annotator_id"].n_unique(),
                    only=who[0] if len(who) == 1 else None,
                    low=float(values[inside].min()),
                    high=float(values[inside].max()),
                    far=far,
                    often=often,
                )
            )
    return tuple(found)


def codes_among(values: Floats, n: Ints) -> tuple[Marks, bool]:
    """Tell which of different values, ascending, given ``n`` times each, lie on the scale, and whether others are far.

    A value is off a scale when it is negative beside a scale of whole numbers from 1 (or the only negative one beside
    one from 0 to 4 or more), a number people use for "missing" or a date's serial number that is as far from the others
    as they are from each other, or any number five times as far from a scale of few whole numbers from 1. 0 beside
    scores of 1 to 5 or 7 may be its end; it is told where it is more frequent than 1 and 2 together.

    >>> codes_among(np.array([-1.0, 1, 2, 3, 4, 5]), np.array([9, 5, 20, 30, 20, 5]))[0].tolist()
    [False, True, True, True, True, True]
    """
    best, most = (0, len(values)), min(MOST_REMOVED, len(values) - 1)
    whole = values % 1 == 0
    known = np.isin(values, [*NEGATIVE, *POSITIVE]) | ((values >= SERIALS[0]) & (values <= SERIALS[1]))
    for below in range(most + 1):
        for above in range(min(most, len(values) - 1 - below) + 1):
            within = below, len(values) - above
            if below + above > len(values) - (best[1] - best[0]) and _all_off(values, n, whole, known, *within):
                best = within
    if best == (0, len(values)):
        return _zero_apart(values, n), False
    inside = np.zeros(len(values), dtype=np.bool_)
    inside[slice(*best)] = True
    return inside, True


def _all_off(values: Floats, n: Ints, whole_at: Marks, known_at: Marks, start: int, end: int) -> bool:
    """Tell whether every value but those from ``start`` to ``end`` lies off the scale of these."""
    scale, times = values[start:end], n[start:end]
    if len(scale) < 2 or not (whole_at[:start].all() and whole_at[end:].all()) or times.sum() < SMALLEST:
        return False
    others, n_others, known = (np.concatenate([own[:start], own[end:]]) for own in (values, n, known_at))
    low, high = scale[0], scale[-1]
    width = high - low
    whole = bool(whole_at[start:end].all())
    few = whole and len(scale) >= 3 and len(scale) == width + 1
    negative = others < 0
    if not ((few and low >= 1) or (known | negative).all()):
        return False
    gaps = np.where(others < low, low - others, others - high)
    as_code = known & (gaps >= max(width, 10)) & (width <= 100) & ((others > 0) | (high > 0))
    if low >= 1 and few:
        as_negative = negative & ((others >= -9) | known)
    elif low >= 0 and (high >= 3 or (high <= 1 < width + (n_others.min() > 1) and not whole)):
        as_negative = negative & ((others == -1) | (known & (gaps >= 10)))
    else:
        as_negative = np.zeros(len(others), dtype=np.bool_)
    beside = negative & (-others <= high)
    once = n_others[beside].sum()
    tail = (high <= 3 and (low < 1 or once < 2)) or (low < 1 and high <= 5 and once <= times[0] <= times[1])
    if beside.sum() > 1 or (beside.any() and tail):  # a scale with two sides
        as_negative = np.zeros(len(others), dtype=np.bool_)
    rare = n_others <= RARE * n.sum()
    anything = rare & (gaps >= FAR * width) if few and low >= 1 and len(scale) <= 11 else np.zeros_like(rare)
    return bool((as_code | as_negative | anything).all())


def _zero_apart(values: Floats, n: Ints) -> Marks:
    """Tell 0 from a scale from 1 to 5 or 7 where it is more frequent than 1 and 2 together, though not than others."""
    inside = np.ones(len(values), dtype=np.bool_)
    if values[0] == 0 and values[-1] in ENDS_AT and len(values) == values[-1] + 1:
        inside[0] = not n[1] + n[2] < n[0] < n[3:].max()
    return inside


def is_zero_below(values: Floats, n: Ints) -> bool:
    """Tell whether 0 stands beside whole scores of 1 to 5 or 7, as the end of a scale or for no answer.

    Counts, of which 0 is the most frequent, are no scores.

    >>> is_zero_below(np.array([0.0, 1, 3, 5]), np.array([2, 5, 9, 4]))
    True
    """
    scores = len(values) >= FEWEST and values[0] == 0 and values[-1] in ENDS_AT
    return bool(scores and (values % 1 == 0).all() and n[0] < n[1:].max())


def _after_gap(values: Floats, n: Ints) -> Marks:
    """Tell preferences of 0 from others where there is nothing up to 0.25, most lie above 0.5 and none is 1."""
    inside = np.ones(len(values), dtype=np.bool_)
    if len(values) > 3 and values[0] == 0 and values[1] >= 0.25 and values[-1] < 1 and n[0] >= 3:
        inside[0] = np.median(np.repeat(values[1:], n[1:])) <= 0.5
    return inside


def _date(serial: float) -> date:
    """Return the day that a spreadsheet stores as a number.

    >>> _date(45416).isoformat()
    '2024-05-04'
    """
    return date(1899, 12, 30) + timedelta(days=int(serial))


def code_words(codes: Sequence[AnswerCode]) -> Iterator[str]:
    """Word one caveat for each value, whatever the criteria."""
    together: dict[tuple[str, float, bool, bool], list[AnswerCode]] = {}
    for one in codes:
        together.setdefault((one.kind, one.value, one.far, one.often), []).append(one)
    for (kind, value, far, often), own in together.items():
        n, n_all = sum(one.n for one in own), sum(one.n_all for one in own)
        most = max(own, key=lambda one: one.n_annotators)
        only = {one.only for one in own}
        whose = (
            f"all by {shortened(str(most.only), 40)}"
            if len(only) == 1 and most.only is not None and most.n_all_annotators > 1
            else ""
            if most.n_all_annotators == 1
            else f"by {most.n_annotators:,} of {most.n_all_annotators:,} annotators"
        )
        names = [one.criterion for one in own]
        about = "" if names == ["overall"] else f" of {shortened(', '.join(names), 60)}"
        low, high = min(one.low for one in own), max(one.high for one in own)
        day = f", in spreadsheets the date {_date(value)}," if SERIALS[0] <= value <= SERIALS[1] else ""
        start = (
            f"{value:g}{day} stands in {n:,} of {n_all:,} {kind}{about} ({n / n_all:.0%}{', ' if whose else ''}{whose})"
        )
        if far:
            ends = f"{min(low, value):g}:{max(high, value):g}"
            yield (
                f"{start}, far off the others ({low:g} to {high:g}), and counts as a number. If it means no answer, "
                f"add --missing {value:g}; if it is on the scale, --scale {ends}."
            )
        elif kind == "preferences":
            yield (
                f"{start}, and none between it and {low:g}: 0 may stand for a page whose time ran out. If so, add "
                f"--missing {value:g}."
            )
        else:
            how = "more often than 1 and 2 together" if often else f"beside {low:g} to {high:g}, and counts as a score"
            yield f"{start}, {how}. If it means no answer, add --missing {value:g}; if not, --scale {value:g}:{high:g}."
