"""Agreement of ratings that are counted by output, beside that of the same ratings one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import Plan
from analysis.agreement.counted_ratings import without_counted
from analysis.agreement.rater_agreement import AgreementRow, AnnotatorPairRow, agreement_of_ratings, code_raters
from analysis.answers.input import AnalysisInput, prepare_input, steps_of
from analysis.answers.options import Reading
from analysis.answers.tables import check_frames
from analysis.records.results import Results
from analysis.results.analyse import analyse
from analysis.statistics.record import fields_of


def ratings(seed: int, *, people: int = 12, whole: bool = True) -> pl.DataFrame:
    """Rate three systems' outputs on two criteria, some not; in one group an LLM answers twice."""
    rng = np.random.default_rng(seed)
    criterion, who, item, system = np.indices((2, people, 15, 3)).reshape(4, -1)
    kept = rng.random(len(who)) < 0.7
    score = np.clip(np.rint(3 + 0.4 * system + rng.normal(size=len(who))), 1, 5) + (0 if whole else 0.25)
    names = {"annotator_id": who, "item_id": item, "system": system, "criterion": criterion}
    frame = pl.DataFrame(names).select(pl.format(f"{name[0]}{{}}", name).alias(name) for name in names)
    return frame.with_columns(score=score, sample=pl.lit(None, dtype=pl.String)).filter(pl.Series(kept))


def both(table: pl.DataFrame) -> tuple[Results, AnalysisInput]:
    tables = check_frames({"ratings": table}, Reading())
    return analyse(tables, Plan()), prepare_input(tables, Plan(), None)


def single(prepared: AnalysisInput) -> tuple[list[AgreementRow], list[AnnotatorPairRow]]:
    """Measure the ratings one by one."""
    coded = code_raters(prepared.kept["ratings"], prepared.orders["ratings"])
    return agreement_of_ratings(coded, prepared.plan, steps_of(prepared))


@pytest.mark.parametrize(("seed", "people"), [(1, 12), (2, 4)])
def test_counted_ratings_agree_as_single_ones_do(seed: int, people: int) -> None:
    """By output or one by one, in any order of the rows: the same coefficients and pairs of raters."""
    table = ratings(seed, people=people)
    found, prepared = both(table)
    for rows, expected in zip((found.agreement, found.annotator_pairs), single(prepared), strict=True):
        assert len(rows) == len(expected)
        for row, other in zip(rows, expected, strict=True):
            for name, value in fields_of(other).items():
                exact = value if not isinstance(value, float) else pytest.approx(value, rel=1e-10, abs=1e-12)
                assert getattr(row, name) == exact, name
    shuffled = table.sample(fraction=1, shuffle=True, seed=3)
    again = both(shuffled)[0]
    key = lambda row: (row.criterion, row.measure)  # noqa: E731
    for row, other in zip(sorted(found.agreement, key=key), sorted(again.agreement, key=key), strict=True):
        assert (row.value, row.ci_low) == (other.value, other.ci_low)


def test_counted_ratings_of_samples_are_apart() -> None:
    """What two people saw is one output only where it is one sample, even if nobody saw two."""
    table = ratings(3, people=4)
    even = pl.col("annotator_id").is_in(["a0", "a1"])
    found, prepared = both(table.with_columns(sample=pl.when(even).then(pl.lit("1")).otherwise(pl.lit("2"))))
    assert [row.n_items for row in found.agreement] == [row.n_items for row in single(prepared)[0]]
    assert max(row.n_annotators for row in found.agreement) == 4
    assert max(row.n_items for row in found.agreement) > 45  # as many as without samples


def test_counted_ratings_leave_the_others() -> None:
    """A criterion with scores between whole ones is looked at one by one, and rows keep their order."""
    table = pl.concat([ratings(4).filter(pl.col("criterion") == "c0"), ratings(4, whole=False)[:0]])
    others = ratings(5, whole=False).filter(pl.col("criterion") == "c1")
    found, prepared = both(pl.concat([others, table]))
    expected = [(row.criterion, row.measure) for row in single(prepared)[0]]
    assert [(row.criterion, row.measure) for row in found.agreement] == expected


def test_counted_ratings_are_told_by_their_place() -> None:
    """Other rows stay as they stand; none where all are counted."""
    frame = pl.DataFrame({"group": ["b", "a", "a"], "criterion": ["x", "x", "y"], "value": [3.0, 1.0, 2.0]})

    def counted(*places: tuple[str, str]) -> Any:
        return [SimpleNamespace(sums=SimpleNamespace(group=one, criterion=other)) for one, other in places]

    assert without_counted(frame, counted()).equals(frame)
    assert without_counted(frame, counted(("a", "x"))).equals(frame[[0, 2]])
    assert without_counted(frame, counted(("a", "x"), ("a", "y"), ("b", "x"))).is_empty()
