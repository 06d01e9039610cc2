"""Scores of annotators who used a scale of their own, mapped onto the scale of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.answers.columns import Check
from analysis.answers.options import Reading
from analysis.answers.scales import declared_scale
from analysis.statistics.record import Record
from spa.errors import ArgumentProblem, shortened


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rescaled(Record):
    """An annotator's scores of a criterion, mapped by a straight line from one scale to another."""

    annotator_id: str
    criterion: str
    low: float
    high: float
    """Ends of the annotator's own scale."""
    to_low: float
    to_high: float
    """Ends of the others' scale: as declared, else their lowest and highest score, to whole numbers."""


def own_scales(check: Check, rescale: Mapping[str, tuple[float, float]]) -> None:
    """Refuse scores off the scale that their annotator is said to have used."""
    for annotator, (low, high) in rescale.items():
        outside = (pl.col("annotator_id") == annotator) & ((pl.col("value") < low) | (pl.col("value") > high))
        check.refuse(outside, "score", f"score of {shortened(annotator, 40)} must lie in [{low:g}, {high:g}]")


def rescale_scores(check: Check, reading: Reading, *, others: bool = True) -> tuple[Rescaled, ...]:
    """Map the scores of some annotators onto the scale of the others, criterion by criterion.

    Parameters
    ----------
    check : Check
        Of ratings with ``value``; its frame is changed, its problems name annotators who are not there and criteria
        whose scale is unknown.
    reading : Reading
        ``rescale``: own scales by annotator; ``scales``.
    others : bool
        Whether all answers are there, so that a scale that is not declared is that of the others: people without a
        scale of their own, or LLMs where there are no such people.
    """
    if not reading.rescale:
        return ()
    frame, own = check.frame, [*reading.rescale]
    there = set(frame["annotator_id"].unique().cast(pl.String).to_list())
    if others:
        check.problems += unmet_annotators(reading.rescale, there, check.place)
    concerned = frame.filter(pl.col("annotator_id").is_in(own), pl.col("value").is_not_null())
    pairs = (
        concerned.select(pl.col("annotator_id", "criterion").cast(pl.String)).unique().sort("criterion", "annotator_id")
    )
    targets = {one: _target(frame, reading, one, others=others) for one in pairs["criterion"].unique().sort().to_list()}
    unknown = [name for name, target in targets.items() if target is None]
    if unknown:
        check.problems.append(
            ArgumentProblem(
                "rescale",
                after=f": {check.place} does not say the scale of the others on {shortened(', '.join(unknown), 100)}; "
                "declare it (scale LOW:HIGH)",
            )
        )
        return ()
    found = tuple(
        Rescaled(
            annotator_id=who,
            criterion=name,
            low=reading.rescale[who][0],
            high=reading.rescale[who][1],
            to_low=target[0],
            to_high=target[1],
        )
        for who, name in pairs.iter_rows()
        if (target := targets[name]) is not None
    )
    value = pl.col("value")
    for one in found:
        concern = (pl.col("annotator_id") == one.annotator_id) & (pl.col("criterion") == one.criterion)
        share = (value - one.low) / (one.high - one.low)
        mapped = one.to_low + share * (one.to_high - one.to_low)
        frame = frame.with_columns(pl.when(concern).then(mapped).otherwise(value).alias("value"))
    check.frame = frame
    return found


def unmet_annotators(rescale: Mapping[str, tuple[float, float]], there: set[str], place: str) -> list[str]:
    """Return a problem for each annotator with a scale of their own who gave no score."""
    return [
        ArgumentProblem(
            "rescale",
            in_python=f"={{{name!r}: ...}}",
            in_command=f" {shortened(name)}=...",
            after=f": {place} has no annotator {shortened(repr(name))}",
        )
        for name in sorted(rescale.keys() - there)
    ]


def _target(frame: pl.DataFrame, reading: Reading, criterion: str, *, others: bool) -> tuple[float, float] | None:
    """Return the scale of the others; ``None`` where nobody says it."""
    declared = declared_scale(reading.scales, criterion)
    if declared is not None:
        return declared.low, declared.high
    if not others:
        return None
    rest = frame.filter(
        pl.col("criterion") == criterion,
        ~pl.col("annotator_id").is_in([*reading.rescale]),
        pl.col("value").is_not_null(),
    )
    people = rest.filter(
        ~pl.col("annotator_id").is_in(reading.llms), (pl.col("annotator_kind") != "llm").fill_null(True)
    )
    values = (people if people.height else rest)["value"]
    low, high = values.min(), values.max()
    if low is None or high is None or not float(low) < float(high):  # type: ignore[arg-type]
        return None
    return float(math.floor(low)), float(math.ceil(high))  # type: ignore[arg-type]


def rescaled_words(rescaled: Sequence[Rescaled]) -> Iterator[str]:
    """Say what was mapped onto what, one sentence for each annotator and two scales."""
    together: dict[tuple[str, float, float, float, float], list[str]] = {}
    for one in rescaled:
        together.setdefault((one.annotator_id, one.low, one.high, one.to_low, one.to_high), []).append(one.criterion)
    for (who, low, high, to_low, to_high), criteria in together.items():
        about = "" if criteria == ["overall"] else f" of {shortened(', '.join(criteria), 80)}"
        yield f"scores{about} by {shortened(who, 40)} mapped from {low:g}:{high:g} onto {to_low:g}:{to_high:g}"
