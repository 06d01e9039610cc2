"""From the store to the tidy tables: unblinded, one row an answer, missing ones included.

Beside what an analysis needs, a row says what the annotator saw
(label, column), so that an effect of the place on the page can be looked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import islice

import polars as pl

from spa.forms.effort import usual_seconds
from spa.records.assignment import Assignment, AssignmentLabels, BlindingKey
from spa.records.clean_text import printable
from spa.records.form import (
    CheckTarget,
    ConductAsked,
    ExplanationTarget,
    Form,
    InterviewTarget,
    Judgement,
    ScreeningTarget,
)
from spa.records.submission import Missing, RaterCondition, Response, Submission
from spa.responses.conduct_rows import conduct_rows, may_have_conduct
from spa.responses.dashboard_log import both_logs, read_entries
from spa.responses.database import VISITS
from spa.responses.decisions import Decision, read_decisions
from spa.responses.outcomes import COMPLETED
from spa.responses.reading_rows import exposure_rows, exposures_of, may_be_measured
from spa.responses.store import Store
from spa.responses.tidy_tables import ANNOTATORS, ASKED, DASHBOARD_LOG, DECISIONS, EXCLUSIONS, RARE, Tables, row_tables
from spa.responses.two_reviewers import read_visit_decisions, reviews_of, settled_decisions, two_decide
from spa.study.narrowing import Respondents
from spa.widgets.payload import NO_ANSWER

GATHERED = 10_000  # rows of a table that wait as rows


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
    usual_seconds: float | None = None
    passed_seconds: float | None = None
    own_words: dict[str, str | None] = field(default_factory=dict)  # by column: screening:ID, interview:ID

    def count(self, submission: Submission, *, complete: bool) -> None:
        """Count a visit, with its session, its time and the group that it came with."""
        self.submissions += complete
        self.broken_off += not complete
        self.sessions.add(submission.session)
        self.people_group = submission.people_group or self.people_group
        if submission.seconds is not None:
            self.seconds = (self.seconds or 0.0) + submission.seconds

    def clock(self, usual: float, passed: float) -> None:
        """Add a visit's time on the server's clock, beside that in which its words are usually read."""
        self.usual_seconds = (self.usual_seconds or 0.0) + usual
        self.passed_seconds = (self.passed_seconds or 0.0) + passed

    def note(self, answer: Response | Missing) -> None:
        """Note what is no row of a table: an attention check, a screening question, what was said in the interview."""
        if not _is_due(answer):
            return
        value = answer.value if isinstance(answer, Response) else None
        match answer.target:
            case CheckTarget() as target:
                right = value is not None and any(_is_expected(value, one) for one in target.accepted)
                self.checks.append(right)
            case ScreeningTarget() as target:
                self.eligible.append(value in target.eligible)
                self.own_words[f"screening:{target.screening_id}"] = printable(answer.raw)
            case InterviewTarget() as target:
                self.own_words[f"interview:{target.interview_id}"] = printable(answer.raw) or None


def export_tables(
    store: Store,
    *,
    incomplete: Iterable[Submission] = (),
    form_of: Callable[[str], Form] | None = None,
    counted: Collection[str] | None = None,
    coded: Collection[str] = (),
    conduct: ConductAsked | None = None,
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
    coded : collection of str, optional
        Tables of answers whose texts are of polars' categorical type, a quarter of the memory.
    conduct : ConductAsked, optional
        What the study's pages record of how they are filled in: where they count, those that came without evidence are
        rows of the table ``conduct`` too. Without it, or without ``form_of``, that table is empty.

    Returns
    -------
    Tables
        One row an answer. A missing answer has an empty value and its ``missing_reason``.
    """
    labels = _Labels(store)
    gathered = _Gathered(store, form_of, coded, conduct)
    for submission, hidden in labels.beside(store.submissions()):
        if counted is not None and submission.annotator_kind != "llm":
            if submission.submission_id not in counted:
                continue
            submission = replace(submission, extra=False)
        gathered.add(submission, hidden, complete=True)
    partial = list(incomplete)
    for submission, hidden in labels.beside(partial):
        gathered.add(submission, hidden, complete=False)
    tables = gathered.tables(with_complete=bool(partial), exclusions=_exclusions_by_reviewers(store))
    return replace(tables, decisions=_two_reviewers_log(store), dashboard_log=_dashboard_log(store))


def visit_tables(
    store: Store,
    visits: Iterable[tuple[Submission, AssignmentLabels]],
    *,
    form_of: Callable[[str], Form] | None = None,
) -> Tables:
    """Build the tidy tables of some visits that have ended, as if there were no other.

    What reviewers decided is left out; ``form_of`` is as for :func:`export_tables`.
    """
    gathered = _Gathered(store, form_of, ())
    for submission, hidden in visits:
        gathered.add(submission, hidden, complete=True)
    return gathered.tables(with_complete=False, exclusions=pl.DataFrame(schema=EXCLUSIONS))


def visit_exposures(
    store: Store, submission: Submission, hidden: AssignmentLabels, form_of: Callable[[str], Form] | None
) -> Iterable[tuple[object, ...]]:
    """Return how a person's visit was read: rows of the columns ``EXPOSED``.

    Nothing without ``form_of``, which takes the id of an assignment and returns its form.
    """
    if form_of is None or submission.annotator_kind == "llm":
        return ()
    payloads = store.visits.payloads(submission.submission_id)
    if not may_be_measured(payloads):
        return ()
    form = form_of(submission.assignment_id)
    exposures = exposures_of(
        form,
        payloads,
        submission_id=submission.submission_id,
        keyed=store.keyed,
        clocked=submission.annotator_kind == "human",
    )
    return exposure_rows(form, exposures, hidden.systems, hidden.positions)


def visit_clock(store: Store, submission: Submission, form_of: Callable[[str], Form]) -> tuple[float, float] | None:
    """Return the seconds that a form's words usually take, and that passed on the server's clock; of people's visits.

    A completed visit may have gone on under another name of the platform's.
    """
    if submission.annotator_kind != "human" or submission.outcome != COMPLETED or submission.seconds is None:
        return None
    received = [payload.received_at for payload in store.visits.payloads(submission.submission_id)]
    passed = max(submission.seconds, max(received, default=0.0) - min(received, default=0.0))
    return usual_seconds(form_of(submission.assignment_id)), passed


def visit_conduct_rows(
    store: Store, submission: Submission, form_of: Callable[[str], Form], asked: ConductAsked
) -> Iterable[tuple[object, ...]]:
    """Return how the pages of a person's visit were filled in: columns of ``CONDUCT`` between whose and which visit."""
    if submission.annotator_kind == "llm":
        return ()
    payloads = store.visits.payloads(submission.submission_id)
    if not may_have_conduct(payloads, submission.annotator_kind, asked=asked.counts):
        return ()
    return conduct_rows(form_of(submission.assignment_id), payloads, asked)


class _Gathered:
    """Rows of all tables, gathered submission by submission."""

    def __init__(
        self,
        store: Store,
        form_of: Callable[[str], Form] | None,
        coded: Collection[str],
        conduct: ConductAsked | None = None,
    ) -> None:
        self._store = store
        self._coded = coded
        self._conduct = conduct
        self._form_of = form_of
        self.columns = {table: {**names, "complete": pl.Boolean} for table, names in row_tables().items()}
        self.rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in self.columns}
        self.frames: dict[str, list[pl.DataFrame]] = {table: [] for table in self.columns}
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
        self.rows["reading"] += [
            (*who, *cells, *visit, complete)
            for cells in visit_exposures(self._store, submission, hidden, self._form_of)
        ]
        if self._form_of is not None and self._conduct is not None:
            counted = visit_conduct_rows(self._store, submission, self._form_of, self._conduct)
            self.rows["conduct"] += [(*who, *cells, *visit, complete) for cells in counted]
        timed = None if self._form_of is None else visit_clock(self._store, submission, self._form_of)
        if timed is not None:
            annotator.clock(*timed)
        for answer in submission.answers:
            value = answer.value if isinstance(answer, Response) else None
            reason = printable(answer.reason) if isinstance(answer, Missing) else None
            target = answer.target
            if not isinstance(target, Judgement):
                annotator.note(answer)
                if isinstance(target, CheckTarget) and target.kind == "identical_pair" and _is_due(answer):
                    rated = _identical_pair(target, value)
                    self.rows["identical_pairs"].append((*who, *rated, *condition, reason, *visit, complete))
                continue
            level = answer.level if isinstance(answer, Missing) else None
            read = _reading_cells(answer, submission.asked)
            after = (reason, level, *visit, complete)
            written = explained.get(target)
            for row in target.rows(value, hidden):
                self.rows[target.table].append((*who, *row, *condition, *read, written, *after))
                written = None if target.explained_once else written
        for table, rows in self.rows.items():
            if len(rows) >= GATHERED:
                self._put_by(table)

    def _put_by(self, table: str) -> None:
        """Make a frame of the rows gathered so far, which takes a fraction of their memory."""
        frame = pl.DataFrame(self.rows[table], schema=self.columns[table], orient="row")
        self.frames[table].append(
            frame.with_columns(pl.col(pl.String).cast(pl.Categorical)) if table in self._coded else frame
        )
        self.rows[table].clear()

    def tables(self, *, with_complete: bool, exclusions: pl.DataFrame) -> Tables:
        """Build the tables from what was gathered."""

        def finished(frame: pl.DataFrame) -> pl.DataFrame:
            empty = [name for name in RARE if name in frame.columns and frame[name].null_count() == frame.height]
            return frame.drop(empty if with_complete else [*empty, "complete"])

        columns = list(dict.fromkeys(name for each in self.annotators.values() for name in each.own_words))
        rows = [
            (*_annotator_row(annotator_id, each), *map(each.own_words.get, columns), each.submissions > 0)
            for annotator_id, each in self.annotators.items()
        ]
        of_annotators = {**ANNOTATORS, **dict.fromkeys(columns, pl.String), "complete": pl.Boolean}
        for table in self.columns:
            self._put_by(table)
        frames = {table: finished(pl.concat(parts)) for table, parts in self.frames.items()}
        known = {one.name for one in fields(Tables)}
        return Tables(
            **{table: built for table, built in frames.items() if table in known},
            more={table: built for table, built in frames.items() if table not in known},
            annotators=finished(pl.DataFrame(rows, schema=of_annotators, orient="row")),
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
        *(None if time is None else round(time, 2) for time in (each.usual_seconds, each.passed_seconds)),
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


def _explanations(answers: Iterable[Response | Missing]) -> dict[Judgement, str | None]:
    """Return what was written about an answer, by what that answer is about."""
    return {
        answer.target.of: printable(str(answer.value))
        for answer in answers
        if isinstance(answer.target, ExplanationTarget) and isinstance(answer, Response) and answer.value
    }


def _identical_pair(target: CheckTarget, value: object) -> tuple[object, ...]:
    pair, _, criterion = target.check_id.partition("/")
    return pair, criterion, value, float(target.expected)


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
        rows.append((*of_whom, line.when, printable(line.who), line.action, line.decision, printable(line.detail)))
    return pl.DataFrame(rows, schema=DASHBOARD_LOG, orient="row")


def _two_reviewers_log(store: Store) -> pl.DataFrame:
    """Return the log where two reviewers decide: which entries stand, and which were made without seeing another's."""
    with store.reading() as connection:
        log = read_decisions(connection) if two_decide(connection) else []
    independent = {each.number for review in reviews_of(log) for each in review.independent or ()}
    undone = {each.undoes for each in log}
    stands = {each.number for each in log if each.action == "settle"} - undone
    stands |= {each.number for settled in settled_decisions(log).values() for each in settled.decisions}
    visits = {lease.submission_id: lease for lease in (store.visits.leases() if log else ())}
    rows = [
        (
            (visit := visits[each.submission_id]).annotator_id,
            visit.annotator_kind,
            visit.assignment_id,
            each.number,
            printable(each.reviewer),
            datetime.fromtimestamp(each.decided_at, UTC).isoformat(timespec="seconds"),
            each.action,
            printable(each.rule),
            printable(each.note),
            None if each.amount is None else str(each.amount),
            each.undoes,
            int(each.number in independent),
            int(each.number in stands),
        )
        for each in log
    ]
    return pl.DataFrame(rows, schema=DECISIONS, orient="row")


def _evidence(decision: Decision) -> str | None:
    return printable(": ".join(part for part in (decision.rule, decision.note) if part))


class _Labels:
    """What the labels of the assignments that were answered hide, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Respondents, dict[str, AssignmentLabels]] = {"people": {}, "llm": {}}

    def beside(self, submissions: Iterable[Submission]) -> Iterator[tuple[Submission, AssignmentLabels]]:
        """Yield submissions with the labels of their assignments."""
        stream = iter(submissions)
        while chunk := list(islice(stream, VISITS)):
            for respondents, known in self._known.items():
                asked = {visit.assignment_id for visit in chunk if _respondents(visit) == respondents}
                if unknown := sorted(asked - known.keys()):
                    draws = self._store.assignments.draws(unknown, respondents)
                    known |= {name: labels_of(*draw) for name, draw in draws.items()}
            yield from ((visit, self._known[_respondents(visit)][visit.assignment_id]) for visit in chunk)


def _respondents(visit: Submission) -> Respondents:
    return "llm" if visit.annotator_kind == "llm" else "people"


def labels_of(assignment: Assignment, key: BlindingKey) -> AssignmentLabels:
    """Return what the labels of an assignment hide, and where each stands."""
    positions = {label: place for block in assignment.blocks for place, label in enumerate(block.labels, start=1)}
    return AssignmentLabels(systems=key.systems, positions=positions)


def _is_due(answer: Response | Missing) -> bool:
    """Return whether an answer was waited for; a visit that ended at the screening has questions never shown."""
    return isinstance(answer, Response) or answer.raw is not None or answer.reason == NO_ANSWER


def _is_expected(value: float | str, expected: str) -> bool:
    if isinstance(value, str):
        return value == expected
    try:
        return Decimal(repr(value)) == Decimal(expected)
    except InvalidOperation:
        return False
