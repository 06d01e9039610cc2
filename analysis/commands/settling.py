"""``spa settle-review``: two judgements of each explanation, the conflicts, and what a third settles."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import (
    StudyPath,
    json_option,
    out_folder_option,
    print_result,
    rehearsal_option,
    store_option,
    study_argument,
)
from spa.errors import AnalysisError
from spa.files import lines_of

if TYPE_CHECKING:
    from analysis.explanations.two_reviewers import CriterionAgreement, ReviewerAnswers
    from spa.commands.workspace import Workspace

THIRD = "third"  # folder of the new study


@click.command("settle-review", epilog="Example: spa settle-review review-study/study.toml --out settled")
@study_argument
@click.option(
    "--third",
    type=StudyPath(),
    help="Study file of the conflicts that a third person has judged.",
)
@out_folder_option("Folder for settled.csv and, as long as there are conflicts, the study for a third.", required=True)
@store_option
@rehearsal_option
@json_option
def settle_review(
    study: Path, third: Path | None, out: Path, store: str | None, rehearsal: bool, as_json: bool
) -> None:
    """Compare the answers of the two reviewers of STUDY, made with `spa review-explanations --reviewer`.

    settled.csv has who answered what and when, and the score that stands: that of both, or of the third, who answered
    in the dashboard or the study --third, whose answers the store then keeps, so that the dashboard shows them. It can
    be given to `spa report --ratings`. Explanations on which they differ become a study for a third person.
    --json prints agreement (a row a criterion), agreed, adjudicated and conflict (numbers), and files.
    """
    from analysis.explanations.two_reviewers import agreement_by_criterion, explanation_review, settle_from_form
    from spa.commands.workspace import open_answers
    from spa.responses.table_files import write_table

    settling = None if third is None else answers_of_third(third)
    reading = settling is None
    with open_answers(study, store, rehearsal=rehearsal, read_only=reading, quiet=as_json) as workspace:
        review = explanation_review(workspace.store, str(study))
        if settling is not None:
            with workspace.store.transaction() as connection:
                settle_from_form(connection, review, settling)
            review = explanation_review(workspace.store, str(study))
        table = review.table()
        conflicts = table.filter(status="conflict")["item_id"].unique(maintain_order=True).to_list()
        agreement = agreement_by_criterion(review, workspace.study)
        if conflicts:
            write_conflicts(workspace, study, out / THIRD, conflicts)
    write_table(table, out / "settled.csv", format="csv")
    counts = dict(table["status"].value_counts().iter_rows())
    settled = {name: counts.get(name, 0) for name in ("agreed", "adjudicated", "conflict")}
    files = [out / "settled.csv", *([out / THIRD / "study.toml"] if conflicts else [])]
    lines = [*map(agreement_line, agreement), ", ".join(f"{count} {name}" for name, count in settled.items())]
    lines += [f"wrote {files[0]}", *(f"Next, for a third person: spa check {file}" for file in files[1:])]
    facts = {"agreement": [asdict(row) for row in agreement], **settled, "files": files}
    print_result(facts, lines, as_json=as_json)


def answers_of_third(study: Path) -> ReviewerAnswers:
    """Return what a third answered on the form of the conflicts."""
    from analysis.explanations.two_reviewers import answers_of_reviewers
    from spa.commands.workspace import open_workspace

    with open_workspace(study, rehearsal=None, read_only=True) as workspace:
        found = answers_of_reviewers(workspace.store)
    if len(found) != 1:
        raise AnalysisError(f"{study}: expected the complete answers of one person, got those of {len(found)}")
    return found[0]


def agreement_line(row: CriterionAgreement) -> str:
    """Return the agreement of two reviewers on a criterion in words."""
    from analysis.printing.words import interval, number

    parts = [
        f"{name} {number(one.value)} ({interval(one.ci_low, one.ci_high)})"
        for name, one in (("kappa", row.kappa), ("AC1", row.ac1))
    ]
    return f"{row.criterion}: {row.alike} of {row.n} alike, {', '.join(parts)}{f'; {row.reason}' if row.reason else ''}"


def write_conflicts(workspace: Workspace, study: Path, folder: Path, items: list[str]) -> None:
    """Write a study of the explanations on which two differ, for one person: the study file with what differs."""
    import tomlkit

    from spa.commands.review import write_study

    document = tomlkit.parse(study.read_text(encoding="utf-8"))
    document["id"] = f"{workspace.study.id[:50]}-{THIRD}"
    document["design"]["items"] = len(items)
    document["people"] = {"annotators": 1}
    lines = lines_of((study.parent / "outputs.jsonl").read_text(encoding="utf-8"))
    rows = [row for row in map(json.loads, lines) if row["item_id"] in items]
    write_study(folder, tomlkit.dumps(document), rows)
