"""``spa mturk approve``, ``reject``, ``bonus``, ``block`` and ``notify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mturk.commands.desk import assignment_option, at_desk, in_progress, study_options, tell, yes_option

if TYPE_CHECKING:
    from mturk.paying import Bonus


@click.command(epilog="Example: spa mturk approve my-study/study.toml --yes")
@study_options
@assignment_option
@click.option("--feedback", help="Words that the annotators read.")
@click.option("--override", is_flag=True, help="Take back the rejection of those named, within 30 days.")
@yes_option
def approve(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    feedback: str | None,
    override: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Approve submissions to STUDY: those named, or all that were collected and have no problem."""
    import time

    from mturk.reviewing import Reviewer, to_approve

    with at_desk(study, store, endpoint_url, changes=True) as desk:
        due = to_approve(desk.workspace.store, desk.endpoint, named, override=override, now=time.time())
        lines = [f"{len(due.works)} submissions: ${due.rewards} rewards + ${due.fees} fees = ${due.total}"]
        lines += [f"left for you to decide: {work.mturk_assignment_id}: {work.problem}" for work in due.left]
        facts: dict[str, Any] = {
            "assignments": [work.mturk_assignment_id for work in due.works],
            "left": {work.mturk_assignment_id: work.problem for work in due.left},
            "rewards": str(due.rewards),
            "fees": str(due.fees),
            "total": str(due.total),
            "approved": 0,
        }
        if not yes:
            tell([*lines, "Nothing was approved; add --yes to pay."], facts, as_json=as_json)
            return
        steps = Reviewer(desk.once, desk.endpoint).approve(due.works, feedback=feedback, override=override)
        done = list(in_progress(steps, label="approving", length=len(due.works), silent=as_json))
        facts["approved"] = len(done)
        tell([*lines, f"{len(done)} approved"], facts, as_json=as_json)


@click.command(
    epilog='Example: spa mturk reject my-study/study.toml --assignment 3X... --reason "Every answer is 50." --yes'
)
@study_options
@assignment_option
@click.option("--reason", required=True, help="Words that tell the annotator what was wrong.")
@yes_option
def reject(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    reason: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Reject submissions to STUDY by hand, each named. It lowers their annotators' approval rate for good."""
    from mturk.reviewing import Reviewer, check_reason, to_reject

    check_reason(reason)
    with at_desk(study, store, endpoint_url, changes=True) as desk:
        works = to_reject(desk.workspace.store, named)
        facts = {"assignments": [work.mturk_assignment_id for work in works], "rejected": 0}
        if not yes:
            tell([f"{len(works)} submissions would be rejected; add --yes."], facts, as_json=as_json)
            return
        facts["rejected"] = len(list(Reviewer(desk.once, desk.endpoint).reject(works, reason=reason)))
        tell([f"{facts['rejected']} rejected; 30 days to take it back with approve --override"], facts, as_json=as_json)


@click.command(
    epilog='Example: spa mturk bonus my-study/study.toml --assignment 3X... --amount 0.50 --reason "Thank you" --yes'
)
@study_options
@assignment_option
@click.option("--amount", metavar="DOLLARS", help="What each gets.")
@click.option("--reason", help="Words that the annotators read.")
@click.option("--purpose", default="bonus", show_default=True, help="A second bonus for a submission needs another.")
@click.option(
    "--file",
    "source",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV with assignment, amount and reason, instead.",
)
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
    yes: bool,
    as_json: bool,
) -> None:
    """Pay bonuses for submissions to STUDY: for one purpose each submission gets one, however often this is run."""
    from mturk.paying import Payer, bonuses_of, read_bonuses
    from mturk.publishing import check_balance

    given = amount is not None and reason is not None and bool(named)
    if given == (source is not None):
        raise click.UsageError("give --assignment, --amount and --reason, or --file")
    with at_desk(study, store, endpoint_url, changes=True) as desk:
        wanted: list[Bonus] = (
            read_bonuses(source, purpose)
            if source is not None
            else bonuses_of(named, amount or "", reason or "", purpose)
        )
        payer = Payer(desk.once, desk.endpoint)
        cost = payer.unpaid(wanted, desk.settings.fees)
        lines = [f"{len(cost.bonuses)} bonuses: ${cost.amounts} + ${cost.fees} fees = ${cost.total}"]
        if len(cost.bonuses) < len(wanted):
            lines.append(f"{len(wanted) - len(cost.bonuses)} were paid before")
        facts: dict[str, Any] = {
            "bonuses": len(cost.bonuses),
            "paid_before": len(wanted) - len(cost.bonuses),
            "amounts": str(cost.amounts),
            "fees": str(cost.fees),
            "total": str(cost.total),
            "paid": 0,
        }
        if cost.bonuses:
            check_balance(desk.endpoint, cost.total)
        if not yes:
            tell([*lines, "Nothing was paid; add --yes."], facts, as_json=as_json)
            return
        done = list(in_progress(payer.pay(cost.bonuses), label="paying", length=len(cost.bonuses), silent=as_json))
        facts["paid"] = len(done)
        tell([*lines, f"{len(done)} paid"], facts, as_json=as_json)


@click.command(
    epilog='Example: spa mturk block my-study/study.toml --assignment 3X... --reason "Answers made by a script" --yes'
)
@study_options
@assignment_option
@click.option("--reason", required=True, help="For your own records; the annotator does not see it.")
@click.option("--lift", is_flag=True, help="Take the block back.")
@yes_option
def block(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    reason: str,
    lift: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Keep whoever handed in a submission to STUDY from all HITs of your account; for bad faith only.

    Nobody needs a block to be kept from a second HIT of the same study: that is done for everybody.
    """
    from mturk.people import block as do_block
    from mturk.reviewing import known

    if not named:
        raise click.UsageError("name the submissions with --assignment")
    with at_desk(study, store, endpoint_url, changes=True) as desk:
        works = [known(desk.workspace.store, one) for one in dict.fromkeys(named)]
        facts = {"annotators": [work.annotator_id for work in works]}
        verb = "unblocked" if lift else "blocked"
        if not yes:
            tell([f"{len(works)} annotators would be {verb}; add --yes."], facts, as_json=as_json)
            return
        for work in works:
            do_block(desk.once, desk.endpoint, work, reason=reason, lift=lift)
        tell([f"{len(works)} annotators {verb}"], facts, as_json=as_json)


@click.command(
    epilog='Example: spa mturk notify my-study/study.toml --subject "Second part" --text "It is open now." --yes'
)
@study_options
@assignment_option
@click.option("--subject", required=True, help="At most 200 characters.")
@click.option("--text", required=True, help="At most 4096 characters.")
@click.option("--again", is_flag=True, help="Also to those of whom nobody knows whether the message reached them.")
@yes_option
def notify(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    named: tuple[str, ...],
    subject: str,
    text: str,
    again: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Write to those who handed something in for STUDY: to those named, or to all. The same message goes out once."""
    from mturk.people import Message, recipients, send

    with at_desk(study, store, endpoint_url, changes=True) as desk:
        message = Message(subject=subject, text=text)
        works = recipients(desk.workspace.store, desk.endpoint, named)
        facts: dict[str, Any] = {"annotators": len(works), "failed": {}, "unknown": 0}
        if not yes:
            tell([f"{len(works)} annotators would get the message; add --yes."], facts, as_json=as_json)
            return
        sent = send(desk.once, desk.endpoint, message, works, again=again)
        facts |= {"sent": sent.sent, "before": sent.before, "unknown": sent.unknown, "failed": dict(sent.failed)}
        lines = [f"sent to {sent.sent}; {sent.before} had it before"]
        lines += [f"not reached: {annotator}: {why}" for annotator, why in sent.failed.items()]
        if sent.unknown:
            lines.append(f"of {sent.unknown} nobody knows whether it reached them; --again sends it again")
        tell(lines, facts, as_json=as_json)
