"""Which questions a study can answer, from its own assignments and the minimums of the analysis."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.camps.true_preferences import FEWEST as CAMPS_FEWEST
from analysis.llm_vs_people.alternative_annotator import ENOUGH_ANNOTATORS as STAND_IN_ANNOTATORS
from analysis.llm_vs_people.alternative_annotator import ENOUGH_UNITS as STAND_IN_ITEMS
from analysis.planning.assumptions import Assumptions
from analysis.planning.crossed_power import crossed_detectable
from analysis.planning.plan import annotators_for, detectable
from analysis.planning.power import equivalence_power
from analysis.planning.study_design import planned_kinds, study_design
from analysis.planning.units import tested_over
from analysis.rating_checks.crossed import FEW as CROSSED
from spa.elicitation.spa import Spa
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.answerable_questions import Conclusion
from spa.study.sampling import sample_assignments, study_rng

POWER = 0.8
MOST = 1000  # annotators whose assignments are drawn: more share no less
# Differences whose number of annotators is told
USUAL = {"spa": 0.1, "likert": 0.3, "spans": 1.0, "ranking": 0.1, "choices": 0.1}
BETTER = {
    "spa": "is preferred",
    "likert": "is rated higher",
    "spans": "has fewer or lighter errors",
    "ranking": "is ranked higher",
    "choices": "is chosen more often",
}
NAMES = {"likert": "ratings", "spans": "errors", "ranking": "rankings", "choices": "choices"}
ALIKE = "items are taken not to differ: spa plan --item-sd"
EQUALLY = {
    "spa": "are equally preferred",
    "likert": "are equally rated",
    "spans": "have equally many errors",
    "ranking": "are equally ranked",
    "choices": "are equally chosen",
}
Unit = tuple[str, int, str]  # item, sample, system
Pair = tuple[str, str, int, str, int]
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAnswers:
    """What the annotators planned will judge, one set an annotator.

    Attributes
    ----------
    rated : mapping of str to list of sets
        By rating section: outputs (item, sample, system) rated.
    chosen : list of sets
        Two outputs that an annotator chooses between, or ranks: (item, system, sample, system, sample).
    compared : list of sets
        Items on which an annotator chooses between both systems of a pair, or ranks both: (system, system, item).
    paired : list of sets
        The same, and items on which an annotator rates both.
    """

    rated: Mapping[str, Sequence[set[Unit]]]
    chosen: Sequence[set[Pair]]
    compared: Sequence[set[tuple[str, str, str]]]
    paired: Sequence[set[tuple[str, str, str]]]


def reachable_conclusions(study: Study, outputs: Outputs) -> tuple[Conclusion, ...]:
    """Return which questions the study can answer with the annotators planned, each with its reason."""
    planned = planned_answers(study, outputs)
    designs = [study_design(study, kind, outputs) for kind in planned_kinds(study)]
    if not designs:
        return (*_unplanned(study), _agreement(study, planned), _crossed(study, planned, ()), _stand_in(study, planned))
    return (
        *(_difference(study, design) for design in designs),
        *(_equivalence(study, design) for design in designs),
        *_consistency(study),
        *_camps(study, planned),
        _agreement(study, planned),
        _crossed(study, planned, designs),
        _stand_in(study, planned),
    )


def planned_answers(study: Study, outputs: Outputs) -> PlannedAnswers:
    """Draw the study's assignments and return what each annotator will judge in all sessions."""
    people = study.people
    number = min(people.annotators, MOST)
    rated: dict[str, list[set[Unit]]] = {table: [set() for _ in range(number)] for table in study.rating_tables}
    chosen: list[set[Pair]] = [set() for _ in range(number)]
    compared: list[set[tuple[str, str, str]]] = [set() for _ in range(number)]
    paired: list[set[tuple[str, str, str]]] = [set() for _ in range(number)]
    count = people.assignments_for(number)
    table_of = {section.way: key for key, section in study.sections.items()}
    for assignment, key in sample_assignments(study, outputs, count=count, rng=study_rng(study.seed)):
        first = assignment.number * people.per_assignment
        for person in {place % number for place in range(first, first + people.per_assignment)}:
            judged: dict[tuple[str, str], set[str]] = defaultdict(set)  # item and how -> systems
            for one in assignment.rated:
                table, output = table_of[one.elicitation], one.output
                system = key.systems[output.label]
                rated[table][person].add((output.item_id, output.sample, system))
                judged[output.item_id, table].add(system)
            pairs = {
                (shown[0].item_id, *one, *other)
                for groups in assignment.groups.values()
                for shown in groups
                for one, other in combinations(sorted((key.systems[one.label], one.sample) for one in shown), 2)
            }
            chosen[person] |= pairs
            compared[person] |= {(x, y, item_id) for item_id, x, _, y, _ in pairs}
            paired[person] |= compared[person]
            for (item_id, _), systems in judged.items():
                paired[person] |= {(x, y, item_id) for x, y in combinations(sorted(systems), 2)}
    return PlannedAnswers(rated=rated, chosen=chosen, compared=compared, paired=paired)


def _camps(study: Study, planned: PlannedAnswers) -> Iterator[Conclusion]:
    """Tell, where the plan asks it, whether enough people judge one pair on two separate outputs."""
    if not study.analysis.camps:
        return
    times: Counter[tuple[str, str]] = Counter()
    for judged in planned.paired:
        own = Counter((x, y) for x, y, _ in judged)
        times.update(pair for pair, n in own.items() if n > 1)
    if study.people.sessions * max(len(study.exposures), 1) > 1 and "spa" in study.sections:
        times["", ""] = study.people.annotators
    n = max(times.values(), default=0)
    yield Conclusion(
        question="whether people fall into two camps",
        answerable=n >= CAMPS_FEWEST,
        reason=f"{n} annotators judge a pair on two separate outputs; {CAMPS_FEWEST} are needed",
        change=None if n >= CAMPS_FEWEST else "further items, exposures or sessions for each annotator",
    )


def _difference(study: Study, design: Assumptions) -> Conclusion:
    """Tell the difference that each pair's test finds, and of a test over items that it holds for these annotators."""
    annotators = study.people.annotators
    question = f"which system {BETTER[design.kind]}"
    found = detectable(design, annotators, POWER)
    tests = f"{design.n_tests} test{'' if design.n_tests == 1 else 's'}"
    usual = USUAL[design.kind]
    needed = annotators_for(design, usual, POWER, design.alpha).annotators
    more = needed is not None and needed > annotators
    change = f"{needed:,} annotators for {design.shown(usual)} (spa plan)" if more else None
    if found.difference is None:
        reason = found.reason or ""
        if design.unknown is not None:
            return Conclusion(question=question, answerable=True, reason=f"{annotators} annotators; {design.unknown}")
        if found.unit == "item":
            reason += f"; fewer than {ENOUGH_ANNOTATORS} annotators are tested over items, for these annotators only"
        return Conclusion(question=question, answerable=False, reason=reason, change=change)
    size = design.shown(found.difference) if design.in_points else f"{100 * (0.5 + found.difference):.0f}%"
    what = f"a {'difference' if design.in_points else 'preference'} of about {size}"
    reason = f"{annotators} annotators give {100 * POWER:g}% power for {what}, {tests}"
    if found.unit == "item":
        reason += f", over {found.n:,} items, for these annotators only"
        if design.unit == "auto":
            change = change or f"{ENOUGH_ANNOTATORS} annotators, for others like them"
    return Conclusion(question=question, answerable=True, reason=reason, change=change)


def _unplanned(study: Study) -> Iterator[Conclusion]:
    """Tell that other answers are tested, and that nobody knows beforehand what the tests find."""
    for table, section in study.sections.items():
        if section.asks(study):
            question = f"which system {BETTER.get(table, 'is rated higher' if section.rates else 'is judged better')}"
            reason = f"{study.people.annotators} annotators; [{table}] is tested, the difference found is not planned"
            tested = Conclusion(question=question, answerable=True, reason=reason)
            yield _only_these(study, question) if _too_few(study) else tested


def _too_few(study: Study) -> bool:
    return study.analysis.unit == "auto" and study.people.annotators < ENOUGH_ANNOTATORS


def _only_these(study: Study, question: str) -> Conclusion:
    reason = f"{study.people.annotators} annotators: below {ENOUGH_ANNOTATORS} tests hold for these annotators only"
    return Conclusion(question=question, answerable=False, reason=reason, change=f"{ENOUGH_ANNOTATORS} annotators")


def _equivalence(study: Study, design: Assumptions) -> Conclusion:
    plan, stated = study.analysis, not design.in_points
    key = "equivalence_margin" if stated else "equivalence_margin_ratings"
    question = f"that two systems {EQUALLY[design.kind]}"
    margin = plan.equivalence_margin if stated else plan.equivalence_margin_ratings
    if margin is None:
        reason = "no margin: a difference that is not found is not shown to be absent"
        return Conclusion(question=question, answerable=False, reason=reason, change=f"[analysis] {key}")
    if design.unknown is not None:
        return Conclusion(question=question, answerable=False, reason=design.unknown)
    tested = tested_over(design, study.people.annotators)
    n = tested.n if tested.unit == "item" else round(tested.n * (1 - design.absent))
    power = equivalence_power(margin / tested.sd, n, alpha=design.alpha)
    reason = f"two equal systems are shown to be equal within {margin:g} in {100 * power:.0f}% of such studies"
    enough = power >= POWER
    change = None if enough else "more annotators, or a wider margin that still does not matter"
    return Conclusion(question=question, answerable=enough, reason=reason, change=change)


def _consistency(study: Study) -> Iterator[Conclusion]:
    section = study.section(Spa)
    if section is None:
        return
    both = section.directions == "both"
    yield Conclusion(
        question="whether annotators are consistent with themselves",
        answerable=both,
        reason=f"{'both directions' if both else 'one direction'} of each pair asked",
        change=None if both else '[spa] directions = "both"',
    )


def _agreement(study: Study, planned: PlannedAnswers) -> Conclusion:
    """Tell what two annotators or more judge; all of them compare the same pairs of systems."""
    shared = sum(sum(count > 1 for count in _raters_of(people).values()) for people in planned.rated.values())
    parts = [f"{shared} outputs rated by 2 annotators or more"] if planned.rated else []
    compared = sum(count > 1 for count in _raters_of(planned.compared).values())
    parts += [f"{compared} pairs of outputs compared by 2 annotators or more"] if any(planned.compared) else []
    asked = len(study.pairs_of(Spa.key))
    if asked and study.people.annotators > 1:
        parts.append(f"{asked} pair{'' if asked == 1 else 's'} compared by all")
    answerable = max(shared, compared) > 1 or (asked > 1 and study.people.annotators > 1)
    return Conclusion(
        question="whether annotators agree",
        answerable=answerable,
        reason="; ".join(parts) or "nothing is judged by 2 annotators",
        change=None if answerable else "more annotators, or fewer items, so that outputs are shared",
    )


def _crossed(study: Study, planned: PlannedAnswers, designs: Sequence[Assumptions]) -> Conclusion:
    """Tell the difference that the crossed test finds, of each kind of answers that has one; no where it finds none."""
    annotators: dict[tuple[str, str], set[int]] = defaultdict(set)
    items: dict[tuple[str, str], set[str]] = defaultdict(set)
    for person, judged in enumerate(planned.paired):
        for x, y, item_id in judged:
            annotators[x, y].add(person)
            items[x, y].add(item_id)
    people = min((len(found) for found in annotators.values()), default=0)
    n_items = min((len(found) for found in items.values()), default=0)
    enough = min(people, n_items) >= CROSSED
    reason = f"both systems of a pair judged on the same item: annotators {people}, items {n_items}, of each pair"
    change = None if enough else f"{CROSSED} annotators and {CROSSED} items a pair, rated on the same items"
    if not annotators:
        reason = "no annotator rates, or chooses between, two systems on the same item"
        if planned.rated:
            reason += ", so there is no crossed test; tests of ratings allow for both (clustered t)"
    tests = [(design, crossed_detectable(design, study.people.annotators, POWER)) for design in designs]
    found = [(design, one.difference) for design, one in tests if one is not None and enough]
    if found:
        power = f"with {100 * POWER:g}% power"
        shown = [
            f"{NAMES[design.kind]}: {design.shown(difference)} or more" if difference else f"{NAMES[design.kind]}: none"
            for design, difference in found
        ]
        reason += f"; the crossed test finds, {power}: {', '.join(shown)}"
        reason += "" if all(design.components.item_sd for design, _ in found) else f" ({ALIKE})"
        enough = any(difference is not None for _, difference in found)
        change = None if enough else "more annotators and items"
    return Conclusion(
        question="whether other annotators, on other items, would find the same",
        answerable=enough,
        reason=reason,
        change=change,
    )


def _stand_in(study: Study, planned: PlannedAnswers) -> Conclusion:
    """Tell whether enough people share enough rated items with others, by the way of asking that has most."""
    question = "whether an LLM can replace annotators"
    verb = "rate" if planned.rated else "compare"
    needed = f"{STAND_IN_ANNOTATORS} annotators who each {verb} {STAND_IN_ITEMS} items that others {verb} too"
    most, enough = 0, 0
    judged: list[Sequence[set[tuple[Any, ...]]]] = [*planned.rated.values(), planned.chosen]
    for people in judged:
        raters = _raters_of(people)
        items = [len({unit[0] for unit in own if raters[unit] > 1}) for own in people]
        most, enough = max(most, *items), max(enough, sum(count >= STAND_IN_ITEMS for count in items))
    answerable = enough >= STAND_IN_ANNOTATORS and bool(study.raters)
    changes = [] if enough >= STAND_IN_ANNOTATORS else [needed]
    changes += [] if study.raters else ["an LLM in [[raters]]"]
    reason = f"{enough} annotators share {STAND_IN_ITEMS} {verb}d items or more with others (at most {most})"
    return Conclusion(
        question=question,
        answerable=answerable,
        reason=reason if planned.rated or any(planned.chosen) else "no output is rated or compared",
        change=", and ".join(changes) or None,
    )


def _raters_of(people: Sequence[set[Key]]) -> Counter[Key]:
    return Counter(unit for own in people for unit in own)
