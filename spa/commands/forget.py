"""``spa forget``: delete what says who a person is, on their request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from spa.responses.forgetting import Account


@click.command(epilog="Example: spa forget my-study/study.toml --person 5f3a2c9e8b7d6a5f4e3c2b1a --yes")
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--person", metavar="ID", help="The platform's id of the person, the token of a link, or an annotator_id."
)
@click.option("--submission", metavar="ID", help="A visit of the person: our own id, or the platform's.")
@click.option("--answers", is_flag=True, help="Delete the answers too; their places go out again.")
@click.option("--yes", is_flag=True, help="Do it; without it only the account is printed.")
@click.option("--store", metavar="PATH|URL", help="The store. [default: STUDY with the suffix .sqlite]")
@click.option("--json", "as_json", is_flag=True, help="Print the account as JSON.")
def forget(
    study: Path,
    person: str | None,
    submission: str | None,
    answers: bool,
    yes: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Delete the names, links and free texts of one person of STUDY, and say what that was.

    Nothing is deleted without --yes. What was chosen or given as a number stays, under an id that
    leads nowhere, unless --answers deletes it. Records of money stay. Nothing can be brought back.
    """
    import json
    from dataclasses import asdict

    from spa.commands.workspace import open_workspace
    from spa.responses.forgetting import forget as forget_visitor

    if (person is None) == (submission is None):
        raise click.UsageError("give --person or --submission, one of them")
    with open_workspace(study, store) as workspace:
        account = forget_visitor(
            workspace.store,
            person=person,
            submission=submission,
            forms=workspace.form,
            with_answers=answers,
            really=yes,
        )
    if as_json:
        click.echo(json.dumps({**asdict(account), "done": yes}, indent=2))
        return
    for line in _told(account, yes):
        click.echo(line)


def _told(account: Account, done: bool) -> list[str]:
    what = {
        "names on the platform (the person's and those of their visits)": account.platform_names,
        "links": account.links,
        "raw pages with free text": account.pages,
        "free texts and unreadable answers": account.texts,
        "answers": account.answers,
    }
    told = [f"visits of this person: {account.visits}; {'deleted' if done else 'to be deleted'}:"]
    told += [f"  {name}: {count}" for name, count in what.items()]
    if account.payments:
        told.append(f"calls to the platform that name the person: {account.payments}; they stay as records of money")
    if account.notes:
        told.append(f"decisions of reviewers on these visits: {account.notes}; they stay")
    told.append("Tables, reports and copies made before are not touched; delete what they hold yourself.")
    if not done:
        told.append("Nothing has been deleted yet: say it again with --yes")
    return told
