"""``spa forget``: delete what says who a person is, on their request, or who people were after a time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.commands.options import json_option, print_json, store_option, study_argument, yes_option

if TYPE_CHECKING:
    from spa.responses.erasure import ErasureCounts

DAY = 86_400.0  # seconds


class Age(click.ParamType[int]):
    """A number of days."""

    name = "days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read 180d, or 180."""
        found = re.fullmatch(r"(\d{1,5})d?", str(value), re.ASCII)
        if found is None or not int(found[1]):
            self.fail(f"expected a number of days such as 180d, got {value!r}", param, ctx)
        return int(found[1])


@click.command(epilog="Example: spa forget my-study/study.toml --person 5f3a2c9e8b7d6a5f4e3c2b1a --yes")
@study_argument
@click.option("--person", metavar="ID", help="Platform id, link token or annotator_id of the person.")
@click.option("--submission", metavar="ID", help="Visit of the person: submission_id or the platform's id.")
@click.option("--older-than", type=Age(), metavar="DAYS", help="Everybody last active so long ago, such as 180d.")
@click.option(
    "--simulated",
    is_flag=True,
    help="Instead of a person: all simulated visits, which earlier releases put into the study's own store.",
)
@click.option("--answers", is_flag=True, help="Delete the answers too and free their places.")
@yes_option
@store_option
@json_option
def forget(
    study: Path,
    person: str | None,
    submission: str | None,
    older_than: int | None,
    simulated: bool,
    answers: bool,
    yes: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Delete the names, links, codes and free texts of one person of STUDY, and list what was deleted.

    With --older-than, of everybody whose last visit is so long ago. Nothing is deleted without --yes.
    Choices and numbers stay under an anonymous id unless --answers deletes them. Payment records stay.
    Deletion cannot be undone; the store's journal says when it was done.
    """
    import time
    from dataclasses import asdict

    from spa.commands.workspace import open_workspace
    from spa.responses.erasure import forget as forget_visitor
    from spa.responses.erasure import forget_older

    if [person is not None, submission is not None, older_than is not None, simulated].count(True) != 1:
        raise click.UsageError("expected one of --person, --submission, --older-than and --simulated")
    if simulated:
        _free_places(study, store, yes=yes, as_json=as_json)
        return
    with open_workspace(study, store) as workspace:
        opened, forms = workspace.store, workspace.form
        if older_than is not None:
            before = time.time() - older_than * DAY
            account = forget_older(opened, before=before, forms=forms, with_answers=answers, apply=yes)
        else:
            account = forget_visitor(
                opened, person=person, submission=submission, forms=forms, with_answers=answers, apply=yes
            )
    if as_json:
        print_json({**asdict(account), "done": yes})
        return
    for line in _summary_lines(account, yes):
        click.echo(line)


def _free_places(study: Path, store: str | None, *, yes: bool, as_json: bool) -> None:
    """Delete the simulated visits of a study's own store."""
    from spa.commands.workspace import open_workspace
    from spa.records.submission import SIMULATED_RATER
    from spa.responses.rehearsal import forget_simulated

    with open_workspace(study, store) as workspace:
        visits = forget_simulated(workspace.store, [SIMULATED_RATER], apply=yes)
    if as_json:
        print_json({"visits": visits, "done": yes})
        return
    click.echo(f"simulated visits {'deleted, with their answers' if yes else 'to be deleted'}: {visits}")
    if not yes:
        click.echo("Nothing has been deleted: run again with --yes")


def _summary_lines(account: ErasureCounts, done: bool) -> list[str]:
    what = {
        "names on the platform (the person's and those of their visits)": account.platform_names,
        "links": account.links,
        "completion codes": account.codes,
        "raw pages with free text": account.pages,
        "free texts and unreadable answers": account.texts,
        "answers": account.answers,
    }
    whose = "this person" if account.people == 1 else f"{account.people} people"
    lines = [f"visits of {whose}: {account.visits}; {'deleted' if done else 'to be deleted'}:"]
    lines += [f"  {name}: {count}" for name, count in what.items()]
    if account.payments:
        named = "the person" if account.people == 1 else "them"
        lines.append(f"calls to the platform that name {named}: {account.payments}; they stay as payment records")
    if account.notes:
        lines.append(f"reviewers' decisions on these visits: {account.notes}; they stay")
    lines.append("Existing tables, reports and backups are not changed; delete the same data there yourself.")
    if not done:
        lines.append("Nothing has been deleted: run again with --yes")
    return lines
