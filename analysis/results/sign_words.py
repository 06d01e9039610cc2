"""What is said of people who show signs of careless answering: who counts nevertheless, and who is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.answers.careless_signs import SIGNS, SignKind
from analysis.answers.plan import Plan
from analysis.printing.names import Names
from analysis.printing.words import listed, rule_name
from analysis.records.overview import CarelessSignCount, CarelessSignRow, Settings, WarningRow
from analysis.records.results import Results

NOT_PLANNED = "no, as the plan does not say so"


def sign_title(sign: SignKind, settings: Settings | Plan, bound: float) -> str:
    """Name a sign, with its bound where that is no share.

    >>> sign_title("reading_speed", Plan(), 2.6), sign_title("same_answers", Plan(), 0.95)
    ('faster than 2.6 times the usual reading speed', 'the same answer throughout')
    """
    in_words = settings.max_reading_speed is None and settings.max_words_per_minute is not None
    return {
        "reading_speed": f"faster than {bound:,g} {'words a minute' if in_words else 'times the usual reading speed'}",
        "same_answers": "the same answer throughout",
        "both_directions": "one answer to both directions of pairs",
        "attention_checks": "failed attention checks",
    }[sign]


def excluded_words(shown: Sequence[CarelessSignRow]) -> str:
    """Say which of those who show a sign are left out: "no, as the plan does not say so", or "yes (same answers)"."""
    people = {row.annotator_id: row.excluded_by for row in shown}
    rules = dict.fromkeys(rule_name(rule) for rule in people.values() if rule is not None)
    left = sum(rule is not None for rule in people.values())
    if not left:
        return NOT_PLANNED
    by = f"yes ({listed([*rules])})"
    return by if left == len(people) else f"{left} {by}, {len(people) - left} {NOT_PLANNED}"


def groups_with_signs(results: Results) -> dict[str, bool]:
    """Return the groups in which somebody shows a sign, and whether any of those counts nevertheless."""
    found: dict[str, bool] = {}
    for row in results.careless_signs:
        found[row.group] = found.get(row.group, False) or row.excluded_by is None
    return found


def signs_in_words(
    shown: Sequence[CarelessSignRow], counts: Sequence[CarelessSignCount], settings: Settings | Plan, units: str
) -> str:
    """Say how many people of a group ("24 people") show signs, which, and whether they are excluded."""
    people = len({row.annotator_id for row in shown})
    ordered = sorted(counts, key=lambda row: SIGNS.index(row.sign))
    signs = ", ".join(f"{sign_title(row.sign, settings, row.bound)} ({row.shown})" for row in ordered if row.shown)
    shows = "shows" if people == 1 else "show"
    kind = "a sign" if len(ordered) == 1 else "signs"
    return f"{people:,} of {units} {shows} {kind} of careless answering: {signs}; excluded: {excluded_words(shown)}."


def signs_of_group(results: Results, names: Names, group: str) -> str:
    """Return :func:`signs_in_words` of one group of results."""
    shown = [row for row in results.careless_signs if row.group == group]
    counts = [row for row in results.careless_sign_counts if row.group == group]
    units = names.units(group, "annotator", counts[0].annotators)
    return signs_in_words(shown, [row for row in counts if row.shown], results.settings, units)


def about_signs(results: Results) -> Iterator[WarningRow]:
    """Warn of people who show a sign and count nevertheless."""
    names = Names(results)
    for group, counts in groups_with_signs(results).items():
        if counts:
            text = f"{group}: {signs_of_group(results, names, group)}"
            yield WarningRow(kind="careless", group=group, text=text)
