"""Warnings about outputs that last: how loud they are and how long, beside others of the same item."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spa.records.outputs import Output, Outputs
from spa.records.study import Study

LOUDER = 3.0  # LU; a difference that most listeners notice
LONGER = 1.5  # times


def clip_warnings(study: Study, outputs: Outputs) -> Iterator[str]:
    """Say of how many items the outputs differ much in loudness, or in length, and of which loudness is not known."""
    heard = [one for one in outputs.all() if one.seconds is not None and one.loudness is not None]
    yield from _differing(
        _extremes(study, outputs, lambda one: one.loudness),
        lambda low, high: high - low > LOUDER,
        f"differ by more than {LOUDER:g} LU",
        lambda value: f"{value:.1f} LUFS",
        "the louder tends to be preferred; bring them to one loudness, unless it is what is asked about",
    )
    yield from _differing(
        _extremes(study, outputs, lambda one: one.seconds),
        lambda low, high: high > LONGER * low,
        f"differ in length by more than {LONGER:g} times",
        lambda value: f"{value:.1f} s",
        "length may decide, in speech most of all",
    )
    unknown = [one for one in outputs.all() if one.seconds is not None and one.loudness is None]
    if heard and unknown:
        first = f"first: item {unknown[0].item_id}, {unknown[0].system}"
        yield (
            f"{len(unknown)} of {len(heard) + len(unknown)} outputs are silent, or too short or soft for a measure of "
            f"loudness ({first}): they are not compared in that"
        )


Extremes = tuple[str, tuple[float, str], tuple[float, str]]  # item; the least and the most, each with its system


def _extremes(study: Study, outputs: Outputs, measure: Callable[[Output], float | None]) -> list[Extremes]:
    """Return the least and the most of each item with outputs of several systems."""
    found = []
    for item in outputs.items:
        made = [(one.id, output) for one in study.compared for output in outputs.of(item.item_id, one.id)]
        values = [(value, system) for system, output in made if (value := measure(output)) is not None]
        if len({system for _, system in values}) > 1:
            found.append((item.item_id, min(values), max(values)))
    return found


def _differing(
    found: list[Extremes],
    is_much: Callable[[float, float], bool],
    what: str,
    written: Callable[[float], str],
    do: str,
) -> Iterator[str]:
    much = [one for one in found if is_much(one[1][0], one[2][0])]
    if much:
        item_id, low, high = max(much, key=lambda one: one[2][0] - one[1][0])
        example = f"item {item_id}: {high[1]} {written(high[0])}, {low[1]} {written(low[0])}"
        yield f"outputs {what} in {len(much)} of {len(found)} items (most in {example}): {do}"
