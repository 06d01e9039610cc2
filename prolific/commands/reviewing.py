"""``spa prolific approve``, ``reject`` and ``bonus``."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from prolific.commands.shared import study_options, yes_option
from spa.commands.options import INPUT, NEW_FILE, StudyLocation, json_option, print_json, print_result, printer
from spa.commands.terminal import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prolific.api.records import SubmissionRecord
    from prolific.bonuses import ProlificBonusPayer
    from prolific.prolific_study import ProlificStudy
    from prolific.rejecting import Proposal
    from spa.platforms.bonuses import Bonus
    from spa.platforms.review import ReviewQueue


@click.command(epilog="Example: spa prolific approve my-study/study.toml --yes")
@study_options
@click.option("--also", metavar="ID", multiple=True, help="Approve this one too, in any case; repeatable.")
@click.option("--except", "except_for", metavar="ID", multiple=True, help="Skip this submission; repeatable.")
@yes_option("Approve and pay")
@json_option
def approve(
    location: StudyLocation, also: tuple[str, ...], except_for: tuple[str, ...], yes: bool, as_json: bool
) -> None:
    """Approve the submissions to STUDY whose answers are complete, whatever code was entered.

    Participants excluded from the analysis are still paid. Submissions that need a decision are listed with the
    reason. Where two reviewers decide, only what both or a third approved.
    """
    from prolific.api.money import amount_text, money
    from prolific.approving import review_queue
    from prolific.collecting import collect_session
    from prolific.prolific_study import open_prolific_study
    from spa.platforms.review import decided_by_reviewers, lines_to_look_at

    sessions, say = [], printer(as_json=as_json)
    with open_prolific_study(location, alone=True) as prolific_study:
        prolific_study.need_study(1)
        decided = decided_by_reviewers(prolific_study.store)
        for session in prolific_study.created():
            queue = review_queue(collect_session(prolific_study, session), decided, also=also, except_for=except_for)
            number = len(queue.approve)
            rewards = number * prolific_study.platform.studies.fetch(prolific_study.need_study(session)).reward
            say(
                f"session {session}: {number} to approve, rewards {money(rewards, prolific_study.offer.currency)} "
                f"(reserved at publication; fees extra); {len(queue.look_at)} need a decision"
            )
            looked_at = (
                (f"{record.submission_id} of {record.participant_id}", reason) for record, reason in queue.look_at
            )
            for line in lines_to_look_at(looked_at):
                say(f"  {line}")
            done, waiting = (
                (0, ()) if not yes or not number else _approve(prolific_study, session, queue, hidden=as_json)
            )
            sessions.append(
                {
                    "session": session,
                    "to_approve": [one.submission_id for one in queue.approve],
                    "currency": prolific_study.offer.currency,
                    "rewards_amount": amount_text(rewards),
                    "approved": done,
                    "still_waiting": list(waiting),
                    "to_look_at": {record.submission_id: reason for record, reason in queue.look_at},
                }
            )
            if yes and number:
                say(f"  approved: {done}" + (f"; still being approved: {len(waiting)}" if waiting else ""))
    if as_json:
        print_json(sessions)
    elif not yes:
        click.echo("Nothing was approved; add --yes to approve and pay.")


def _approve(
    prolific_study: ProlificStudy, session: int, queue: ReviewQueue[SubmissionRecord], *, hidden: bool
) -> tuple[int, tuple[str, ...]]:
    """Approve while a progress bar follows the platform."""
    from prolific.approving import approve_all

    if hidden:
        return approve_all(prolific_study, session, queue.approve)
    with progress_bar(length=len(queue.approve), label="approving") as bar:
        return approve_all(prolific_study, session, queue.approve, lambda done: bar.update(done - bar.pos))


@click.command(
    epilog="Examples: spa prolific reject my-study/study.toml --propose rejections.toml; "
    "spa prolific reject my-study/study.toml --from rejections.toml --yes"
)
@study_options
@click.option("--propose", type=NEW_FILE, help="Write possible rejections to this TOML file.")
@click.option(
    "--from",
    "decided",
    type=INPUT,
    help="Reject the submissions that this file marks with reject = true.",
)
@yes_option("Reject and withhold pay")
@json_option
def reject(location: StudyLocation, propose: Path | None, decided: Path | None, yes: bool, as_json: bool) -> None:
    """Reject submissions to STUDY within Prolific's rules.

    --propose writes the possible rejections to a file for you to decide; --from checks and sends them. Exclusion from
    the analysis is no reason to reject. Often it is enough to ask for a return: spa prolific message --ask-return.

    --json prints, with --propose, file and possible (a number); with --from, a list of submission_id, category,
    message and status, which is null in a dry run.
    """
    from prolific import rejecting
    from prolific.collecting import look_at_all
    from prolific.prolific_study import open_prolific_study
    from spa.platforms.review import decided_by_reviewers
    from spa.responses.two_reviewers import two_decide

    if (propose is None) == (decided is None):
        raise click.UsageError("expected either --propose or --from")
    with open_prolific_study(location, alone=True) as prolific_study:
        known = {
            submission_id: (one.session, facts)
            for one in look_at_all(prolific_study)
            for submission_id, facts in rejecting.gather_facts(prolific_study, one).items()
        }
        decisions = decided_by_reviewers(prolific_study.store)
        if propose is not None:
            found = rejecting.propose([facts for _, facts in known.values()], decisions)
            rejecting.write_proposals(propose, found)
            line = f"{len(found)} possible rejections in {propose}; decide on each there, then use --from {propose}"
            print_result({"file": propose, "possible": len(found)}, [line], as_json=as_json)
            return
        assert decided is not None
        with prolific_study.store.reading() as connection:
            by_two = decisions if two_decide(connection) else None
        cases = rejecting.check_cases(decided, rejecting.read_proposals(decided), known, by_two)
        say = printer(as_json=as_json)
        for case in cases:
            say(f"{case.proposal.submission}: {case.proposal.category}: {case.proposal.message}")
        if not yes:
            say(f"Nothing was rejected; {len(cases)} comply with the rules; add --yes to reject.")
        states: dict[str, str] = {}
        for case in cases if yes else ():
            record = rejecting.reject(prolific_study, case)
            states[case.proposal.submission] = record.status
            say(f"  {record.submission_id}: {record.status}")
    if as_json:
        print_json([_rejection(case.proposal, states.get(case.proposal.submission)) for case in cases])


def _rejection(proposal: Proposal, status: str | None) -> dict[str, str | None]:
    return {
        "submission_id": proposal.submission,
        "category": proposal.category,
        "message": proposal.message,
        "status": status,
    }


@click.command(epilog="Example: spa prolific bonus my-study/study.toml --from bonuses.csv --yes")
@study_options
@click.option(
    "--from",
    "listed",
    type=INPUT,
    help="CSV file with recipient (submission or participant id), amount (such as 1.50) and reason.",
)
@click.option("--completion", is_flag=True, help="Pay the study's completion bonus to those approved in all sessions.")
@click.option("--decided", is_flag=True, help="Pay the bonuses that reviewers decided on in the dashboard.")
@click.option("--cap", metavar="AMOUNT", help="Limit on each bonus, such as 1.50. [default: the reward]")
@click.option(
    "--settle",
    "settlement",
    type=click.Choice(["paid", "unpaid"]),
    help="Outcome seen on the platform for a payment without an answer.",
)
@yes_option("Pay")
@json_option
def bonus(
    location: StudyLocation,
    listed: Path | None,
    completion: bool,
    decided: bool,
    cap: str | None,
    settlement: Literal["paid", "unpaid"] | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Pay bonuses to participants of STUDY, after printing their cost with fees.

    Each submission gets at most one bonus per reason, however often the command is run. --json prints bonuses,
    paid_before and to_pay (numbers), currency, list (submission_id, amount and reason of each that is unpaid),
    corrected (lines about amounts that differ from those paid) and sessions, with session, bonuses_amount,
    fees_amount, vat_amount, total_amount, paid (a number, 0 in a dry run) and unseen of each.
    """
    from prolific.api.money import cents, major, money
    from prolific.bonuses import (
        ProlificBonusPayer,
        bonuses_of_reviewers,
        check_bonuses,
        completion_bonuses,
        read_bonuses,
    )
    from prolific.collecting import look_at_all
    from prolific.prolific_study import open_prolific_study

    if [listed is not None, completion, decided].count(True) != 1:
        raise click.UsageError("expected one of --from, --completion and --decided")
    with open_prolific_study(location, alone=True) as prolific_study:
        prolific_study.need_study(1)
        payer, currency = ProlificBonusPayer(prolific_study), prolific_study.offer.currency
        payer.settle(settlement)
        collected = look_at_all(prolific_study)
        if listed is not None:
            bonuses = read_bonuses(listed, collected)
        else:
            bonuses = (completion_bonuses if completion else bonuses_of_reviewers)(prolific_study, collected)
        most = prolific_study.table.bonus_cap or major(prolific_study.offer.reward)
        if completion:
            most = max([most, *(one.amount for one in bonuses)])
        check_bonuses(bonuses, cap=most if cap is None else _amount(cap), currency=currency)
        paid, unpaid = payer.paid(), payer.unpaid(bonuses)
        say = printer(as_json=as_json)
        say(f"{len(bonuses)} bonuses, {len(bonuses) - len(unpaid)} already paid, {len(unpaid)} to pay")
        before = {one: paid.get(payer.name(one), one.amount) for one in bonuses}
        corrected = [_corrected(one, was, currency) for one, was in before.items() if was != one.amount]
        for line in corrected:
            say(f"  {line}")
        for one in unpaid:
            say(f"  {one.submission_id}: {money(cents(one.amount), currency)} for {one.purpose}")
        sessions = [_pay(payer, group, currency, yes=yes, say=say) for group in payer.groups(unpaid)]
    if unpaid and not yes:
        say("Nothing was paid; add --yes to pay.")
    if as_json:
        listed_bonuses = [
            {"submission_id": one.submission_id, "amount": str(one.amount), "reason": one.purpose} for one in unpaid
        ]
        print_json(
            {
                "bonuses": len(bonuses),
                "paid_before": len(bonuses) - len(unpaid),
                "to_pay": len(unpaid),
                "currency": currency,
                "list": listed_bonuses,
                "corrected": corrected,
                "sessions": sessions,
            }
        )


def _pay(
    payer: ProlificBonusPayer, group: Sequence[Bonus], currency: str, *, yes: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Set up the bonuses of a session and pay them, saying first what it costs; return the facts."""
    from prolific.api.money import amount_text, money

    batch = payer.set_up(group)
    say(
        f"session {group[0].session}: bonuses {money(batch.amount, currency)}, fees {money(batch.fees, currency)}, "
        f"taxes {money(batch.vat, currency)}, total {money(batch.total, currency)} (as quoted by Prolific)"
    )
    facts: dict[str, Any] = {
        "session": group[0].session,
        "bonuses_amount": amount_text(batch.amount),
        "fees_amount": amount_text(batch.fees),
        "vat_amount": amount_text(batch.vat),
        "total_amount": amount_text(batch.total),
        "paid": 0,
        "unseen": 0,
    }
    if not yes:
        return facts
    number = len(list(payer.pay(group)))
    *_, payment = payer.payments()
    unseen = payer.count_unseen(payment.entry)
    say(f"  paid: {number}" + (f"; not yet shown by Prolific: {unseen}" if unseen else ""))
    return facts | {"paid": number, "unseen": unseen}


def _corrected(one: Bonus, paid: Decimal, currency: str) -> str:
    """Explain an amount that differs from the one paid for the same reason."""
    from prolific.api.money import cents, money

    was, now = money(cents(paid), currency), money(cents(one.amount), currency)
    line = f"{one.submission_id}: expected {was} for {one.purpose}, as paid, got {now}: "
    if one.amount < paid:
        return line + "a payment cannot be reduced"
    return line + (
        f"the difference of {money(cents(one.amount - paid), currency)} is not paid; list it with another reason, "
        f"such as {one.purpose} (correction)"
    )


def _amount(text: str) -> Decimal:
    from prolific.api.money import cents, major

    try:
        return major(cents(Decimal(text)))
    except (InvalidOperation, ValueError) as error:
        raise click.BadParameter(f"expected an amount such as 1.50, got {text!r}", param_hint="--cap") from error
