"""What a report says of the study: facts of the study file, without the answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analysis.answers.live_rows import AuditedStudy, LiveStudy
from analysis.answers.plan import Jury, Plan, parse_expectations
from analysis.answers.study_conduct import StudyDesign, StudyRater, StudySource, design_of, raters_of
from analysis.statistics.record import Count, Record, record_like
from spa.records.system_roles import UNRANKED, UnrankedSystem

if TYPE_CHECKING:
    from analysis.answers.sidecars import Sidecar
    from spa.records.form import Form
    from spa.records.outputs import Outputs
    from spa.records.study import Study
    from spa.responses.decisions import Decision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudySystem(Record):
    """A system compared."""

    id: str
    name: str | None
    role: str
    low_pass: float | None = None
    """Of an anchor: where its highs were cut off, in Hz; null: not said."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyOption(Record):
    """A named answer and its score."""

    text: str
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyCriterion(Record):
    """What outputs are judged by."""

    id: str
    name: str | None
    lower_is_better: bool
    options: tuple[StudyOption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyQuestion(Record):
    """A question as asked."""

    elicitation: str
    criterion: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyDroppedItem(Record):
    """An item that left before the draw."""

    item_id: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Preregistration(Record):
    """The plan frozen before the answers, and what deviates from it."""

    frozen_at: float
    """Seconds since 1970."""
    sha256: str
    submissions: int
    """Forms handed in when it was frozen."""
    deviations: tuple[str, ...]
    people_by: tuple[str, ...] = ()
    """Columns by which it compares people, where nobody had handed in a form when it was frozen."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    uneven: tuple[str, ...] = ()
    """What is not balanced in forms that came from a file."""
    preregistration: Preregistration | None = None
    fingerprint: str | None = None
    """Hash of the study as built: file, texts, outputs, images."""
    last_answer: str | None = None
    """Day of the newest page received or submission ended, UTC: 2026-05-04; null where no store says it."""
    design: StudyDesign | None = None
    """Null in files of earlier releases."""
    sources: tuple[StudySource, ...] = ()
    """Where people came from, most first."""
    median_minutes: float | None = None
    """People's, from taking the form to the last answer; null where nobody was timed."""
    bonuses: tuple[str, ...] = ()
    """Amounts of bonuses that reviewers decided on, the smallest first."""
    raters: tuple[StudyRater, ...] = ()
    """How each LLM of the study file is asked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InterviewAnswer(Record):
    """What one person said at the end, in their own words."""

    interview_id: str
    question: str
    group: str
    annotator_id: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyFacts(StudyReport):
    """What a report says of the study, the direction of its pairs, what people said at its end and what was decided."""

    pairs: tuple[tuple[str, str], ...] = ()
    likert_points: int | None = None
    copies: tuple[tuple[str, str, int], ...] = ()  # outputs that equal their source: item, system, sample
    best: Mapping[str, float] = field(default_factory=dict)  # rating of criteria that are asked against the source
    choice_ties: bool = True  # whether neither output may be chosen
    interview: tuple[InterviewAnswer, ...] = ()
    live: LiveStudy | None = None
    audited_by: str | None = None  # the rater that answers all forms, where people answer a part
    audited: AuditedStudy | None = None  # how people's part was drawn in waves
    decisions: tuple[Decision, ...] = ()  # the log, where two reviewers decide
    contamination: tuple[Sidecar, ...] = ()  # one a model
    simulated_raters: tuple[str, ...] = ()  # ids of those whose answers a program makes
    rater_costs: Mapping[str, float | None] = field(default_factory=dict)  # of members of juries; None: not known
    gamble_difference: float | None = None  # of two utilities, above which annotators are counted
    shared_anchors: bool = False  # whether the study says that all annotators find both references equally good
    sum_explained: bool = True  # whether forms say that both directions of a pair are at most 100% together
    texts: str | None = None  # hash of those that the files before are about, where there are some
    exploration: Sidecar | None = None
    unaltered: frozenset[str] = frozenset()  # items whose mid anchor hardly differs from the hidden reference

    def unranked(self) -> dict[str, UnrankedSystem | None]:
        """Return the hidden references and anchors, by their ids."""
        return {
            one.id: UnrankedSystem(system=one.id, role=role, low_pass=one.low_pass)
            for one in self.systems
            for role in UNRANKED
            if one.role == role
        }

    def reported(self) -> StudyReport:
        """Return the facts that stand in results.json under ``study``."""
        return record_like(StudyReport, self)


def facts_of(
    study: Study,
    *,
    form: Form | None,
    dropped: Iterable[Any] = (),
    fingerprint: str | None = None,
    outputs: Outputs | None = None,
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
    outputs : Outputs, optional
        The outputs, among which those that equal their source are looked for.
    """
    from spa.elicitation import ways_asked
    from spa.elicitation.choices import Choices  # tables without a study need none of it
    from spa.elicitation.gamble import Gamble
    from spa.records.submission import SIMULATED_RATER

    choices, gamble = study.section(Choices), study.section(Gamble)
    simulated = {rater.id for rater in study.raters if rater.model == SIMULATED_RATER}
    best = dict(_best_ratings(study)) if outputs is not None else {}
    played = (jury.id for jury in study.juries if {name.partition("/")[0] for name in jury.raters} <= simulated)
    return StudyFacts(
        id=study.id,
        title=study.title,
        language=study.language,
        systems=tuple(record_like(StudySystem, system, name=system.name or system.id) for system in study.systems),
        criteria=tuple(
            record_like(StudyCriterion, one, options=tuple(record_like(StudyOption, option) for option in one.options))
            for one in study.criteria
        ),
        exposures=study.exposures,
        elicitations=ways_asked(study),
        questions=_questions(form) if form is not None else (),
        annotators_wanted=study.people.annotators,
        pay=None if study.people.pay is None else str(study.people.pay),
        currency=study.people.currency,
        dropped_items=tuple(record_like(StudyDroppedItem, item) for item in dropped),
        fingerprint=fingerprint,
        design=design_of(study, outputs),
        raters=raters_of(study),
        pairs=study.pairs,
        likert_points=study.scale_points,
        audited_by=None if study.audit is None else study.audit.rater,
        copies=tuple(_copies(outputs)) if outputs is not None and best else (),
        best=best,
        choice_ties=choices is None or choices.ties,
        gamble_difference=None if gamble is None else gamble.difference,
        shared_anchors=gamble is not None and gamble.shared_anchors,
        sum_explained=study.instructions.explains_sum,
        simulated_raters=(*(rater.id for rater in study.raters if rater.id in simulated), *played),
    )


def _best_ratings(study: Study) -> Iterator[tuple[str, float]]:
    """Yield the criteria that are asked against the source, each with its best rating."""
    for one in study.criteria:
        asked = (section for section in study.sections.values() if section.rates and one.id in section.asks(study))
        if not one.against_source or (section := next(asked, None)) is None:
            continue
        scores = [option.score for option in one.options if option.score is not None]
        lowest, highest = (1.0, float(points)) if (points := section.scale_points()) is not None else (0.0, 100.0)
        if one.options:
            if not scores:
                continue
            lowest, highest = min(scores), max(scores)
        yield one.id, lowest if one.lower_is_better else highest


def _copies(outputs: Outputs) -> Iterator[tuple[str, str, int]]:
    sources = {item.item_id: item.text for item in outputs.items if item.text is not None}
    for one in outputs.all():
        if one.text is not None and one.text == sources.get(one.item_id):
            yield one.item_id, one.system, one.sample


def plan_of(study: Study) -> Plan:
    """Take the plan from a study's ``[analysis]`` section."""
    from spa.elicitation.choices import Choices
    from spa.records.raters import beside_examples

    choices = study.section(Choices)
    made = [(one.id, one.maker) for one in study.systems] + [(one.id, one.maker) for one in study.raters]
    return record_like(
        Plan,
        study.analysis,
        makers=tuple((name, maker) for name, maker in made if maker is not None),
        examples=tuple(pair for rater in study.raters for pair in beside_examples(rater)),
        flips=None if choices is None or choices.directions == "one" else choices.flips,
        expected=parse_expectations(study.analysis.expected, "[analysis] expected"),
        lower_is_better=frozenset(row.id for row in study.criteria if row.lower_is_better),
        seed=study.seed,
        usual_answer=study.analysis.usual_answer if study.stopping.rule == "fixed" else None,  # live: one by one
        **{f"williams_{name}": value for name, value in study.analysis.williams.model_dump().items()},
        juries=tuple(record_like(Jury, jury) for jury in study.juries),
    )


def _questions(form: Form) -> tuple[StudyQuestion, ...]:
    from spa.forms.markdown import render_emphasis
    from spa.records.form import Judgement

    found: dict[tuple[str, str], str] = {}
    for question in form.questions("everybody"):
        if isinstance(question.target, Judgement):
            found.setdefault((question.target.way, question.target.criterion), question.text)
    return tuple(
        StudyQuestion(elicitation=way, criterion=criterion, text=render_emphasis(text).striptags())
        for (way, criterion), text in found.items()
    )
