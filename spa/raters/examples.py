"""Answered examples are drawn once from what people answered, before a rater's first run, and kept with their hash.

Which items are set apart is decided by the study's seed and the share alone. No answer and no number of examples
changes it, so that no example can come from an item about which the rater is asked.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256

from spa.errors import ResponseError, StudyError
from spa.forms.examples import TEXTS
from spa.records.assignment import Assignment, canonical_json
from spa.records.examples import AnsweredExample, ExampleAnswer, ExampleSet, digest_of, items_apart
from spa.records.form import Answer, CheckTarget, Form, Judgement, Target
from spa.records.outputs import Outputs
from spa.records.raters import RaterExamples
from spa.records.study import OVERALL, Study
from spa.records.submission import Response, Submission
from spa.records.texts import Texts
from spa.responses.database import note_once
from spa.responses.store import Store
from spa.responses.two_reviewers import read_visit_decisions
from spa.widgets import widget_of

KEY = "examples "  # before number and share, of a fact about the store
LEVELS = 7  # most answers that are strata of their own; longer scales are cut into fifths
FIFTHS = 5
CHOSEN = {1.0: "x", 0.5: "tie", 0.0: "y"}  # of two outputs, by how favourable an answer is to the first

FormOf = Callable[[str], Form]
Unit = tuple[str, str, tuple[tuple[str, int], ...]]  # kind, item, outputs
Asked = tuple[str, str]  # key of the way of asking, criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleSource:
    """A study as examples are drawn from it."""

    study: Study
    outputs: Outputs
    texts: Texts
    store: Store
    form_of: FormOf  # of people, by the id of an assignment


def example_set(source: ExampleSource, wanted: RaterExamples) -> ExampleSet:
    """Return the examples kept in the store, or those that would be drawn now.

    Raise ResponseError if what is kept has changed, StudyError if people have answered too little.
    """
    apart = _apart(source, wanted)
    if not wanted.number:
        return ExampleSet(apart=apart)
    kept = source.store.meta(_name(wanted))
    if kept is None:
        return ExampleSet(apart=apart, shown=_draw(source, wanted, apart))
    content = _checked(source.store.name, wanted, kept)
    return ExampleSet(apart=apart, shown=tuple(map(_example_from, content)))


def freeze_examples(source: ExampleSource, wanted: RaterExamples) -> str:
    """Keep the examples in the store, unless they are; return a line that says which and under which hash."""
    found = example_set(source, wanted)
    content = [asdict(one) for one in found.shown]
    kept = canonical_json({"examples": content, "sha256": _hash(content)})
    with source.store.transaction() as connection:  # another run may have kept its own meanwhile
        if (known := note_once(connection, _name(wanted), kept)) != kept:
            found = replace(found, shown=tuple(map(_example_from, _checked(source.store.name, wanted, known))))
    digest = _hash([asdict(one) for one in found.shown])
    items = len({one.item_id for one in found.shown})
    return (
        f"{len(found.shown)} answered examples of {items} items, kept as drawn (SHA-256 {digest[:12]}); "
        f"{len(found.apart)} of {len(source.outputs.items)} items are set apart and not asked about"
    )


def asks_anything(assignment: Assignment, apart: Collection[str]) -> bool:
    """Return whether an assignment asks about an item that is not set apart."""
    rated = (one.output.item_id for one in assignment.rated)
    grouped = (output.item_id for groups in assignment.groups.values() for group in groups for output in group)
    return any(item_id not in apart for item_id in (*rated, *grouped))


def _apart(source: ExampleSource, wanted: RaterExamples) -> frozenset[str]:
    items = [item.item_id for item in source.outputs.items]
    if len(items) < 2:
        raise StudyError(f"[raters.examples]: expected at least 2 items, got {len(items)}; remove the table")
    return items_apart(items, seed=source.study.seed, share=wanted.share)


def _name(wanted: RaterExamples) -> str:
    return f"{KEY}{wanted.number} {wanted.share!r}"


def _hash(content: Sequence[object]) -> str:
    return sha256(canonical_json({"examples": json.loads(json.dumps(content))}).encode()).hexdigest()


def _checked(store: str, wanted: RaterExamples, kept: str) -> list[dict[str, object]]:
    found = json.loads(kept)
    if _hash(found["examples"]) != found["sha256"]:
        raise ResponseError(
            f"{store}: expected the {wanted.number} examples as they were kept (SHA-256 {found['sha256'][:12]}), got "
            "others; restore the store from a backup"
        )
    content: list[dict[str, object]] = found["examples"]
    return content


def _example_from(record: Mapping[str, object]) -> AnsweredExample:
    answers, outputs = record["answers"], record["outputs"]
    assert isinstance(answers, list)
    assert isinstance(outputs, list)
    return AnsweredExample(
        kind=record["kind"],  # type: ignore[arg-type]
        item_id=str(record["item_id"]),
        outputs=tuple((system, sample) for system, sample in outputs),
        answers=tuple(ExampleAnswer(**one) for one in answers),
    )


def _draw(source: ExampleSource, wanted: RaterExamples, apart: frozenset[str]) -> tuple[AnsweredExample, ...]:
    """Draw from each stratum of answers in turn, items used least first."""
    absent = [f"form.{name}" for name in TEXTS if f"form.{name}" not in source.texts.entries]
    if absent:
        raise StudyError(f"[texts]: expected {', '.join(absent)} for [raters.examples], got none; add them")
    seed = source.study.seed
    strata: dict[tuple[str, str, str, int], list[AnsweredExample]] = defaultdict(list)
    for example, stratum in _answered(source, apart):
        strata[stratum].append(example)
    number = sum(map(len, strata.values()))
    if number < wanted.number:
        raise StudyError(
            f"[raters.examples]: expected {wanted.number} outputs, or pairs of them, answered by people on the "
            f"{len(apart)} items set apart, got {number}; collect their answers first, lower number or raise share"
        )
    used: Counter[str] = Counter()
    chosen: list[AnsweredExample] = []
    while len(chosen) < wanted.number:
        for _, left in sorted(strata.items()):
            if left and len(chosen) < wanted.number:
                left.sort(key=lambda one: (used[one.item_id], digest_of(seed, one.item_id, one.outputs)))
                chosen.append(left.pop(0))
                used[chosen[-1].item_id] += 1
    return tuple(sorted(chosen, key=lambda one: digest_of(seed, "order", one.item_id, one.outputs)))


def _answered(
    source: ExampleSource, apart: frozenset[str]
) -> Iterator[tuple[AnsweredExample, tuple[str, str, str, int]]]:
    """Yield each output or pair on which people agree enough for an answer, with its stratum."""
    given: dict[Unit, dict[Asked, list[str]]] = defaultdict(lambda: defaultdict(list))
    kinds: dict[Asked, Answer] = {}
    for submission in _of_people(source):
        told = [one for one in submission.answers if isinstance(one, Response) and _item_of(one.target) in apart]
        if not told:
            continue
        asked = {one.target: one.answer for one in source.form_of(submission.assignment_id).questions("everybody")}
        systems = source.store.assignments.key(submission.assignment_id, "people").systems
        for answer in told:
            widget = widget_of(asked[answer.target])
            if answer.raw not in widget.values(asked[answer.target]):
                continue
            unit, about, value = _unit(source.study, answer.target, answer.raw, systems)
            given[unit][about].append(value)
            kinds.setdefault(about, asked[answer.target])
    for unit, answers in sorted(given.items()):
        middles = {about: _middle(kinds[about], all_) for about, all_ in answers.items()}
        agreed = {about: value for about, value in middles.items() if value is not None}
        if agreed:
            first = min(agreed, key=lambda about: (about[1] != OVERALL, about))
            stratum = (unit[0], *first, _level(kinds[first], agreed[first]))
            yield _turned(source.study.seed, unit, agreed), stratum


def _of_people(source: ExampleSource) -> Iterator[Submission]:
    """Yield what people completed that no reviewer and no attention check leaves out."""
    with source.store.reading() as connection:
        decided = read_visit_decisions(connection)
    for submission in source.store.submissions():
        decision = decided.get(submission.submission_id)
        wrong = [
            one
            for one in submission.answers
            if isinstance(one.target, CheckTarget)
            and one.target.kind == "attention"
            and (not isinstance(one, Response) or one.raw != one.target.expected)
        ]
        if (
            submission.annotator_kind != "llm"
            and submission.outcome == "completed"
            and not submission.extra
            and (decision is None or decision.exclusion is None)
            and len(wrong) <= source.study.analysis.max_failed_checks
        ):
            yield submission


def _item_of(target: Target) -> str | None:
    """Return the item of the outputs that an answer is about."""
    outputs = target.outputs() if isinstance(target, Judgement) else None
    return next(iter(outputs))[1] if outputs else None


def _unit(study: Study, target: Target, value: str, systems: Mapping[str, str]) -> tuple[Unit, Asked, str]:
    """Return what is judged, by systems in the order of their ids, the question and its answer in that order."""
    assert isinstance(target, Judgement)
    outputs = target.outputs()
    assert outputs
    table = next(key for key, section in study.sections.items() if section.way == target.way)
    judged = sorted((systems[label], sample, label, item_id) for label, item_id, sample in outputs)
    unit = "choice" if len(judged) > 1 else "rating", judged[0][3], tuple(one[:2] for one in judged)
    if len(judged) > 1:  # whose sides are those of the systems
        favoured = target.favour(value, judged[0][2], None)
        value = value if favoured is None else CHOSEN[favoured]
    return unit, (table, target.criterion), value


def _swapped(value: str) -> str:
    return {"x": "y", "y": "x"}.get(value, value)


def _middle(answer: Answer, values: Sequence[str]) -> str | None:
    """Return the median, the lower of two, where all answers have scores; else the most frequent, None on a tie."""
    scores = widget_of(answer).scores(answer)
    if all(value in scores for value in values):
        return sorted(values, key=lambda value: scores[value])[(len(values) - 1) // 2]
    (most, number), *others = Counter(values).most_common(2)
    return None if others and others[0][1] == number else most


def _level(answer: Answer, value: str) -> int:
    values = widget_of(answer).values(answer)
    place = values.index(value)
    return place if len(values) <= LEVELS else min(place * FIFTHS // len(values), FIFTHS - 1)


def _turned(seed: int, unit: Unit, agreed: Mapping[Asked, str]) -> AnsweredExample:
    """Return an example; which of two outputs comes first is the seed's choice."""
    kind, item_id, outputs = unit
    answers = tuple(
        ExampleAnswer(table=table, criterion=criterion, value=value)
        for (table, criterion), value in sorted(agreed.items(), key=lambda one: (one[0][1] != OVERALL, one[0]))
    )
    example = AnsweredExample(
        kind="choice" if kind == "choice" else "rating", item_id=item_id, outputs=outputs, answers=answers
    )
    if kind == "rating" or digest_of(seed, "side", item_id, outputs)[0] % 2:
        return example
    turned = tuple(replace(one, value=_swapped(one.value)) for one in answers)
    return replace(example, outputs=outputs[::-1], answers=turned)
