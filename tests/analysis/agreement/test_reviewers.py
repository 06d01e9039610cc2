"""Agreement of two reviewers: values from statsmodels and by hand, of blind decisions alone; where it is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from analysis.agreement.reviewers import review_agreement
from analysis.answers.study_answers import answers_of
from analysis.printing.document import Table
from analysis.records.results import Results
from analysis.report.csv_tables import csv_tables
from analysis.report.excluded import excluded
from analysis.results.analyse import analyse
from spa.commands.workspace import Workspace, open_workspace
from spa.responses.decisions import Decision
from spa.responses.export import export_tables
from spa.responses.two_reviewers import decide, let_decide
from tests.analysis.live_study import answer, build

TABLE = {("approve", "approve"): 20, ("approve", "propose_rejection"): 5}
TABLE |= {("propose_rejection", "approve"): 10, ("propose_rejection", "propose_rejection"): 15}


def entries(visit: str, *, start: int = 1, **answers: str) -> list[Decision]:
    """Return one decision of each reviewer on a visit."""
    return [
        Decision(
            submission_id=visit,
            action=action,  # type: ignore[arg-type]
            reviewer=reviewer,
            decided_at=float(number),
            note="a reason",
            number=number,
        )
        for number, (reviewer, action) in enumerate(answers.items(), start=start)
    ]


@pytest.fixture(scope="module")
def log() -> list[Decision]:
    pairs = [pair for pair, times in TABLE.items() for _ in range(times)]
    orders = [({"Ana": x, "Ben": y}, {"Ben": y, "Ana": x}) for x, y in pairs]
    return [
        each
        for visit, both in enumerate(orders)
        for each in entries(f"s{visit}", start=10 * visit + 1, **both[visit % 2 == 0])
    ]


def test_reviewers_kappa_and_ac1(log: list[Decision]) -> None:
    """Kappa is that of statsmodels and AC1 that worked by hand."""
    (row,) = review_agreement(log, named=True)
    known = cohens_kappa(np.array([[20, 10], [5, 15]]))  # Ben, who came first, in rows
    assert (row.question, row.reviewers, row.n, row.alike, row.conflicts) == ("payment", ("Ben", "Ana"), 50, 35, 15)
    assert row.kappa == pytest.approx(known.kappa, rel=1e-12)
    assert (row.kappa_low, row.kappa_high) == pytest.approx((known.kappa_low, known.kappa_upp), rel=1e-9)
    share = (25 + 30) / 100  # of approvals; chance by Gwet (2008) is 2 p (1 - p)
    assert row.ac1 == pytest.approx((0.7 - 2 * share * (1 - share)) / (1 - 2 * share * (1 - share)), rel=1e-12)
    assert row.ac1_low is not None
    assert row.ac1_high is not None
    assert row.ac1_low < row.ac1 < row.ac1_high
    assert [each.reviewers for each in review_agreement(log)] == [("reviewer 1", "reviewer 2")]


def test_only_decisions_made_blind_count(log: list[Decision]) -> None:
    """A third who settles, and a reviewer who comes round afterwards, change what is open and no coefficient."""
    before = review_agreement(log)[0]
    visit = next(each.submission_id for each in log if each.action == "propose_rejection")
    settled = [*log, *entries(visit, start=9000, Cem="approve")]
    found = review_agreement(settled)[0]
    assert (found.kappa, found.ac1, found.alike) == (before.kappa, before.ac1, before.alike)
    assert (found.adjudicated, found.conflicts) == (1, before.conflicts - 1)


def test_reviewers_who_never_differ() -> None:
    """Two who never differ have a reason in the place of a value."""
    (row,) = review_agreement(
        [*entries("s1", Ana="exclude", Ben="exclude"), *entries("s2", start=3, Ana="exclude", Ben="exclude")]
    )
    assert (row.question, row.kappa, row.n, row.alike) == ("analysis", None, 2, 2)
    assert str(row.reason) == "no variation: every answer is the same"


def analysed(workspace: Workspace) -> Results:
    found = answers_of(workspace)
    return analyse(found.tables, found.plan, study=found.facts)


def test_the_report_and_the_tables_say_how_far_they_agree(tmp_path: Path) -> None:
    path = build(tmp_path)
    answer(path, lambda people: people == 4)
    with open_workspace(path) as workspace:
        visits = [one.submission_id for one in workspace.store.submissions()][:3]
        with workspace.store.transaction() as connection:
            for number, visit in enumerate(visits):
                second = "include" if number == 1 else "exclude"
                for each in entries(visit, Ana="exclude", Ben=second):
                    decide(connection, each)
        alone = analysed(workspace)
        with workspace.store.transaction() as connection:
            let_decide(connection, 2)
        both, tables = analysed(workspace), export_tables(workspace.store)
    assert alone.reviewers == ()
    assert "reviewers.csv" not in csv_tables(alone)
    assert [(row.question, row.n, row.alike, row.conflicts) for row in both.reviewers] == [("analysis", 3, 2, 1)]
    assert "reviewers.csv" in csv_tables(both)
    section = excluded(both)
    assert section is not None
    (table,) = [block for block in section.blocks if isinstance(block, Table) and block.name == "reviewers"]
    assert [each.text for each in table.rows[0]][:3] == ["leave out or keep", "3", "2"]
    assert "Ana" not in repr(section)
    assert tables.exclusions.height == 2
    kept = tables.files["decisions"]
    assert kept["reviewer"].to_list() == ["Ana", "Ben"] * 3
    assert kept["stands"].to_list() == [0, 1, 0, 0, 0, 1]
    assert kept["independent"].sum() == 6
    assert kept["decided_at"][0] == "1970-01-01T00:00:01+00:00"
