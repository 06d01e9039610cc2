"""``spa prolific approve``: approve, and so pay, complete submissions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prolific.commands.shared import announce, json_option, print_json, study_options, yes_option

if TYPE_CHECKING:
    from prolific.api.records import SubmissionRecord
    from prolific.prolific_study import ProlificStudy
    from spa.platforms.review import ReviewQueue


@click.command(epilog="Example: spa prolific approve my-study/study.toml --yes")
@study_options
@click.option("--also", metavar="SUBMISSION", multiple=True, help="Approve this one too, in any case; repeatable.")
@click.option("--except", "except_for", metavar="SUBMISSION", multiple=True, help="Skip this submission; repeatable.")
@yes_option("Approve and pay")
@json_option
def approve(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    also: tuple[str, ...],
    except_for: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Approve the submissions to STUDY whose answers are complete, whatever code was entered.

    Participants excluded from the analysis are still paid. Submissions that need a decision are listed with the
    reason. Where two reviewers decide, only what both or a third approved.
    """
    from prolific.api.money import json_amount, money
    from prolific.approving import sort_out
    from prolific.collecting import collect
    from prolific.prolific_study import open_prolific_study
    from spa.platforms.review import decided_by_reviewers, lines_to_look_at

    sessions = []
    with open_prolific_study(study, store, endpoint_url, alone=True, announce=announce) as prolific_study:
        prolific_study.need_study(1)
        decided = decided_by_reviewers(prolific_study.store)
        for session in prolific_study.created():
            queue = sort_out(collect(prolific_study, session), decided, also=also, except_for=except_for)
            number = len(queue.approve)
            rewards = number * prolific_study.platform.studies.fetch(prolific_study.need_study(session)).reward
            if not as_json:
                click.echo(
                    f"session {session}: {number} to approve, rewards {money(rewards, prolific_study.offer.currency)} "
                    f"(reserved at publication; fees extra); {len(queue.look_at)} need a decision"
                )
                looked_at = (
                    (f"{record.submission_id} of {record.participant_id}", reason) for record, reason in queue.look_at
                )
                for line in lines_to_look_at(looked_at):
                    click.echo(f"  {line}")
            done, waiting = (
                (0, ()) if not yes or not number else _approve(prolific_study, session, queue, hidden=as_json)
            )
            sessions.append(
                {
                    "session": session,
                    "to_approve": [one.submission_id for one in queue.approve],
                    "currency": prolific_study.offer.currency,
                    "rewards_amount": json_amount(rewards),
                    "approved": done,
                    "still_waiting": list(waiting),
                    "to_look_at": {record.submission_id: reason for record, reason in queue.look_at},
                }
            )
            if yes and number and not as_json:
                click.echo(f"  approved: {done}" + (f"; still being approved: {len(waiting)}" if waiting else ""))
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
    with click.progressbar(length=len(queue.approve), label="approving", file=sys.stderr) as bar:
        return approve_all(prolific_study, session, queue.approve, lambda done: bar.update(done - bar.pos))
