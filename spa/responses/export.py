"""From the store to the tidy tables: unblinded, one row an answer, missing ones included.

Beside what an analysis needs, a row says what the annotator saw
(label, column), so that an effect of the place on the page can be looked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl

from spa.forms.form import (
    CheckTarget,
    ChoiceTarget,
    ExplainedTarget,
    ExplanationTarget,
    Form,
    InterviewTarget,
    PreferenceTarget,
    RankingTarget,
    RatingTarget,
    ScreeningTarget,
    SpanTarget,
)
from spa.forms.spans import NO_ERRORS, MarkedSpan, spans_from_json
from spa.responses.answers import NO_ANSWER
from spa.responses.dashboard_log import both_logs, read_entries
from spa.responses.decisions import Decision, read_decisions
from spa.responses.orders import ranks_of
from spa.responses.reading_evidence import exposure_rows, with_evidence
from spa.responses.store import Store
from spa.responses.submission import Missing, RaterCondition, Response, Submission
from spa.responses.tidy_tables import ANNOTATORS, ASKED, DASHBOARD_LOG, DECISIONS, EXCLUSIONS, ROWS, Tables
from spa.responses.two_reviewers import read_visit_decisions, reviews_of, settled_decisions, two_decide
from spa.study.assignment import Assignment, BlindingKey


@dataclass(frozen=True, slots=True)
class AssignmentLabels:
    """What the labels of one assignment hide, and in which column each stood."""

    systems: dict[str, str]
    positions: dict[str, int]  # 1-based


@dataclass(slots=True)
class Annotator:
    """What is gathered about one annotator while submissions are read."""

    annotator_kind: str
    source: str
    people_group: str | None = None
    submissions: int = 0
    broken_off: int = 0
    sessions: set[int] = field(default_factory=set)
    eligible: list[bool] = field(default_factory=list)
    checks: list[bool] = field(default_factory=list)
    seconds: float | None = None
    own_words: dict[str, str | None] = field(default_factory=dict)  # by column: screening:ID, interview:ID

    def count(self, submission: Submission, *, complete: bool) -> None:
        """Count a visit, with its session, its time and the group that it came with."""
        self.submissions += complete
        self.broken_off += not complete
        self.sessions.add(submission.session)
        self.people_group = submission.people_group or self.people_group
        if submission.seconds is not None:
            self.seconds = (self.seconds or 0.0) + submission.seconds

    def note(self, answer: Response | Missing) -> None:
        """Note what is no row of a table: an attention check, a screening question, what was said in the interview."""
        if not _is_due(answer):
            return
        value = answer.value if isinstance(answer, Response) else None
        match answer.target:
            case CheckTarget() as target:
                self.checks.append(value is not None and _is_expected(value, target.expected))
            case ScreeningTarget() as target:
                self.eligible.append(value in target.eligible)
                self.own_words[f"screening:{target.screening_id}"] = _printable(answer.raw)
            case InterviewTarget() as target:
                self.own_words[f"interview:{target.interview_id}"] = _printable(answer.raw) or None


def export_tables(
    store: Store,
    *,
    incomplete: Iterable[Submission] = (),
    form_of: Callable[[str], Form] | None = None,
    counted: Collection[str] | None = None,
) -> Tables:
    """Build the tidy tables of a store.

    Parameters
    ----------
    store : Store
        Its completed submissions are exported.
    incomplete : iterable of Submission, optional
        Answers of visits that did not end (``visit`` is "incomplete"). With any, every table has a column
        ``complete``; an annotator's says whether any visit ended.
    form_of : callable, optional
        Takes the id of an assignment and returns its form. Without it the table ``reading`` is empty.
    counted : collection of str, optional
        Submission ids: no other visits of people are exported, and these as they were when they ended.

    Returns
    -------
    Tables
        One row an answer. A missing answer has an empty value and its ``missing_reason``.
    """
    unblinded = _unblind(store)
    gathered = _Gathered(store, form_of)
    for submission in store.submissions():
        if counted is not None and submission.annotator_kind != "llm":
            if submission.submission_id not in counted:
                continue
            submission = replace(submission, extra=False)
        gathered.add(submission, unblinded(submission), complete=True)
    partial = list(incomplete)
    for submission in partial:
        gathered.add(submission, unblinded(submission), complete=False)
    tables = gathered.tables(with_complete=bool(partial), exclusions=_exclusions_by_reviewers(store))
    return replace(tables, decisions=_two_reviewers_log(store), dashboard_log=_dashboard_log(store))


class _Gathered:
    """Rows of all tables, gathered submission by submission."""

    def __init__(self, store: Store, form_of: Callable[[str], Form] | None) -> None:
        self._store = store
        self._form_of = form_of
        self.rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in ROWS}
        self.annotators: dict[str, Annotator] = {}

    def add(self, submission: Submission, hidden: AssignmentLabels, *, complete: bool) -> None:
        """Add the rows of one submission."""
        annotator = self.annotators.setdefault(
            submission.annotator_id,
            Annotator(annotator_kind=submission.annotator_kind, source=submission.source),
        )
        annotator.count(submission, complete=complete)
        who = (submission.annotator_id, submission.annotator_kind, submission.assignment_id)
        condition, visit = _condition_cells(submission.asked), _visit_cells(submission)
        explained = _explanations(submission.answers)
        self.rows["reading"] += [(*who, *cells, *visit, complete) for cells in self._exposures(submission, hidden)]
        for answer in submission.answers:
            value = answer.value if isinstance(answer, Response) else None
            reason = _printable(answer.reason) if isinstance(answer, Missing) else None
            match answer.target:
                case PreferenceTarget() as target:
                    table, cells = "preferences", [_preference(target, value, hidden.systems)]
                case RatingTarget() as target:
                    table, cells = "ratings", [_rating(target, value, hidden)]
                case ChoiceTarget() as target:
                    table, cells = "choices", [_choice(target, value, hidden.systems)]
                case RankingTarget() as target:
                    table, cells = "orders", list(_order(target, value, hidden.systems))
                case SpanTarget() as target:
                    table, cells = "spans", _spans(target, value, hidden)
                case _:
                    annotator.note(answer)
                    if isinstance(answer.target, CheckTarget) and answer.target.kind == "identical_pair":
                        if _is_due(answer):
                            rated = _identical_pair(answer.target, value)
                            row = (*who, *rated, *condition, reason, *visit, complete)
                            self.rows["identical_pairs"].append(row)
                    continue
            level = answer.level if isinstance(answer, Missing) else None
            read = _reading_cells(answer, submission.asked)
            end = (*condition, *read, explained.get(target), reason, level, *visit, complete)
            self.rows[table] += [(*who, *row, *end) for row in cells]

    def _exposures(self, submission: Submission, hidden: AssignmentLabels) -> Iterable[tuple[object, ...]]:
        if self._form_of is None or submission.annotator_kind == "llm":
            return ()
        evidence = with_evidence(self._store.visits.payloads(submission.submission_id))
        if not evidence:
            return ()
        form = self._form_of(submission.assignment_id)
        return exposure_rows(form, evidence, hidden.systems, hidden.positions)

    def tables(self, *, with_complete: bool, exclusions: pl.DataFrame) -> Tables:
        """Build the tables from what was gathered."""

        def frame(rows: list[tuple[object, ...]], columns: dict[str, Any]) -> pl.DataFrame:
            built = pl.DataFrame(rows, schema={**columns, "complete": pl.Boolean}, orient="row")
            return built if with_complete else built.drop("complete")

        columns = list(dict.fromkeys(name for each in self.annotators.values() for name in each.own_words))
        rows = [
            (*_annotator_row(annotator_id, each), *map(each.own_words.get, columns), each.submissions > 0)
            for annotator_id, each in self.annotators.items()
        ]
        return Tables(
            **{table: frame(self.rows[table], names) for table, names in ROWS.items()},
            annotators=frame(rows, {**ANNOTATORS, **dict.fromkeys(columns, pl.String)}),
            exclusions=exclusions,
        )


def _annotator_row(annotator_id: str, each: Annotator) -> tuple[object, ...]:
    is_llm = each.annotator_kind == "llm"  # rules about screening and checks are for people
    screened = int(all(each.eligible)) if each.eligible and not is_llm else None
    checked = bool(each.checks) and not is_llm
    return (
        annotator_id,
        each.annotator_kind,
        each.source,
        each.submissions or each.broken_off,
        None if is_llm else len(each.sessions),
        each.people_group,
        screened,
        each.checks.count(False) if checked else None,
        len(each.checks) if checked else None,
        each.seconds,
    )


def _visit_cells(submission: Submission) -> tuple[object, ...]:
    """Return the columns ``VISIT``: extra answers are distinguished from those that hold a place."""
    if submission.annotator_kind == "llm":
        return (None, None)
    return submission.session, "extra" if submission.extra else submission.outcome


def _condition_cells(condition: RaterCondition | None) -> tuple[object, ...]:
    return tuple(getattr(condition, name, None) for name in ASKED)


def _reading_cells(answer: Response | Missing, condition: RaterCondition | None) -> tuple[object, ...]:
    """Return the columns ``READ``: the mass of a distribution, and whether another reading of the reply differs."""
    mass = None
    if condition is not None and condition.readout == "logit" and (answer.raw or "").startswith('{"probabilities"'):
        mass = json.loads(answer.raw or "")["mass"]
    return mass, None if answer.readings_differ is None else int(answer.readings_differ)


def _explanations(answers: Iterable[Response | Missing]) -> dict[ExplainedTarget, str | None]:
    """Return what was written about an answer, by what that answer is about."""
    return {
        answer.target.of: _printable(str(answer.value))
        for answer in answers
        if isinstance(answer.target, ExplanationTarget) and isinstance(answer, Response) and answer.value
    }


def _preference(target: PreferenceTarget, value: object, systems: dict[str, str]) -> tuple[object, ...]:
    x, y = target.label_x, target.label_y
    return (systems[x], systems[y], value, target.criterion, target.exposure, int(target.asked_first), "spa", x, y)


def _rating(target: RatingTarget, value: object, hidden: AssignmentLabels) -> tuple[object, ...]:
    return (
        target.item_id,
        hidden.systems[target.label],
        target.criterion,
        value,
        target.elicitation,
        target.sample,
        target.label,
        hidden.positions.get(target.label),
    )


def _spans(target: SpanTarget, value: object, hidden: AssignmentLabels) -> list[tuple[object, ...]]:
    """Return a row an error; one row where none was marked, or nothing was answered."""
    output = target.item_id, hidden.systems[target.label], target.criterion
    shown = "spans", target.sample, target.label, hidden.positions.get(target.label)
    if not isinstance(value, str):
        return [(*output, *(None,) * 8, *shown)]
    marked = spans_from_json(value)
    if not marked.spans:
        return [(*output, *(None,) * 6, NO_ERRORS, marked.characters, *shown)]
    return [(*output, *_span(span), marked.characters, *shown) for span in marked.spans]


def _span(span: MarkedSpan) -> tuple[object, ...]:
    reason, text = _printable(span.reason), _printable(span.text)
    return span.start, span.end, text, span.severity, span.weight, span.category, reason


def _identical_pair(target: CheckTarget, value: object) -> tuple[object, ...]:
    pair, _, criterion = target.check_id.partition("/")
    return pair, criterion, value, float(target.expected)


def _choice(target: ChoiceTarget, value: object, systems: dict[str, str]) -> tuple[object, ...]:
    x, y = target.label_x, target.label_y
    return (
        target.item_id,
        systems[x],
        systems[y],
        target.criterion,
        value,
        "choice",
        target.sample_x,
        target.sample_y,
        x,
        y,
    )


def _order(target: RankingTarget, value: object, systems: dict[str, str]) -> Iterator[tuple[object, ...]]:
    """Yield a row for each output of an ordering, in the order of the page."""
    ranks = ranks_of(value) if isinstance(value, str) else {}
    for position, (label, sample) in enumerate(zip(target.labels, target.samples, strict=True), start=1):
        rank = ranks.get(label)
        yield target.item_id, systems[label], target.criterion, rank, "ranking", sample, label, position


def _exclusions_by_reviewers(store: Store) -> pl.DataFrame:
    """Return what reviewers excluded, as standing decisions say it; names of reviewers stay in the store."""
    with store.reading() as connection:
        decided = read_visit_decisions(connection)
    left_out = {each.submission_id: each.exclusion for each in decided.values() if each.exclusion is not None}
    rows = [
        (lease.annotator_id, lease.annotator_kind, lease.assignment_id, "review", _evidence(left_out[visit]))
        for lease in (store.visits.leases() if left_out else ())
        if (visit := lease.submission_id) in left_out
    ]
    return pl.DataFrame(rows, schema=EXCLUSIONS, orient="row")


def _dashboard_log(store: Store) -> pl.DataFrame:
    """Return who decided, took files away or looked behind the labels, and when, oldest first."""
    with store.reading() as connection:
        lines = both_logs(read_entries(connection), read_decisions(connection))
    visits = {lease.submission_id: lease for lease in (store.visits.leases() if lines else ())}
    rows = []
    for line in lines:
        visit = visits.get(line.submission_id or "")
        of_whom: tuple[str | None, str | None, str | None] = (None, None, None)
        if visit is not None:
            of_whom = (visit.annotator_id, visit.annotator_kind, visit.assignment_id)
        rows.append((*of_whom, line.when, _printable(line.who), line.action, line.decision, _printable(line.detail)))
    return pl.DataFrame(rows, schema=DASHBOARD_LOG, orient="row")


def _two_reviewers_log(store: Store) -> pl.DataFrame:
    """Return the log where two reviewers decide: which entries stand, and which were made without seeing another's."""
    with store.reading() as connection:
        log = read_decisions(connection) if two_decide(connection) else []
    independent = {each.number for review in reviews_of(log) for each in review.independent or ()}
    undone = {each.undoes for each in log}
    stands = {each.number for each in log if each.action == "settle"} - undone
    stands |= {each.number for standing in settled_decisions(log).values() for each in standing.decisions}
    visits = {lease.submission_id: lease for lease in (store.visits.leases() if log else ())}
    rows = [
        (
            (visit := visits[each.submission_id]).annotator_id,
            visit.annotator_kind,
            visit.assignment_id,
            each.number,
            _printable(each.reviewer),
            datetime.fromtimestamp(each.decided_at, UTC).isoformat(timespec="seconds"),
            each.action,
            _printable(each.rule),
            _printable(each.note),
            None if each.amount is None else str(each.amount),
            each.undoes,
            int(each.number in independent),
            int(each.number in stands),
        )
        for each in log
    ]
    return pl.DataFrame(rows, schema=DECISIONS, orient="row")


def _evidence(decision: Decision) -> str | None:
    return _printable(": ".join(part for part in (decision.rule, decision.note) if part))


def _unblind(store: Store) -> Callable[[Submission], AssignmentLabels]:
    """Return a function that gives the labels of the assignment of a submission."""
    drawn = zip(store.assignments, store.assignments.keys(), strict=True)
    for_people = {key.assignment_id: _labels(assignment, key) for assignment, key in drawn}
    adapted = store.assignments.draws(store.assignments.adapted_ids(), "llm")
    for_llms = for_people | {name: _labels(*draw) for name, draw in adapted.items()}
    return lambda visit: (for_llms if visit.annotator_kind == "llm" else for_people)[visit.assignment_id]


def _labels(assignment: Assignment, key: BlindingKey) -> AssignmentLabels:
    positions = {label: place for block in assignment.blocks for place, label in enumerate(block.labels, start=1)}
    return AssignmentLabels(systems=key.systems, positions=positions)


def _is_due(answer: Response | Missing) -> bool:
    """Return whether an answer was waited for; a visit that ended at the screening has questions never shown."""
    return isinstance(answer, Response) or answer.raw is not None or answer.reason == NO_ANSWER


def _printable(text: str | None) -> str | None:
    """Spell out lone surrogates, which no file format takes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_expected(value: float | str, expected: str) -> bool:
    if isinstance(value, str):
        return value == expected
    try:
        return Decimal(repr(value)) == Decimal(expected)
    except InvalidOperation:
        return False
