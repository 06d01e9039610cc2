"""``spa prolific message``: write to participants, or ask them to return a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prolific.commands.shared import study_options, yes_option
from spa.commands.options import Aliased, StudyLocation, json_option, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prolific.collecting import SessionReconciliation
    from prolific.prolific_study import ProlificStudy

ADDRESS = "{address}"


@click.command(
    epilog='Example: spa prolific message my-study/study.toml --differing timed_out_but_answered --text "..." --yes'
)
@study_options
@click.option(
    "--to", "recipients", metavar="ID", multiple=True, help="Id of a submission or a participant; repeatable."
)
@click.option(
    "--differing",
    "difference",
    cls=Aliased,
    aliases=("--difference",),
    metavar="KIND",
    help="Everyone listed by `spa prolific reconcile` under this kind of difference.",
)
@click.option("--decided", is_flag=True, help="Send the messages that reviewers wrote in the dashboard.")
@click.option(
    "--text",
    help="Message, or the reason with --ask-return; {address} is replaced by the completion URL.",
)
@click.option(
    "--ask-return", is_flag=True, help="Ask participants to return their submissions, which only they can do."
)
@yes_option("Send")
@json_option
def message(
    location: StudyLocation,
    recipients: tuple[str, ...],
    difference: str | None,
    decided: bool,
    text: str | None,
    ask_return: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Send a message to participants of STUDY; nobody gets the same message twice.

    --json prints sent (a number, 0 in a dry run) and messages: session, submission_id, participant_id and text.
    """
    from prolific.collecting import look_at_all
    from prolific.messages import ask_return as ask
    from prolific.messages import send_message
    from prolific.prolific_study import open_prolific_study

    if decided == bool(recipients or difference) or decided == (text is not None):
        raise click.UsageError("expected either --text with --to or --differing, or --decided alone")
    if ask_return and decided:
        raise click.UsageError("--ask-return is for --to and --differing")
    with open_prolific_study(location, alone=True) as prolific_study:
        collected = look_at_all(prolific_study)
        messages = (
            _decided(prolific_study, collected)
            if decided
            else [
                (session, who, _with_address(prolific_study, collected, session, who, text or ""))
                for session, who in _named(collected, recipients, difference)
            ]
        )
        done, facts = 0, []
        for session, submission_id, words in messages:
            one = next(each for each in collected if each.session == session)
            record = next(each for each in one.records if each.submission_id == submission_id)
            who = {"session": session, "submission_id": submission_id, "participant_id": record.participant_id}
            facts.append({**who, "text": words})
            if yes and ask_return:
                done += ask(prolific_study, record, words)
            elif yes:
                done += send_message(prolific_study, session, [record.participant_id], words)
    lines = [f"{each['participant_id']}, submission {each['submission_id']}: {each['text']}" for each in facts]
    lines.append("Nothing was sent; add --yes to send.")
    sent = [f"sent: {done} of {len(messages)}"]
    print_result({"sent": done, "messages": facts}, sent if yes else lines, as_json=as_json)


def _named(
    collected: Sequence[SessionReconciliation], recipients: tuple[str, ...], difference: str | None
) -> list[tuple[int, str]]:
    from spa.errors import StudyError

    found: dict[str, tuple[int, str]] = {}
    unknown = set(recipients)
    for one in collected:
        for record in one.records:
            if record.submission_id in recipients or record.participant_id in recipients:
                unknown -= {record.submission_id, record.participant_id}
                found[record.submission_id] = (one.session, record.submission_id)
        listed = {record.submission_id for record in one.records}
        for each in one.differences:
            if each.kind == difference and each.submission_id in listed:
                found[each.submission_id] = (one.session, each.submission_id)
    if unknown:
        raise StudyError(f"--to: {', '.join(sorted(unknown))} did not take part in this study")
    return list(found.values())


def _with_address(
    prolific_study: ProlificStudy,
    collected: Sequence[SessionReconciliation],
    session: int,
    submission_id: str,
    text: str,
) -> str:
    """Insert the completion URL, which is only for participants whose answers are complete."""
    from prolific.completion_url import completion_address, completion_base, session_codes
    from spa.errors import StudyError

    if ADDRESS not in text:
        return text
    visit = next(one for one in collected if one.session == session).visit(submission_id)
    if visit is None or not visit.completed:
        raise StudyError(
            f"--text: {ADDRESS} is only for complete submissions, got {submission_id}, which is incomplete"
        )
    code = session_codes(prolific_study.store, session)["completed"]
    return text.replace(ADDRESS, completion_address(code, completion_base(prolific_study.access)))


def _decided(prolific_study: ProlificStudy, collected: Sequence[SessionReconciliation]) -> list[tuple[int, str, str]]:
    from spa.platforms.review import decided_by_reviewers

    decisions = decided_by_reviewers(prolific_study.store)
    return [
        (one.session, submission_id, decision.note or "")
        for one in collected
        for submission_id, decided in one.decided(decisions)
        for decision in decided.messages
    ]
