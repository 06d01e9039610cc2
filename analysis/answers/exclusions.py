"""Whose answers leave the analysis, each with the rule and the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.answers.careless import CarelessCheck, check_careless, declared_rules
from analysis.answers.columns import LAYOUTS
from analysis.answers.consistency import Failure, find_failures
from analysis.answers.controls import ControlCheck, control_checks
from analysis.answers.groups import distinct
from analysis.answers.plan import Plan
from analysis.answers.post_screening import (
    ANCHOR_RULE,
    BS1534,
    P808,
    REFERENCE_RULE,
    VOTES_RULE,
    check_listeners,
    check_scale,
    constant_votes,
    listener_evidence,
    votes_evidence,
)
from analysis.answers.tables import AnswerTables, answered_rows
from analysis.answers.unnamed import named_rows
from analysis.statistics.coding import FEW
from spa.errors import AnalysisError

CONSISTENCY = "self_consistency"
VISITS = {  # what the column ``visit`` says, the rule that it falls under, and the evidence
    "extra": ("extra_answers", "came when the place had been given to somebody else, or the study had passed over it"),
    "incomplete": ("incomplete_answers", "the visit was not completed"),
    "failed_checks": ("ended_early", "the visit ended after failed attention checks"),
    "quota_full": ("ended_early", "the visit ended because the quota group was full"),
}
LISTED = 3  # failing comparisons that the evidence spells out


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """One annotator (``assignment_id`` is ``None``) or one assignment that leaves, by which rule and why.

    An LLM's assignment leaves for one ``variant`` of asking: "" is the plain one beside others that have
    a name, ``None`` says that the preferences tell none apart.
    """

    annotator_id: str
    assignment_id: str | None
    group: str
    rule: str
    evidence: str
    variant: str | None = None


def find_exclusions(tables: AnswerTables, plan: Plan) -> list[Exclusion]:
    """Apply the rules of the plan.

    Rules
    -----
    ``screening``, ``attention_checks``, ``repeat_submissions``
        For people (and simulated annotators, who stand for people), from the annotators table. Sessions
        of a study in several are no repeats. Whoever it gives no count of submissions submitted more than
        once where two assignments answer the same question.
    ``extra_answers``, ``incomplete_answers``, ``ended_early``
        From the column ``visit`` of the answers: the assignment leaves, or the annotator where the table
        names no assignment.
    ``outputs_seen``, ``reading_speed``, ``relative_speed``, ``same_answers``
        For people, where the plan declares them: :mod:`analysis.answers.careless`.
    ``hidden_reference``, ``mid_anchor``, ``constant_votes``
        For people of a listening test, where the plan declares them: :mod:`analysis.answers.post_screening`.
    ``self_consistency``
        For everybody, from preferences asked in both directions (of the first submission where only
        that is kept). A failing person leaves entirely; of an LLM the failing assignment leaves.
    ``attention_checks``, of controls
        For people, where the plan lets systems that are controls count as checks, beside those of the annotators table.
    any other
        As the table of exclusions gives it: a decision taken by people, with its evidence.

    Whoever answered nothing is not excluded: nothing would leave.

    Returns
    -------
    list of Exclusion
        One row an annotator (or assignment) and rule.
    """
    there = _answered_in(tables)
    given = [*_by_visit(tables, plan), *_who_answered(_as_given(tables), there)]
    found = [
        *_who_answered(_by_annotators_table(tables, plan), there),
        *_by_controls(tables, plan),
        *_by_repeated_answers(tables, plan, given),
        *given,
    ]
    found += _as_careless(careless_checks(tables, plan, found))
    found += _by_post_screening(tables, plan, found)
    asked = tables.item_preferences if tables.preferences is None else tables.preferences
    if asked is not None and plan.consistency_tau is not None:
        later = [row for row in found if row.assignment_id is not None]
        answered = named_rows(apply_exclusions(asked, later))
        failures = find_failures(answered, plan.consistency_tau)
        found += _by_consistency(failures, _with_several_variants(asked))
    return found


def _answered_in(tables: AnswerTables) -> dict[str, set[str | None]]:
    """Return the assignments of everybody who stands in a table of answers."""
    found: dict[str, set[str | None]] = {}
    for table in tables.answers().values():
        for annotator_id, assignment_id in distinct(table, "annotator_id", "assignment_id").iter_rows():
            found.setdefault(annotator_id, set()).add(assignment_id)
    return found


def _who_answered(rows: Iterable[Exclusion], answered: Mapping[str, set[str | None]]) -> list[Exclusion]:
    """Return the exclusions by which answers leave; all where answers are read elsewhere."""
    if not answered:
        return [*rows]
    return [
        row
        for row in rows
        if row.assignment_id in {None, *answered.get(row.annotator_id, ())} and row.annotator_id in answered
    ]


def careless_checks(tables: AnswerTables, plan: Plan, exclusions: Sequence[Exclusion]) -> list[CarelessCheck]:
    """Judge people by the rules of careless answering that the plan declares, without visits that do not count."""
    if not declared_rules(plan):
        return []
    answers, reading = answers_judged(tables, tables.reading, exclusions)
    return list(check_careless(answers, reading, plan, tables.annotators))


def answers_judged(
    tables: AnswerTables, reading: pl.DataFrame | None, exclusions: Sequence[Exclusion]
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame | None]:
    """Return by what people are judged: answers of those who have names, and how they read, of visits that count."""
    visits = [row for row in exclusions if row.assignment_id is not None]
    named = {name: named_rows(table) for name, table in tables.answers().items()}
    answers = {name: apply_exclusions(table, visits) for name, table in named.items()}
    return answers, None if reading is None else apply_exclusions(reading, visits)


def apply_exclusions(table: pl.DataFrame, exclusions: Sequence[Exclusion]) -> pl.DataFrame:
    """Return the rows of an answer table that no exclusion concerns.

    An LLM's assignment leaves with the variant that failed; where no variants of this LLM are told apart,
    here or in the preferences, every row that names the assignment leaves.
    """
    several_variants = _with_several_variants(table)
    keys: dict[tuple[str, ...], set[tuple[str | None, ...]]] = {}
    for row in exclusions:
        columns: tuple[str, ...] = ("annotator_id",)
        if row.assignment_id is not None:
            columns += ("assignment_id",)
        if row.rule == CONSISTENCY and row.variant is not None and row.annotator_id in several_variants:
            columns += ("variant",)
        keys.setdefault(columns, set()).add(tuple(getattr(row, name) for name in columns))
    kept = table
    for columns, wrong in keys.items():
        gone = pl.DataFrame(list(wrong), dict.fromkeys(columns, pl.String), orient="row")
        strings = {name: pl.col(name).cast(pl.String) for name in columns}
        here = [own.fill_null("") if name == "variant" else own for name, own in strings.items()]
        kept = kept.join(gone, left_on=here, right_on=columns, how="anti", nulls_equal=True, maintain_order="left")
    return kept


def _with_several_variants(table: pl.DataFrame) -> set[str]:
    if table["variant"].null_count() == table.height:
        return set()
    return set(table.filter(pl.col("variant").is_not_null())["annotator_id"].unique().to_list())


def _by_annotators_table(tables: AnswerTables, plan: Plan) -> list[Exclusion]:
    if tables.annotators is None:
        return []
    found = []
    groups: dict[str, str] = {}
    for table in (*tables.answers().values(), tables.annotators):
        for who, group in distinct(table, "annotator_id", "group").iter_rows():
            groups.setdefault(who, group)
    for row in tables.annotators.filter(pl.col("annotator_kind") != "llm").iter_rows(named=True):
        annotator_id = row["annotator_id"]
        whole = Exclusion(
            annotator_id=annotator_id, assignment_id=None, group=groups[annotator_id], rule="", evidence=""
        )
        if row.get("screening_passed") is False:
            found.append(replace(whole, rule="screening", evidence="gave no eligible answer to a screening question"))
        failed = row.get("checks_failed") or 0
        if failed > plan.max_failed_checks:
            of = "" if row.get("checks_total") is None else f" of {row['checks_total']}"
            evidence = f"failed {failed}{of} attention checks, {plan.max_failed_checks} allowed"
            found.append(replace(whole, rule="attention_checks", evidence=evidence))
        submissions, sessions = row.get("submissions") or 0, row.get("sessions") or 1
        if submissions > sessions:
            allowed = "one allowed" if sessions == 1 else f"one allowed in each of {sessions} sessions"
            repeated = replace(whole, rule="repeat_submissions", evidence=f"{submissions} submissions, {allowed}")
            found += [repeated] if plan.repeat_submissions == "exclude" else _later_assignments(tables, repeated)
    return found


def _by_post_screening(tables: AnswerTables, plan: Plan, found: Sequence[Exclusion]) -> Iterator[Exclusion]:
    """Leave out listeners by the rules that the plan declares; of votes without variance the session."""
    left = left_out_by(found)
    if BS1534 in plan.post_screening:
        check_scale(tables.ratings, tables.unranked, tables.scales)
        for group, annotator_id, rule, evidence in listener_evidence(check_listeners(tables.unranked, left_out=left)):
            yield Exclusion(annotator_id=annotator_id, assignment_id=None, group=group, rule=rule, evidence=evidence)
    if P808 in plan.post_screening:
        for row in constant_votes(tables.ratings, tables.unranked, left_out=left):
            yield Exclusion(
                annotator_id=row.annotator_id,
                assignment_id=row.assignment_id,
                group=row.group,
                rule=VOTES_RULE,
                evidence=votes_evidence(row),
            )


def left_out_by(exclusions: Iterable[Exclusion]) -> set[tuple[str, str | None]]:
    """Return whose answers leave, whole or one assignment, by other rules than those of listening tests."""
    own = {REFERENCE_RULE, ANCHOR_RULE, VOTES_RULE}
    return {(row.annotator_id, row.assignment_id) for row in exclusions if row.rule not in own}


def _by_controls(tables: AnswerTables, plan: Plan) -> list[Exclusion]:
    """Leave out people who preferred controls too often, counted with the checks that the annotators table knows."""
    allowed, asked = plan.max_failed_controls, tables.annotators
    if allowed is None:
        return []
    known: dict[str, tuple[int, int]] = {}
    if asked is not None and "checks_failed" in asked.columns:
        every = pl.col("checks_total") if "checks_total" in asked.columns else pl.lit(0)
        rows = asked.select("annotator_id", pl.col("checks_failed").fill_null(0), every.fill_null(0))
        known = {who: (failed, of) for who, failed, of in rows.iter_rows()}
    people: dict[tuple[str, str], list[ControlCheck]] = {}
    for check in control_checks(tables.controls, plan.lower_is_better):
        if check.annotator_kind != "llm":
            people.setdefault((check.annotator_id, check.group), []).append(check)
    found = []
    for (annotator_id, group), checks in people.items():
        before, of = known.get(annotator_id, (0, 0))
        failed, total = before + sum(one.failed for one in checks), of + sum(one.total for one in checks)
        if before <= plan.max_failed_checks and failed > allowed:
            systems = ", ".join(dict.fromkeys(one.system for one in checks if one.failed))
            evidence = f"failed {failed} of {total} attention checks (controls: {systems}), {allowed} allowed"
            found.append(
                Exclusion(
                    annotator_id=annotator_id,
                    assignment_id=None,
                    group=group,
                    rule="attention_checks",
                    evidence=evidence,
                )
            )
    return found


def _by_repeated_answers(tables: AnswerTables, plan: Plan, given: Sequence[Exclusion]) -> list[Exclusion]:
    """Find repeated submissions in the answers of people whose submissions nobody counted.

    What is ``given`` leaves first: a submission that was replaced is not repeated.
    """
    counted = set()
    if tables.annotators is not None and "submissions" in tables.annotators.columns:
        counted = set(tables.annotators.filter(pl.col("submissions").is_not_null())["annotator_id"].to_list())
    repeats: dict[tuple[str, str], dict[str, int]] = {}
    for source, table in tables.answers().items():
        for annotator_id, group, assignment_id, n in _repeated_answers(table, source, counted, given):
            own = repeats.setdefault((annotator_id, group), {})
            own[assignment_id] = own.get(assignment_id, 0) + n
    found = []
    for (annotator_id, group), own in repeats.items():
        whole = plan.repeat_submissions == "exclude"
        left_out = [(None, sum(own.values()))] if whole else list(own.items())
        for left, n in left_out:
            answers = f"{n} question{'s' if n != 1 else ''} answered in an earlier assignment as well"
            found.append(
                Exclusion(
                    annotator_id=annotator_id,
                    assignment_id=left,
                    group=group,
                    rule="repeat_submissions",
                    evidence=f"{answers} (a column repeat numbers repeats that are intended)",
                )
            )
    return found


def _repeated_answers(
    table: pl.DataFrame, source: str, counted: set[str], given: Sequence[Exclusion]
) -> list[tuple[str, str, str, int]]:
    """Return the assignments that answer again what the person answered in one before: whose, which, how many."""
    people = sorted(_with_several_assignments(table) - counted)
    if not people:
        return []
    rows = answered_rows(table).filter(pl.col("annotator_id").cast(pl.String).is_in(people))
    rows = rows.filter(pl.col("annotator_kind") != "llm", pl.col("assignment_id").is_not_null())
    rows = apply_exclusions(rows, given)
    question = [name for name in (*LAYOUTS[source].cell, "repeat") if name != "assignment_id"]
    first = pl.col("assignment_id").first().over(question)
    again = rows.filter(pl.col("assignment_id") != first)
    strings = pl.col("annotator_id", "group", "assignment_id").cast(pl.String)
    counts = again.group_by("annotator_id", "group", "assignment_id", maintain_order=True).len().with_columns(strings)
    return counts.rows()


def _with_several_assignments(table: pl.DataFrame) -> set[str]:
    if table.height <= FEW:
        own: dict[str, str] = {}
        rows = zip(table["annotator_id"].to_list(), table["assignment_id"].to_list(), strict=True)
        pairs = ((who, visit) for who, visit in rows if who is not None and visit is not None)
        return {who for who, visit in pairs if own.setdefault(who, visit) != visit}
    who = ["annotator_id", "assignment_id"]
    several = table.lazy().select(who).drop_nulls().unique().group_by("annotator_id").len().filter(pl.col("len") > 1)
    return {*several.select(pl.col("annotator_id").cast(pl.String)).collect()["annotator_id"].to_list()}


def _by_visit(tables: AnswerTables, plan: Plan) -> list[Exclusion]:
    """Leave out late and incomplete visits and those that ended early, as far as the plan says so."""
    kept = {
        rule
        for rule, choice in (("extra_answers", plan.extra_answers), ("incomplete_answers", plan.incomplete_answers))
        if choice == "keep"
    }
    columns = ("annotator_id", "assignment_id", "group", "visit")
    seen: dict[tuple[str | None, ...], None] = {}
    for table in tables.answers().values():
        if "visit" in table.columns and table["visit"].null_count() < table.height:
            flagged = table.select(pl.col(columns).cast(pl.String)).filter(pl.col("visit").is_in(list(VISITS)))
            seen |= dict.fromkeys(flagged.unique(maintain_order=True).iter_rows())
    return [
        Exclusion(
            annotator_id=str(annotator_id),
            assignment_id=assignment_id,
            group=str(group),
            rule=VISITS[str(visit)][0],
            evidence=VISITS[str(visit)][1],
        )
        for annotator_id, assignment_id, group, visit in seen
        if VISITS[str(visit)][0] not in kept
    ]


def _as_given(tables: AnswerTables) -> list[Exclusion]:
    """Take over the table of exclusions."""
    if tables.exclusions is None:
        return []
    columns = ("annotator_id", "assignment_id", "group", "rule", "evidence")
    rows = tables.exclusions.select(pl.col(columns).cast(pl.String)).unique(maintain_order=True)
    return [Exclusion(**{**row, "evidence": row["evidence"] or "no reason was noted"}) for row in rows.to_dicts()]


def _later_assignments(tables: AnswerTables, repeated: Exclusion) -> list[Exclusion]:
    """Exclude all but the assignment that appears first in the tables."""
    order: dict[str | None, None] = {}
    for table in tables.answers().values():
        own = table.filter(pl.col("annotator_id") == repeated.annotator_id)
        order |= dict.fromkeys(own["assignment_id"].unique(maintain_order=True).to_list())
    if None in order:
        raise AnalysisError(
            f'repeat_submissions = "first": annotator {repeated.annotator_id!r} has answers without assignment_id, '
            'so the first submission cannot be determined; add the column or choose "exclude"'
        )
    first, *later = order or [None]
    evidence = f"{repeated.evidence}; {first} came first"
    return [replace(repeated, assignment_id=assignment_id, evidence=evidence) for assignment_id in later]


def _as_careless(checks: Sequence[CarelessCheck]) -> list[Exclusion]:
    return [
        Exclusion(
            annotator_id=check.annotator_id,
            assignment_id=None,
            group=check.group,
            rule=check.rule,
            evidence=check.evidence or "",
        )
        for check in checks
        if check.excluded
    ]


def _by_consistency(failures: Sequence[Failure], several_variants: Collection[str]) -> list[Exclusion]:
    grouped: dict[tuple[str, str | None, str | None], list[Failure]] = {}
    for failure in failures:
        llm = failure.annotator_kind == "llm"
        variant = failure.variant or "" if failure.annotator_id in several_variants else None
        part = (failure.assignment_id, variant) if llm else (None, None)
        grouped.setdefault((failure.annotator_id, *part), []).append(failure)
    return [
        Exclusion(
            annotator_id=annotator_id,
            assignment_id=assignment_id,
            group=found[0].group,
            rule=CONSISTENCY,
            evidence=_evidence([failure.evidence for failure in found]),
            variant=variant,
        )
        for (annotator_id, assignment_id, variant), found in grouped.items()
    ]


def _evidence(lines: Sequence[str]) -> str:
    more = len(lines) - LISTED
    return "; ".join(lines[:LISTED]) + (f"; and {more} more" if more > 0 else "")


def excluded_counts(exclusions: Sequence[Exclusion], seen: pl.DataFrame) -> tuple[Counter[str], Counter[str]]:
    """Count, by group, the annotators that leave entirely and the single assignments that leave.

    ``seen`` lists group and annotator_id of all answers: who answered in two groups leaves both.
    """
    whole = {row.annotator_id for row in exclusions if row.assignment_id is None and row.variant is None}
    annotators = {(row.group, row.annotator_id) for row in exclusions if row.assignment_id is None}
    annotators |= {pair for pair in seen.select("group", "annotator_id").iter_rows() if pair[1] in whole}
    assignments = {
        (row.group, row.annotator_id, row.assignment_id, row.variant)
        for row in exclusions
        if row.assignment_id is not None
    }
    return Counter(key[0] for key in annotators), Counter(key[0] for key in assignments)
