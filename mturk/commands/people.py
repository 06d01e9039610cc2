"""``spa mturk block`` and ``notify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mturk.commands.shared import assignment_option, in_progress, study_options, waiting_line
from mturk.hit_study import open_hit_study
from spa.commands.options import Aliased, StudyLocation, print_result, yes_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mturk.hit_study import HitStudy
    from mturk.people import MessageDelivery


@click.command(
    epilog='Example: spa mturk block my-study/study.toml --assignment 3X... --reason "Answers made by a script" --yes'
)
@study_options
@assignment_option
@click.option("--reason", required=True, help="For your records; annotators do not see it.")
@click.option("--lift", is_flag=True, help="Remove the block.")
@yes_option
def block(location: StudyLocation, named: tuple[str, ...], reason: str, lift: bool, yes: bool, as_json: bool) -> None:
    """Block the annotators of submissions to STUDY from all HITs of your account.

    Use it for bad faith only. Annotators cannot take a second HIT of the same study in any case.
    """
    from mturk.people import block as do_block
    from mturk.reviewing import known

    if not named:
        raise click.UsageError("expected --assignment ID at least once, got none")
    with open_hit_study(location, changes=True) as hit_study:
        works = [known(hit_study.store, one) for one in dict.fromkeys(named)]
        facts = {"annotators": [work.annotator_id for work in works]}
        verb = "unblocked" if lift else "blocked"
        if not yes:
            print_result(facts, [f"{len(works)} annotators would be {verb}; add --yes."], as_json=as_json)
            return
        for work in works:
            do_block(hit_study.idempotent_calls, work, reason=reason, lift=lift)
        print_result(facts, [f"{len(works)} annotators {verb}"], as_json=as_json)


@click.command(
    epilog='Examples: spa mturk notify my-study/study.toml --subject "Second part" --text "It is open now." --yes; '
    "spa mturk notify my-study/study.toml --decided"
)
@study_options
@assignment_option
@click.option("--subject", help="Subject, at most 200 characters. [default with --decided: the study's title]")
@click.option("--text", help="Message, at most 4096 characters.")
@click.option("--decided", is_flag=True, help="Send the messages that reviewers wrote in the dashboard instead.")
@click.option(
    "--resend", "again", cls=Aliased, aliases=("--again",), is_flag=True, help="Send again where delivery is unknown."
)
@yes_option
def notify(
    location: StudyLocation,
    named: tuple[str, ...],
    subject: str | None,
    text: str | None,
    decided: bool,
    again: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Send a message to annotators of STUDY: to all, to those of --assignment, or as reviewers decided.

    Nobody gets the same message twice, however often the command is run.
    """
    if (decided and (named or text is not None)) or (not decided and (subject is None or text is None)):
        raise click.UsageError("give --subject and --text, or --decided")
    with open_hit_study(location, changes=True) as hit_study:
        if decided:
            _send_decided(hit_study, subject, again=again, yes=yes, as_json=as_json)
        else:
            _send(hit_study, subject or "", text or "", named, again=again, yes=yes, as_json=as_json)


def _send(
    hit_study: HitStudy, subject: str, text: str, named: tuple[str, ...], *, again: bool, yes: bool, as_json: bool
) -> None:
    from mturk.people import AnnotatorMessage, recipients, send

    message = AnnotatorMessage(subject=subject, text=text)
    works = recipients(hit_study.store, hit_study.endpoint, named)
    facts: dict[str, Any] = {"annotators": len(works), "failed": {}, "unknown": 0}
    if not yes:
        print_result(facts, [f"{len(works)} annotators would receive the message; add --yes."], as_json=as_json)
        return
    _print_sent([send(hit_study.idempotent_calls, message, works, again=again)], facts, as_json=as_json)


def _send_decided(hit_study: HitStudy, subject: str | None, *, again: bool, yes: bool, as_json: bool) -> None:
    from mturk.people import LONGEST_SUBJECT, decided_messages, has_reached, send
    from mturk.reviewing import decided_works

    found, calls = decided_works(hit_study.store, hit_study.endpoint), hit_study.idempotent_calls
    messages = decided_messages(found, subject or hit_study.workspace.study.title[:LONGEST_SUBJECT])
    waiting = sum(len(one.messages) for one in found.waiting)
    facts: dict[str, Any] = {"messages": len(messages), "waiting": waiting, "failed": {}, "unknown": 0}
    if not yes:
        new = [(work, one) for work, one in messages if not has_reached(calls, one, work)]
        lines = [f"{len(messages)} messages, {len(messages) - len(new)} already sent, {len(new)} to send"]
        lines += [f"{work.mturk_assignment_id}: {one.text} ({one.name})" for work, one in new]
        print_result(facts, [*lines, *waiting_line(waiting), "Nothing was sent; add --yes."], as_json=as_json)
        return
    steps = (send(calls, message, [work], again=again) for work, message in messages)
    sent = list(in_progress(steps, label="sending", length=len(messages), silent=as_json))
    _print_sent(sent, facts, as_json=as_json, more=waiting_line(waiting))


def _print_sent(
    sent: Sequence[MessageDelivery], facts: dict[str, Any], *, as_json: bool, more: Sequence[str] = ()
) -> None:
    facts |= {"sent": sum(one.sent for one in sent), "before": sum(one.before for one in sent)}
    facts |= {"unknown": sum(one.unknown for one in sent)}
    failed = [(annotator, why) for one in sent for annotator, why in one.failed.items()]
    facts["failed"] = dict(failed)
    lines = [f"sent to {facts['sent']}; {facts['before']} received it earlier"]
    lines += [f"not reached: {annotator}: {why}" for annotator, why in failed]
    if facts["unknown"]:
        lines.append(f"delivery to {facts['unknown']} is unknown; --resend sends it again")
    print_result(facts, [*lines, *more], as_json=as_json)
