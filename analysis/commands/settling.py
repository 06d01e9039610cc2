"""``spa settle-review``: two judgements of each explanation, the conflicts, and what a third settles."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import out_folder_option, store_option, study_argument
from spa.errors import AnalysisError

if TYPE_CHECKING:
    import polars as pl

    from spa.commands.workspace import Workspace

Place = tuple[str, str, str]  # item, system, criterion
Answer = tuple[str, str, float]  # reviewer, time, score
THIRD = "third"  # folder of the new study
GROUPS = r"\n\[\[people\.groups\]\]\n(?:[a-z]+ = .*\n)+"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerAnswers:
    """What one reviewer answered, and when the form was handed in."""

    reviewer: str
    at: str
    scores: dict[Place, float]


@click.command("settle-review", epilog="Example: spa settle-review review-study/study.toml --out settled")
@study_argument
@click.option(
    "--third",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Study file of the conflicts that a third person has judged.",
)
@out_folder_option("Folder for settled.csv and, as long as there are conflicts, the study for a third.", required=True)
@store_option
def settle_review(study: Path, third: Path | None, out: Path, store: str | None) -> None:
    """Compare the answers of the two reviewers of STUDY, made with `spa review-explanations --reviewer`.

    settled.csv has who answered what and when, and the score that stands: that of both, or of the third. It can
    be given to `spa report --ratings`. Explanations on which they differ become a study for a third person.
    """
    from spa.commands.workspace import open_workspace
    from spa.responses.table_files import write_table

    with open_workspace(study, store, read_only=True) as workspace:
        first, second = two_of(answers_of_reviewers(workspace), str(study))
        rows = {} if third is None else thirds(third)
        table = settled(first, second, rows)
        conflicts = table.filter(status="conflict")["item_id"].unique(maintain_order=True).to_list()
        lines = agreement_lines(first, second)
        if conflicts:
            write_conflicts(workspace, study, out / THIRD, conflicts)
    write_table(table, out / "settled.csv", format="csv")
    counts = dict(table["status"].value_counts().iter_rows())
    click.echo("\n".join(lines))
    click.echo(", ".join(f"{counts.get(name, 0)} {name}" for name in ("agreed", "adjudicated", "conflict")))
    click.echo(f"wrote {out / 'settled.csv'}")
    if conflicts:
        click.echo(f"Next, for a third person: spa check {out / THIRD / 'study.toml'}")


def answers_of_reviewers(workspace: Workspace) -> list[ReviewerAnswers]:
    """Return the answers of each person who completed the form, in the order in which they did."""
    from datetime import UTC, datetime

    import polars as pl

    from spa.responses.export import export_tables

    tables = export_tables(workspace.store)
    groups = dict(tables.annotators.select("annotator_id", "people_group").iter_rows())
    found = []
    for visit in sorted(workspace.store.visits.of_people(), key=lambda one: one.completed_at or 0.0):
        own = tables.ratings.filter(
            pl.col("score").is_not_null(), annotator_id=visit.annotator_id, assignment_id=visit.assignment_id
        )
        if visit.completed_at is not None and not own.is_empty():
            places = own.select("item_id", "system", "criterion").iter_rows()
            at = datetime.fromtimestamp(visit.completed_at, UTC).isoformat(timespec="seconds")
            name = groups[visit.annotator_id] or visit.annotator_id
            found.append(ReviewerAnswers(reviewer=name, at=at, scores=dict(zip(places, own["score"], strict=True))))
    return found


def two_of(found: list[ReviewerAnswers], name: str) -> tuple[ReviewerAnswers, ReviewerAnswers]:
    """Return the two reviewers; an ``AnalysisError`` where there are not two."""
    if len(found) != 2:
        raise AnalysisError(f"{name}: expected the complete answers of two reviewers, got those of {len(found)}")
    return found[0], found[1]


def thirds(study: Path) -> dict[Place, Answer]:
    """Return what a third answered on each conflict: name, time and score."""
    from spa.commands.workspace import open_workspace

    with open_workspace(study, read_only=True) as workspace:
        found = answers_of_reviewers(workspace)
    if len(found) != 1:
        raise AnalysisError(f"{study}: expected the complete answers of one person, got those of {len(found)}")
    return {place: (found[0].reviewer, found[0].at, score) for place, score in found[0].scores.items()}


def settled(
    first: ReviewerAnswers, second: ReviewerAnswers, third: dict[Place, tuple[str, str, float]]
) -> pl.DataFrame:
    """Return one row an answer that both gave: both answers, the third's where they differ, and what stands."""
    import polars as pl

    rows = []
    for place in sorted(first.scores.keys() & second.scores.keys()):
        x, y = first.scores[place], second.scores[place]
        name, at, score = third.get(place, (None, None, None)) if x != y else (None, None, None)
        status = "agreed" if x == y else "conflict" if score is None else "adjudicated"
        rows.append(
            {
                "annotator_id": "settled",
                **dict(zip(("item_id", "system", "criterion"), place, strict=True)),
                "score": x if x == y else score,
                "status": status,
                **{"reviewer_x": first.reviewer, "score_x": x, "at_x": first.at},
                **{"reviewer_y": second.reviewer, "score_y": y, "at_y": second.at},
                **{"adjudicator": name, "adjudicated_at": at},
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def agreement_lines(first: ReviewerAnswers, second: ReviewerAnswers) -> list[str]:
    """Return, by criterion, the agreement of two reviewers."""
    from analysis.agreement import cohen_kappa, gwet_ac1
    from analysis.results.words import interval, number

    lines = []
    both = sorted(first.scores.keys() & second.scores.keys())
    for criterion in dict.fromkeys(place[2] for place in both):
        answers = [[first.scores[place], second.scores[place]] for place in both if place[2] == criterion]
        alike = sum(x == y for x, y in answers)
        kappa, ac1 = cohen_kappa(answers), gwet_ac1(answers)
        parts = [
            f"{name} {number(one.value)} ({interval(one.ci_low, one.ci_high)})"
            for name, one in (("kappa", kappa), ("AC1", ac1))
        ]
        reason = kappa.reason or ac1.reason
        lines.append(f"{criterion}: {alike} of {len(answers)} alike, {', '.join(parts)}{f'; {reason}' * bool(reason)}")
    return lines


def write_conflicts(workspace: Workspace, study: Path, folder: Path, items: list[str]) -> None:
    """Write a study of the explanations on which two differ, for one person."""
    from spa.commands.review import write_study

    text = re.sub(GROUPS, "", study.read_text(encoding="utf-8"))
    changes = {"id": json.dumps(f"{workspace.study.id[:50]}-{THIRD}"), "items": len(items), "annotators": 1}
    for key, value in changes.items():
        text = re.sub(rf"^{key} = .*$", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
    lines = (study.parent / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    write_study(folder, text, [row for row in map(json.loads, lines) if row["item_id"] in items])
