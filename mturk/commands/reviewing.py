"""``spa mturk approve``, ``reject`` and ``bonus``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mturk.commands.shared import (
    assignment_option,
    except_option,
    format_time,
    in_progress,
    study_options,
    waiting_line,
)
from mturk.hit_study import open_hit_study
from spa.commands.options import INPUT, StudyLocation, print_result, printer, yes_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from mturk import records
    from mturk.bonuses import MTurkBonusPayer
    from mturk.hit_study import HitStudy
    from mturk.reviewing import DecidedWork
    from spa.platforms.bonuses import Bonus


@click.command(epilog="Example: spa mturk approve my-study/study.toml --yes")
@study_options
@assignment_option
@click.option("--also", metavar="ID", multiple=True, help="Approve this one too, despite its problem; repeatable.")
@except_option
@click.option("--feedback", help="Message to the annotators.")
@click.option("--override", is_flag=True, help="Reverse the rejection of the named submissions, within 30 days.")
@yes_option
def approve(
    location: StudyLocation,
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
    Where two reviewers decide, only what both or a third approved.
    """
    import time

    from mturk.reviewing import approval_cost, named_to_approve, review, to_approve
    from spa.platforms.review import decided_by_reviewers, is_approved, lines_to_look_at

    if named and (also or except_for):
        raise click.UsageError("--also and --except cannot be combined with --assignment")
    with open_hit_study(location, changes=True) as hit_study:
        decided = {} if named or override else decided_by_reviewers(hit_study.store)
        if named or override:
            queue = named_to_approve(hit_study.store, named, override=override, now=time.time())
        else:
            queue = to_approve(hit_study.store, hit_study.endpoint, decided, also=also, except_for=except_for)
        cost = approval_cost(hit_study.store, hit_study.endpoint, queue.approve)
        vouched_for = {
            work.mturk_assignment_id: work.problem
            for work in queue.approve
            if work.problem is not None and is_approved(decided.get(work.submission_id or ""))
        }
        left = {work.mturk_assignment_id: reason for work, reason in queue.look_at}
        say = printer(as_json=as_json)
        lines = [f"{len(queue.approve)} submissions: ${cost.amounts} rewards + ${cost.fees} fees = ${cost.total}"]
        lines += [f"approved by a reviewer: {name}: {problem}" for name, problem in vouched_for.items()]
        lines += [f"to be decided by you: {line}" for line in lines_to_look_at(left.items())]
        facts: dict[str, Any] = {
            "assignments": [work.mturk_assignment_id for work in queue.approve],
            "vouched_for": vouched_for,
            "left": left,
            "currency": "USD",
            "rewards": str(cost.amounts),
            "fees": str(cost.fees),
            "total": str(cost.total),
            "approved": 0,
        }
        if not yes:
            print_result(facts, [*lines, "Nothing was approved; add --yes to pay."], as_json=as_json)
            return
        for line in lines:
            say(line)
        works = [(work, feedback) for work in queue.approve]
        steps = review(hit_study.idempotent_calls, "override" if override else "approve", works)
        facts["approved"] = len(list(in_progress(steps, label="approving", length=len(works), silent=as_json)))
        print_result(facts, [f"{facts['approved']} approved"], as_json=as_json)


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
    location: StudyLocation,
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
    from mturk.reviewing import check_reason, review, to_reject

    if decided != (reason is None) or (decided and named) or (except_for and not decided):
        raise click.UsageError("expected either --assignment with --reason, or --decided, optionally with --except")
    if reason is not None:
        check_reason(reason)
    with open_hit_study(location, changes=True) as hit_study:
        lines: list[str] = []
        facts: dict[str, Any] = {}
        if reason is None:
            works = _proposed(hit_study, except_for, lines, facts)
        else:
            _refuse_where_two_decide(hit_study)
            works = tuple((work, reason) for work in to_reject(hit_study.store, named))
        facts |= {"assignments": [work.mturk_assignment_id for work, _ in works], "rejected": 0}
        if not yes:
            print_result(facts, [*lines, f"{len(works)} submissions would be rejected; add --yes."], as_json=as_json)
            return
        steps = review(hit_study.idempotent_calls, "reject", works)
        facts["rejected"] = len(list(in_progress(steps, label="rejecting", length=len(works), silent=as_json)))
        lines.append(f"{facts['rejected']} rejected; `approve --override` can reverse this within 30 days")
        print_result(facts, lines, as_json=as_json)


def _refuse_where_two_decide(hit_study: HitStudy) -> None:
    from spa.errors import StudyError
    from spa.responses.two_reviewers import two_decide

    with hit_study.store.reading() as connection:
        if two_decide(connection):
            raise StudyError(
                f"{hit_study.store.name}: expected a rejection that two reviewers agree on or a third settled, got "
                "--assignment; decide in `spa dashboard`, then reject with --decided"
            )


def _proposed(
    hit_study: HitStudy, except_for: tuple[str, ...], lines: list[str], facts: dict[str, Any]
) -> tuple[tuple[records.Work, str], ...]:
    """Return what reviewers proposed to reject and the message of each; add to ``lines`` and ``facts``."""
    from mturk.reviewing import decided_rejections, decided_works, known
    from spa.platforms.review import proposed_rejection

    found = decided_works(hit_study.store, hit_study.endpoint)
    alone = {known(hit_study.store, one).mturk_assignment_id for one in except_for}
    rejections = decided_rejections(found, alone)
    waiting = sum(proposed_rejection(one) is not None for one in found.waiting)
    for work, words in rejections.works:
        lines.append(f"{work.mturk_assignment_id}: {words} (automatic approval: {format_time(work.auto_approval_at)})")
    lines += [f"skipped: {work.mturk_assignment_id}: {why}" for work, why in rejections.left]
    if rejections.done:
        lines.append(f"{rejections.done} were rejected earlier")
    lines += waiting_line(waiting)
    facts["left"] = {work.mturk_assignment_id: why for work, why in rejections.left}
    facts |= {"rejected_before": rejections.done, "waiting": waiting}
    return rejections.works


@click.command(
    epilog='Examples: spa mturk bonus my-study/study.toml --assignment 3X... --amount 0.50 --reason "Thank you" --yes; '
    "spa mturk bonus my-study/study.toml --decided"
)
@study_options
@assignment_option
@click.option("--amount", metavar="AMOUNT", help="Amount of each bonus in US dollars.")
@click.option("--reason", help="Message to the annotators.")
@click.option("--purpose", default="bonus", show_default=True, help="Each submission gets one bonus per purpose.")
@click.option(
    "--file",
    "source",
    type=INPUT,
    help="Read assignment, amount and reason from this CSV file instead.",
)
@click.option("--decided", is_flag=True, help="Pay the bonuses that reviewers decided on in the dashboard instead.")
@click.option("--cap", metavar="AMOUNT", help="With --decided: limit on each bonus. [default: the reward]")
@yes_option
def bonus(
    location: StudyLocation,
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
    from mturk.bonuses import MTurkBonusPayer, bonus_cost, bonuses_of, read_bonuses
    from mturk.fees import parse_money
    from mturk.publishing import check_balance
    from mturk.reviewing import decided_works
    from spa.platforms.bonuses import decided_bonuses

    by_hand = amount is not None and reason is not None and bool(named)
    if [by_hand, source is not None, decided].count(True) != 1:
        raise click.UsageError("expected one of: --assignment with --amount and --reason; --file; --decided")
    if cap is not None and not decided:
        raise click.UsageError("--cap is for --decided")
    most = None if cap is None else parse_money(cap)
    with open_hit_study(location, changes=True) as hit_study:
        found = decided_works(hit_study.store, hit_study.endpoint) if decided else None
        if found is not None:
            bonuses = decided_bonuses(found.by_id)
        elif source is not None:
            bonuses = read_bonuses(source, purpose)
        else:
            bonuses = bonuses_of(named, amount or "", reason or "", purpose)
        payer = MTurkBonusPayer(hit_study.idempotent_calls)
        unpaid = payer.unpaid(bonuses)
        cost = bonus_cost(unpaid, hit_study.settings.fees)
        say = printer(as_json=as_json)
        lines = [f"{len(unpaid)} bonuses: ${cost.amounts} + ${cost.fees} fees = ${cost.total}"]
        if len(unpaid) < len(bonuses):
            lines.append(f"{len(bonuses) - len(unpaid)} were paid earlier")
        facts: dict[str, Any] = {
            "bonuses": len(unpaid),
            "paid_before": len(bonuses) - len(unpaid),
            "currency": "USD",
            "amounts": str(cost.amounts),
            "fees": str(cost.fees),
            "total": str(cost.total),
            "paid": 0,
        }
        if found is not None:
            facts["waiting"] = sum(len(one.bonuses) for one in found.waiting)
            lines += _check_decided(hit_study, payer, found, unpaid, most)
            lines += waiting_line(facts["waiting"])
        if unpaid:
            check_balance(hit_study.endpoint, cost.total)
        if not yes:
            print_result(facts, [*lines, "Nothing was paid; add --yes."], as_json=as_json)
            return
        for line in lines:
            say(line)
        steps = in_progress(payer.pay(unpaid), label="paying", length=len(unpaid), silent=as_json)
        facts["paid"] = len(list(steps))
        print_result(facts, [f"{facts['paid']} paid"], as_json=as_json)


def _check_decided(
    hit_study: HitStudy, payer: MTurkBonusPayer, found: DecidedWork, unpaid: Sequence[Bonus], most: Decimal | None
) -> list[str]:
    """Check decided bonuses; return a line for each, and for interrupted payments whose decision was withdrawn."""
    from decimal import Decimal

    from mturk import records
    from mturk.bonuses import check_bonuses
    from spa.platforms.bonuses import DECISION, decided_bonuses

    rewards = {hit.hit_id: Decimal(hit.reward) for hit in records.all_hits(hit_study.store, hit_study.endpoint.origin)}
    caps = {work.mturk_assignment_id: rewards[work.hit_id] if most is None else most for work, _ in found.works}
    check_bonuses(unpaid, caps)
    names = {payer.name(bonus) for bonus in decided_bonuses(found.by_id)}
    interrupted = [name for payment in payer.in_doubt() for name in payment.amounts if name not in names]
    return [f"{one.submission_id}: ${one.amount} for {one.reason} ({one.purpose})" for one in unpaid] + [
        f"{name}: interrupted, and the decision was withdrawn since; check at the endpoint whether it was paid"
        for name in interrupted
        if f"/{DECISION} " in name
    ]
