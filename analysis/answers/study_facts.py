"""What a report says of the study: facts of the study file, without the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.answers.live_rows import LiveStudy
from analysis.answers.plan import Plan, parse_expectations
from analysis.statistics.record import Count, Record, names_of
from spa.forms.form import ChoiceTarget, Form, PreferenceTarget, RankingTarget, RatingTarget, SpanTarget

if TYPE_CHECKING:
    from analysis.answers.beside import FileBeside
    from spa.responses.decisions import Decision
    from spa.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySystem(Record):
    """A system compared."""

    id: str
    name: str | None
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOption(Record):
    """A named answer and its score."""

    text: str
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCriterion(Record):
    """What outputs are judged by."""

    id: str
    name: str | None
    lower_is_better: bool
    options: tuple[StudyOption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuestion(Record):
    """A question as asked."""

    elicitation: str
    criterion: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDroppedItem(Record):
    """An item that left before the draw."""

    item_id: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preregistration(Record):
    """The plan frozen before the answers, and what deviates from it."""

    frozen_at: float
    """Seconds since 1970."""
    sha256: str
    submissions: int
    """Forms handed in when it was frozen."""
    deviations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReport(Record):
    """What a report says of the study."""

    id: str
    title: str
    language: str
    systems: tuple[StudySystem, ...]
    criteria: tuple[StudyCriterion, ...]
    exposures: tuple[Count, ...] = ()
    elicitations: tuple[str, ...] = ()
    questions: tuple[StudyQuestion, ...] = ()
    annotators_wanted: int | None = None
    pay: str | None = None
    """Major units of the currency."""
    currency: str | None = None
    dropped_items: tuple[StudyDroppedItem, ...] = ()
    preregistration: Preregistration | None = None
    fingerprint: str | None = None
    """Hash of the study as built: file, texts, outputs, images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterviewAnswer(Record):
    """What one person said at the end, in their own words."""

    interview_id: str
    question: str
    group: str
    annotator_id: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFacts(StudyReport):
    """What a report says of the study, the direction of its pairs, what people said at its end and what was decided."""

    pairs: tuple[tuple[str, str], ...] = ()
    interview: tuple[InterviewAnswer, ...] = ()
    live: LiveStudy | None = None
    decisions: tuple[Decision, ...] = ()  # the log, where two reviewers decide
    contamination: tuple[FileBeside, ...] = ()  # one a model
    texts: str | None = None  # hash of those that the files before are about, where there are some
    exploration: FileBeside | None = None

    def reported(self) -> StudyReport:
        """Return the facts that stand in results.json under ``study``."""
        return StudyReport(**{name: getattr(self, name) for name in names_of(StudyReport)})


def facts_of(
    study: Study, *, form: Form | None, dropped: Iterable[Any] = (), fingerprint: str | None = None
) -> StudyFacts:
    """Collect what a report says of a study.

    Parameters
    ----------
    study : Study
        The study.
    form : Form or None
        One of its forms: its questions are quoted as asked, one of each kind and criterion.
    dropped : iterable of DroppedItem
        Items that left before the draw.
    fingerprint : str, optional
        Hash of the study as it was built.
    """
    spa = study.spa
    exposures: tuple[int, ...] = ()
    if spa is not None:
        exposures = spa.exposure_study.exposures if spa.exposure_study is not None else (spa.exposure,)
    asked = {
        "spa": spa,
        "likert": study.likert,
        "continuous": study.continuous or (study.spans if study.spans is not None and study.spans.score else None),
        "category": study.categories,
        "spans": study.spans,
        "choice": study.choices,
        "ranking": study.ranking,
    }
    ways = tuple(name for name, section in asked.items() if section is not None)
    return StudyFacts(
        id=study.id,
        title=study.title,
        language=study.language,
        systems=tuple(
            StudySystem(id=system.id, name=system.name or system.id, role=system.role) for system in study.systems
        ),
        criteria=tuple(
            StudyCriterion(
                id=criterion.id,
                name=criterion.name,
                lower_is_better=criterion.lower_is_better,
                options=tuple(StudyOption(**option.model_dump()) for option in criterion.options),
            )
            for criterion in study.criteria
        ),
        exposures=exposures,
        elicitations=ways,
        questions=_questions(form) if form is not None else (),
        annotators_wanted=study.people.annotators,
        pay=None if study.people.pay is None else str(study.people.pay),
        currency=study.people.currency,
        dropped_items=tuple(
            StudyDroppedItem(item_id=item.item_id, rule=item.rule, evidence=item.evidence) for item in dropped
        ),
        fingerprint=fingerprint,
        pairs=tuple(dict.fromkeys((*study.pairs, *study.choice_pairs))),
    )


def plan_of(study: Study) -> Plan:
    """Take the plan from a study's ``[analysis]`` section."""
    given = study.analysis
    return Plan(
        fwer=given.fwer,
        confidence=given.confidence,
        consistency_tau=given.consistency_tau,
        family=given.family,
        correction=given.correction,
        unit=given.unit,
        rating_test=given.rating_test,
        max_failed_checks=given.max_failed_checks,
        min_outputs_seen=given.min_outputs_seen,
        max_words_per_minute=given.max_words_per_minute,
        max_same_answers=given.max_same_answers,
        repeat_submissions=given.repeat_submissions,
        extra_answers=given.extra_answers,
        incomplete_answers=given.incomplete_answers,
        regularisation=given.regularisation,
        epsilon=given.epsilon,
        equivalence_margin=given.equivalence_margin,
        equivalence_margin_ratings=given.equivalence_margin_ratings,
        expected=parse_expectations(given.expected, "[analysis] expected"),
        lower_is_better=frozenset(row.id for row in study.criteria if row.lower_is_better),
        seed=study.seed,
    )


def _questions(form: Form) -> tuple[StudyQuestion, ...]:
    from spa.forms.markdown import render_emphasis

    found: dict[tuple[str, str], str] = {}
    for question in form.questions("everybody"):
        target = question.target
        if isinstance(target, PreferenceTarget):
            found.setdefault(("spa", target.criterion), question.text)
        elif isinstance(target, RatingTarget):
            found.setdefault((target.elicitation, target.criterion), question.text)
        elif isinstance(target, SpanTarget):
            found.setdefault(("spans", target.criterion), question.text)
        elif isinstance(target, ChoiceTarget):
            found.setdefault(("choice", target.criterion), question.text)
        elif isinstance(target, RankingTarget):
            found.setdefault(("ranking", target.criterion), question.text)
    return tuple(
        StudyQuestion(elicitation=way, criterion=criterion, text=render_emphasis(text).striptags())
        for (way, criterion), text in found.items()
    )
