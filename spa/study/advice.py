"""What is allowed in a study and still worth a second thought."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from statistics import fmean
from typing import get_args

from spa.study.outputs import Outputs, count_rules
from spa.study.question_checks import items_read, parse_expected
from spa.study.study import Elicitation, Study

ADVISED_EXPOSURE = 4  # Ethayarajh & Jurafsky (2022) advise to show at least so many outputs of each system
FEW_ANNOTATORS = 10  # below this the tests speak of these annotators only
LENGTH_RATIO = 1.5  # systems whose mean lengths differ by more can be told apart by length


def study_warnings(study: Study, outputs: Outputs) -> tuple[str, ...]:
    """Return what is worth a second thought before annotators are paid.

    Parameters
    ----------
    study : Study
        As :func:`spa.study.load.load_study` returns it.
    outputs : Outputs
        As :func:`spa.study.outputs.load_outputs` returns it.

    Returns
    -------
    tuple of str
        One line each; empty where nothing is odd.
    """
    checks = (_exposure, _annotators, _never_used, _checks, _expected_pairs)
    of_outputs = (_dropped, _unreadable, _lengths, _equal_outputs, _names_in_outputs)
    told = [line for check in checks for line in check(study)]
    return (*told, *(line for check in of_outputs for line in check(study, outputs)))


def _exposure(study: Study) -> Iterator[str]:
    if study.spa is None or study.spa.exposure_study is not None:
        return
    if study.spa.exposure < ADVISED_EXPOSURE:
        yield (
            f"[spa] exposure = {study.spa.exposure}: the SPA paper advises at least {ADVISED_EXPOSURE} outputs "
            "of each system, as fewer say little about outputs not seen"
        )
    if study.spa.directions == "one" and study.analysis.consistency_tau is not None:
        yield '[spa] directions = "one": self-consistency cannot be checked, so nobody is excluded for it'


def _annotators(study: Study) -> Iterator[str]:
    if study.people.annotators < FEW_ANNOTATORS and study.analysis.unit != "annotator":
        yield (
            f"[people] annotators = {study.people.annotators}: with fewer than {FEW_ANNOTATORS} "
            "the tests of ratings and choices speak of these annotators only"
        )
    if study.design.labels == "fixed":
        yield '[design] labels = "fixed": every annotator sees the same letter for the same system; letters may bias'


def _never_used(study: Study) -> Iterator[str]:
    asked = {criterion for table in get_args(Elicitation) for criterion in study.asked(table)}
    for criterion in study.criteria:
        if criterion.id not in asked:
            yield f"[[criteria]] {criterion.id}: no section asks it"
    orientation = set()
    if study.continuous is not None:
        orientation = {study.continuous.best_reference, study.continuous.worst_reference}
    for system in study.systems:
        if system.role == "reference" and system.id not in orientation:
            yield f'[[systems]] {system.id}: role "reference", but [continuous] shows it nowhere'
    if study.spa is not None and "items" in study.design.model_fields_set:
        yield "[design] items: not used, because [spa] says how many items an annotator reads"


def _checks(study: Study) -> Iterator[str]:
    number = len(study.attention_checks)
    if number and study.analysis.max_failed_checks >= number:
        yield f"[analysis] max_failed_checks = {study.analysis.max_failed_checks}: no failed check excludes anybody"


def _expected_pairs(study: Study) -> Iterator[str]:
    compared = {frozenset(pair) for pair in (*study.pairs, *study.choice_pairs)}
    for text in study.analysis.expected:
        parsed = parse_expected(text, [system.id for system in study.compared])
        if compared and parsed is not None and frozenset((parsed[0], parsed[2])) not in compared:
            yield f'[analysis] expected "{text}": no annotator is asked about this pair directly'


def _dropped(study: Study, outputs: Outputs) -> Iterator[str]:
    if outputs.dropped:
        listed = count_rules(outputs.dropped)
        yield f"{len(outputs.dropped)} of {len(outputs.dropped) + len(outputs.items)} items left out: {listed}"
    if len(outputs.items) == items_read(study):
        read = "1 item, which" if len(outputs.items) == 1 else f"{len(outputs.items)} items, all of which"
        these = "this item" if len(outputs.items) == 1 else "these items"
        yield f"{read} every annotator reads: the answer holds for {these} only"


def _unreadable(study: Study, outputs: Outputs) -> Iterator[str]:
    for (item_id, system), count in list(outputs.unreadable.items())[:5]:
        what = f"output of {system}" if system else "text"
        told = (
            "1 character that no page can show stands"
            if count == 1
            else f"{count} characters that no page can show stand"
        )
        yield f"item {item_id}, {what}: {told} as \ufffd"
    if len(outputs.unreadable) > 5:
        yield f"{len(outputs.unreadable) - 5} more texts hold characters that no page can show"


def _lengths(study: Study, outputs: Outputs) -> Iterator[str]:
    if study.outputs.kind == "image":
        return
    means = {
        one.id: fmean(len(output.text or "") for item in outputs.items for output in outputs.of(item.item_id, one.id))
        for one in study.compared
    }
    longest, shortest = max(means, key=lambda one: means[one]), min(means, key=lambda one: means[one])
    if means[longest] > LENGTH_RATIO * means[shortest]:
        yield (
            f"outputs of {longest} are {means[longest] / means[shortest]:.1f} times as long as those of {shortest} "
            f'on average; length may decide (see [outputs] match_length_of = "{longest}")'
        )


def _equal_outputs(study: Study, outputs: Outputs) -> Iterator[str]:
    if study.outputs.kind == "image":
        return
    equal: Counter[tuple[str, str]] = Counter()
    for item in outputs.items:
        first: dict[str, str] = {}
        for one in study.compared:
            text = (outputs.output(item.item_id, one.id, 1).text or "").strip()
            if text in first:
                equal[first[text], one.id] += 1
            first.setdefault(text, one.id)
    for (system_x, system_y), count in equal.items():
        yield f"{system_x} and {system_y} gave the same text for {count} of {len(outputs.items)} items"


def _names_in_outputs(study: Study, outputs: Outputs) -> Iterator[str]:
    """Tell where an output names a system, which lifts the blinding."""
    if study.outputs.kind == "image":
        return
    names = {name for one in study.systems if one.role == "system" for name in (one.id, one.name) if name}
    for name in sorted(names):
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        count = sum(1 for output in outputs.all() if word.search(output.text or ""))
        if count:
            yield f'"{name}", the name of a system, stands in {count} outputs: annotators may know it by that'
