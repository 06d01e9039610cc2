"""``spa mturk approve``, ``reject`` and ``bonus``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mturk.commands.hit_study import (
    assignment_option,
    except_option,
    in_progress,
    open_hit_study,
    study_options,
    tell,
    waiting_line,
    when,
)
from spa.commands.options import yes_option

if TYPE_CHECKING:
    from decimal import Decimal

    from mturk import records
    from mturk.bonuses import BonusCost, MTurkBonus, Payer
    from mturk.commands.hit_study import HitStudy
    from mturk.decided_reviews import DecidedWork
    from mturk.reviewing import Due


@click.command(epilog="Example: spa mturk approve my-study/study.toml --yes")
@study_options
@assignment_option
@click.option("--also", metavar="ID", multiple=True, help="Approve this one too, despite its problem; repeatable.")
@except_option
@click.option("--feedback", help="Message to the annotators.")
@click.option("--override", is_flag=True, help="Reverse the rejection of the named submissions, within 30 days.")
@yes_option
def approve(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    also: tuple[str, ...],
    except_for: tuple[str, ...],
    feedback: str | None,
    override: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Approve submissions to STUDY: those named, or all without a problem and all that a reviewer approved.

    Submissions that a reviewer proposed to reject are skipped. Annotators excluded from the analysis are still paid.
    """
    from mturk.reviewing import Reviewer

    if named and (also or except_for):
        raise click.UsageError("--also and --except cannot be combined with --assignment")
    with open_hit_study(study, store, endpoint_url, changes=True) as hit_study:
        due = _due(hit_study, named, also, except_for, override=override)
        lines = [f"{len(due.works)} submissions: ${due.rewards} rewards + ${due.fees} fees = ${due.total}"]
        lines += [f"approved by a reviewer: {work.mturk_assignment_id}: {work.problem}" for work in due.vouched_for]
        lines += [f"to be decided by you: {work.mturk_assignment_id}: {reason}" for work, reason in due.left]
        facts: dict[str, Any] = {
            "assignments": [work.mturk_assignment_id for work in due.works],
            "vouched_for": {work.mturk_assignment_id: work.problem for work in due.vouched_for},
            "left": {work.mturk_assignment_id: reason for work, reason in due.left},
            "currency": "USD",
            "rewards": str(due.rewards),
            "fees": str(due.fees),
            "total": str(due.total),
            "approved": 0,
        }
        if not yes:
            tell([*lines, "Nothing was approved; add --yes to pay."], facts, as_json=as_json)
            return
        steps = Reviewer(hit_study.idempotent_calls, hit_study.endpoint).approve(
            due.works, feedback=feedback, override=override
        )
        done = list(in_progress(steps, label="approving", length=len(due.works), silent=as_json))
        facts["approved"] = len(done)
        tell([*lines, f"{len(done)} approved"], facts, as_json=as_json)


def _due(
    hit_study: HitStudy, named: tuple[str, ...], also: tuple[str, ...], except_for: tuple[str, ...], *, override: bool
) -> Due:
    import time

    from mturk.reviewing import named_to_approve, to_approve
    from spa.platforms.review import decided_by_reviewers

    store = hit_study.workspace.store
    if named or override:
        return named_to_approve(store, hit_study.endpoint, named, override=override, now=time.time())
    return to_approve(store, hit_study.endpoint, decided_by_reviewers(store), also=also, except_for=except_for)


@click.command(
    epilog='Examples: spa mturk reject my-study/study.toml --assignment 3X... --reason "Every answer is 50." --yes; '
    "spa mturk reject my-study/study.toml --decided"
)
@study_options
@assignment_option
@click.option("--reason", help="What was wrong, as a message to the annotator.")
@click.option(
    "--decided", is_flag=True, help="Reject those that reviewers proposed in the dashboard, with their messages."
)
@except_option
@yes_option
def reject(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    reason: str | None,
    decided: bool,
    except_for: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Reject submissions to STUDY: those named, or those that reviewers proposed.

    A rejection permanently lowers the annotator's approval rate.
    """
    from mturk.reviewing import Reviewer, check_reason, to_reject

    if decided != (reason is None) or (decided and named) or (except_for and not decided):
        raise click.UsageError("expected either --assignment with --reason, or --decided, optionally with --except")
    if reason is not None:
        check_reason(reason)
    with open_hit_study(study, store, endpoint_url, changes=True) as hit_study:
        lines: list[str] = []
        facts: dict[str, Any] = {}
        if reason is None:
            works = _proposed(hit_study, except_for, lines, facts)
        else:
            works = tuple((work, reason) for work in to_reject(hit_study.workspace.store, named))
        facts |= {"assignments": [work.mturk_assignment_id for work, _ in works], "rejected": 0}
        if not yes:
            tell([*lines, f"{len(works)} submissions would be rejected; add --yes."], facts, as_json=as_json)
            return
        steps = Reviewer(hit_study.idempotent_calls, hit_study.endpoint).reject(works)
        facts["rejected"] = len(list(in_progress(steps, label="rejecting", length=len(works), silent=as_json)))
        lines.append(f"{facts['rejected']} rejected; `approve --override` can reverse this within 30 days")
        tell(lines, facts, as_json=as_json)


def _proposed(
    hit_study: HitStudy, except_for: tuple[str, ...], lines: list[str], facts: dict[str, Any]
) -> tuple[tuple[records.Work, str], ...]:
    """Return what reviewers proposed to reject and the message of each; add to ``lines`` and ``facts``."""
    from mturk.decided_reviews import decided_rejections, decided_works
    from mturk.reviewing import known

    store = hit_study.workspace.store
    found = decided_works(store, hit_study.endpoint)
    alone = {known(store, one).mturk_assignment_id for one in except_for}
    rejections = decided_rejections(found, alone)
    for work, words in rejections.works:
        lines.append(f"{work.mturk_assignment_id}: {words} (automatic approval: {when(work.auto_approval_at)})")
    lines += [f"skipped: {work.mturk_assignment_id}: {why}" for work, why in rejections.left]
    if rejections.done:
        lines.append(f"{rejections.done} were rejected earlier")
    lines += waiting_line(found.waiting_rejections)
    facts["left"] = {work.mturk_assignment_id: why for work, why in rejections.left}
    facts |= {"rejected_before": rejections.done, "waiting": found.waiting_rejections}
    return rejections.works


@click.command(
    epilog='Examples: spa mturk bonus my-study/study.toml --assignment 3X... --amount 0.50 --reason "Thank you" --yes; '
    "spa mturk bonus my-study/study.toml --decided"
)
@study_options
@assignment_option
@click.option("--amount", metavar="DOLLARS", help="Amount of each bonus.")
@click.option("--reason", help="Message to the annotators.")
@click.option("--purpose", default="bonus", show_default=True, help="Each submission gets one bonus per purpose.")
@click.option(
    "--file",
    "source",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Read assignment, amount and reason from this CSV file instead.",
)
@click.option("--decided", is_flag=True, help="Pay the bonuses that reviewers decided on in the dashboard instead.")
@click.option("--cap", metavar="DOLLARS", help="With --decided: limit on each bonus. [default: the reward]")
@yes_option
def bonus(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    amount: str | None,
    reason: str | None,
    purpose: str,
    source: Path | None,
    decided: bool,
    cap: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Pay bonuses for submissions to STUDY, at most one per submission and purpose, however often it is run.

    Each decision of a reviewer is a separate purpose; its note is the message to the annotator.
    """
    from mturk.bonuses import Payer, bonuses_of, read_bonuses
    from mturk.decided_reviews import decided_bonuses, decided_works
    from mturk.fees import parse_money
    from mturk.publishing import check_balance

    by_hand = amount is not None and reason is not None and bool(named)
    if [by_hand, source is not None, decided].count(True) != 1:
        raise click.UsageError("expected one of: --assignment with --amount and --reason; --file; --decided")
    if cap is not None and not decided:
        raise click.UsageError("--cap is for --decided")
    most = None if cap is None else parse_money(cap)
    with open_hit_study(study, store, endpoint_url, changes=True) as hit_study:
        wanted: list[MTurkBonus]
        found = decided_works(hit_study.workspace.store, hit_study.endpoint) if decided else None
        if found is not None:
            wanted = decided_bonuses(found)
        elif source is not None:
            wanted = read_bonuses(source, purpose)
        else:
            wanted = bonuses_of(named, amount or "", reason or "", purpose)
        payer = Payer(hit_study.idempotent_calls, hit_study.endpoint)
        cost = payer.unpaid(wanted, hit_study.settings.fees)
        lines = [f"{len(cost.bonuses)} bonuses: ${cost.amounts} + ${cost.fees} fees = ${cost.total}"]
        if len(cost.bonuses) < len(wanted):
            lines.append(f"{len(wanted) - len(cost.bonuses)} were paid earlier")
        facts: dict[str, Any] = {
            "bonuses": len(cost.bonuses),
            "paid_before": len(wanted) - len(cost.bonuses),
            "currency": "USD",
            "amounts": str(cost.amounts),
            "fees": str(cost.fees),
            "total": str(cost.total),
            "paid": 0,
        }
        if found is not None:
            lines += _look_over(hit_study, payer, found, cost, most)
            facts["waiting"] = found.waiting_bonuses
        if cost.bonuses:
            check_balance(hit_study.endpoint, cost.total)
        if not yes:
            tell([*lines, "Nothing was paid; add --yes."], facts, as_json=as_json)
            return
        done = list(in_progress(payer.pay(cost.bonuses), label="paying", length=len(cost.bonuses), silent=as_json))
        facts["paid"] = len(done)
        tell([*lines, f"{len(done)} paid"], facts, as_json=as_json)


def _look_over(
    hit_study: HitStudy, payer: Payer, found: DecidedWork, cost: BonusCost, most: Decimal | None
) -> list[str]:
    """Check decided bonuses; return a line for each, and for interrupted payments whose decision was withdrawn."""
    from decimal import Decimal

    from mturk import records
    from mturk.decided_reviews import DECISION, check_bonuses, decided_bonuses

    hits = records.all_hits(hit_study.workspace.store, hit_study.endpoint.origin)
    check_bonuses(cost.bonuses, found, {hit.hit_id: Decimal(hit.reward) for hit in hits}, most)
    lines = [f"{one.mturk_assignment_id}: ${one.amount} for {one.reason} ({one.purpose})" for one in cost.bonuses]
    lines += [
        f"{key}: interrupted, and the decision was withdrawn since; check at the endpoint whether it was paid"
        for key in payer.interrupted(decided_bonuses(found))
        if f"/{DECISION} " in key
    ]
    return lines + waiting_line(found.waiting_bonuses)
