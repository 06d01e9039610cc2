"""``spa forget``: delete what says who a person is, on their request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import json_option, print_json, store_option, study_argument, yes_option

if TYPE_CHECKING:
    from spa.responses.erasure import ErasureCounts


@click.command(epilog="Example: spa forget my-study/study.toml --person 5f3a2c9e8b7d6a5f4e3c2b1a --yes")
@study_argument
@click.option("--person", metavar="ID", help="Platform id, link token or annotator_id of the person.")
@click.option("--submission", metavar="ID", help="Visit of the person: submission_id or the platform's id.")
@click.option("--answers", is_flag=True, help="Delete the answers too and free their places.")
@yes_option
@store_option
@json_option
def forget(
    study: Path,
    person: str | None,
    submission: str | None,
    answers: bool,
    yes: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Delete the names, links and free texts of one person of STUDY, and list what was deleted.

    Nothing is deleted without --yes. Choices and numbers stay under an anonymous id unless --answers
    deletes them. Payment records stay. Deletion cannot be undone.
    """
    from dataclasses import asdict

    from spa.commands.workspace import open_workspace
    from spa.responses.erasure import forget as forget_visitor

    if (person is None) == (submission is None):
        raise click.UsageError("expected either --person or --submission")
    with open_workspace(study, store) as workspace:
        account = forget_visitor(
            workspace.store, person=person, submission=submission, forms=workspace.form, with_answers=answers, apply=yes
        )
    if as_json:
        print_json({**asdict(account), "done": yes})
        return
    for line in _summary_lines(account, yes):
        click.echo(line)


def _summary_lines(account: ErasureCounts, done: bool) -> list[str]:
    what = {
        "names on the platform (the person's and those of their visits)": account.platform_names,
        "links": account.links,
        "raw pages with free text": account.pages,
        "free texts and unreadable answers": account.texts,
        "answers": account.answers,
    }
    lines = [f"visits of this person: {account.visits}; {'deleted' if done else 'to be deleted'}:"]
    lines += [f"  {name}: {count}" for name, count in what.items()]
    if account.payments:
        lines.append(f"calls to the platform that name the person: {account.payments}; they stay as payment records")
    if account.notes:
        lines.append(f"reviewers' decisions on these visits: {account.notes}; they stay")
    lines.append("Existing tables, reports and backups are not changed; delete the person's data there yourself.")
    if not done:
        lines.append("Nothing has been deleted: run again with --yes")
    return lines
