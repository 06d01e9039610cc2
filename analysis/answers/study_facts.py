"""What a report says of the study: facts of the study file, without the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from analysis.answers.plan import Plan, parse_expectations
from spa.forms.form import ChoiceTarget, Form, PreferenceTarget, RatingTarget
from spa.forms.markdown import render_emphasis
from spa.study.study import Study

NOT_REPORTED = ("pairs", "interview")  # the latter is a table of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFacts:
    """The ``study`` part of results.json, and the direction in which the study lists its pairs."""

    id: str
    title: str
    language: str
    systems: tuple[dict[str, Any], ...]  # id, name, role
    criteria: tuple[dict[str, Any], ...]  # id, name, lower_is_better; options (text, score) where it has some
    exposures: tuple[int, ...] = ()
    elicitations: tuple[str, ...] = ()
    questions: tuple[dict[str, str], ...] = ()  # elicitation, criterion, text as asked
    annotators_wanted: int | None = None
    pay: str | None = None  # major units of the currency
    currency: str | None = None
    dropped_items: tuple[dict[str, str], ...] = ()  # item_id, rule, evidence
    fingerprint: str | None = None  # of the study as built: file, texts, outputs, images
    preregistration: dict[str, Any] | None = None  # frozen_at, sha256, submissions, deviations
    pairs: tuple[tuple[str, str], ...] = ()
    interview: tuple[dict[str, str], ...] = ()  # interview_id, question, group, annotator_id, answer

    def reported(self) -> dict[str, Any]:
        """Return the facts that stand in results.json."""
        return {name: value for name, value in asdict(self).items() if name not in NOT_REPORTED}


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
    asked = {"spa": spa, "likert": study.likert, "continuous": study.continuous, "category": study.categories}
    ways = tuple(name for name, section in {**asked, "choice": study.choices}.items() if section is not None)
    return StudyFacts(
        id=study.id,
        title=study.title,
        language=study.language,
        systems=tuple(
            {"id": system.id, "name": system.name or system.id, "role": system.role} for system in study.systems
        ),
        criteria=tuple(
            {
                "id": criterion.id,
                "name": criterion.name,
                "lower_is_better": criterion.lower_is_better,
                **({"options": [option.model_dump() for option in criterion.options]} if criterion.options else {}),
            }
            for criterion in study.criteria
        ),
        exposures=exposures,
        elicitations=ways,
        questions=_questions(form) if form is not None else (),
        annotators_wanted=study.people.annotators,
        pay=None if study.people.pay is None else str(study.people.pay),
        currency=study.people.currency,
        dropped_items=tuple(
            {"item_id": item.item_id, "rule": item.rule, "evidence": item.evidence} for item in dropped
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


def _questions(form: Form) -> tuple[dict[str, str], ...]:
    found: dict[tuple[str, str], str] = {}
    for question in form.questions("everybody"):
        target = question.target
        if isinstance(target, PreferenceTarget):
            found.setdefault(("spa", target.criterion), question.text)
        elif isinstance(target, RatingTarget):
            found.setdefault((target.elicitation, target.criterion), question.text)
        elif isinstance(target, ChoiceTarget):
            found.setdefault(("choice", target.criterion), question.text)
    return tuple(
        {"elicitation": way, "criterion": criterion, "text": render_emphasis(text).striptags()}
        for (way, criterion), text in found.items()
    )
