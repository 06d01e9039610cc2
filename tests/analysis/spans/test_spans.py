"""Agreement on marked errors against published values, by definition, by properties and by simulation; their table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import check_frames
from analysis.records.results import Results
from analysis.report.markdown import render_markdown
from analysis.report.sections import build_document
from analysis.results.analyse import analyse
from analysis.spans.agreement import Span, character_f1, coincidences, lay_out, unitizing_alpha
from analysis.spans.span_results import SpanAgreement
from spa.cli import main
from spa.elicitation.spans import marked_errors, true_errors
from spa.errors import AnalysisError
from spa.records.form import AnswerOption
from spa.widgets import SpansAnswer

COLUMNS = {
    **dict.fromkeys(("annotator_id", "item_id", "system"), pl.String),
    **dict.fromkeys(("start", "end"), pl.Int64),
    **dict.fromkeys(("severity", "reason"), pl.String),
    "characters": pl.Int64,
}


def alpha(annotators: Sequence[Sequence[Span]], characters: int, *, marked_only: bool = False) -> float:
    found = coincidences([lay_out(spans, characters) for spans in annotators], 3)
    return float(unitizing_alpha(found.observed, found.squares, marked_only=marked_only))


def test_a_published_implementation_gives_the_same() -> None:
    """The example of the package krippendorff_unitized_alpha, whose segments leave some places out."""
    marks = [[(3, 14), (22, 52)], [(3, 9), (22, 52)], [(22, 45)]]
    gaps = [[(0, 2), (15, 21), (53, 55)], [(0, 2), (10, 21), (53, 55)], [(0, 21), (46, 55)]]
    given = list(zip(gaps, marks, strict=True))
    observed, squares = np.zeros((2, 2)), np.zeros(2)
    for one, other in permutations(given, 2):
        for c, k in product(range(2), range(2)):
            shared = (max(0, min(x[1], y[1]) - max(x[0], y[0])) for x, y in product(one[c], other[k]))
            observed[c, k] += sum(shared) / 2
    for gap, mark in given:
        squares += sum(end - start for start, end in gap), sum((end - start) ** 2 for start, end in mark)
    assert float(unitizing_alpha(observed, squares)) == pytest.approx(0.5671992508994135)


def by_definition(annotators: Sequence[Sequence[Span]], characters: int) -> float:
    """Compare characters two by two: those of two annotators at one place, and any two of different units."""
    layouts = [lay_out(spans, characters) for spans in annotators]
    alike = [(int(x[place] != y[place])) for place in range(characters) for (x, _), (y, _) in permutations(layouts, 2)]
    every = [
        (int(codes[place]), (who, int(owner[place]) if owner[place] >= 0 else f"gap {place}"))
        for who, (codes, owner) in enumerate(layouts)
        for place in range(characters)
    ]
    chance = [int(c != k) for (c, unit), (k, other) in product(every, every) if unit != other]
    return 1 - float(np.mean(alike)) / float(np.mean(chance))


MARKS = st.lists(st.tuples(st.integers(0, 11), st.integers(1, 5), st.integers(1, 2)), max_size=3).map(
    lambda found: [(start, min(start + length, 12), severity) for start, length, severity in found]
)


@given(st.lists(MARKS, min_size=2, max_size=3))
def test_alpha_is_what_its_definition_says(annotators: list[list[Span]]) -> None:
    marked = [codes for codes, _ in (lay_out(spans, 12) for spans in annotators)]
    if len({int(code) for codes in marked for code in codes}) > 1:
        cut = [_without_overlaps(spans) for spans in annotators]
        assert alpha(cut, 12) == pytest.approx(by_definition(cut, 12))
        assert alpha(cut, 12) <= 1
    elif not any(codes.any() for codes in marked):
        assert np.isnan(alpha(annotators, 12))


def _without_overlaps(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in spans:
        if all(span[1] <= start or end <= span[0] for start, end, _ in kept):
            kept.append(span)
    return kept


@given(MARKS, MARKS)
def test_f1_is_symmetric_and_1_for_equal_marks(first: list[Span], second: list[Span]) -> None:
    x, y = lay_out(first, 12)[0], lay_out(second, 12)[0]
    for severity in (False, True):
        assert character_f1(x, y, severity=severity) == character_f1(y, x, severity=severity)
        assert character_f1(x, x, severity=severity) == 1
    assert 0 <= character_f1(x, y, severity=True) <= character_f1(x, y) <= 1
    sets = [{place for start, end, _ in spans for place in range(start, end)} for spans in (first, second)]
    together = sum(map(len, sets))
    assert character_f1(x, y) == pytest.approx(2 * len(sets[0] & sets[1]) / together if together else 1)


def test_a_text_marked_by_one_alone_gives_0_and_by_nobody_1() -> None:
    one, nobody = lay_out([(0, 3, 1)], 9)[0], lay_out([], 9)[0]
    assert (character_f1(one, nobody), character_f1(nobody, nobody)) == (0, 1)


@pytest.mark.parametrize("span", [(2, 2, 1), (0, 13, 1), (-1, 2, 1), (0, 2, 0)])
def test_a_mark_outside_the_text_is_refused(span: Span) -> None:
    with pytest.raises(ValueError, match="expected a mark within 12 characters"):
        lay_out([span], 12)


def table(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def simulated(recall: float, precision: float, *, annotators: int = 4, items: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    answer = SpansAnswer(
        text="some word " * 20,
        severities=(
            AnswerOption(value="minor", text="minor", score=1),
            AnswerOption(value="major", text="major", score=5),
        ),
        categories=(),
        no_errors="none",
    )
    rows: list[tuple[object, ...]] = []
    for item, (system, rate) in product(range(items), (("good", 0.05), ("poor", 0.3))):
        errors = true_errors(answer, rate, (system, str(item)))
        for who in range(annotators):
            place, length = (f"h{who}", f"i{item}", system), len(answer.text)
            marks = json.loads(marked_errors(answer, errors, recall=recall, precision=precision, rng=rng))
            rows += [(*place, one["start"], one["end"], one["severity"], None, length) for one in marks]
            rows += [] if marks else [(*place, None, None, None, "no errors", length)]
    return table(rows)


def results(frame: pl.DataFrame) -> Results:
    return analyse(check_frames({"spans": frame}, Reading()), Plan())


def agreement(found: Results) -> dict[str, SpanAgreement]:
    assert found.spans is not None
    return {row.measure: row for row in found.spans.agreement if row.other is None}


def test_better_annotators_agree_more_and_perfect_ones_wholly() -> None:
    perfect, good, poor = (
        agreement(results(simulated(*skill, items=12))) for skill in ((1, 1), (0.9, 0.9), (0.4, 0.5))
    )
    for measure, row in perfect.items():
        assert row.value == 1
        assert row.reason is not None
        values = [each[measure].value or 0 for each in (good, poor)]
        assert 1 > values[0] > values[1] + 0.1 > 0.1


def test_span_f1_and_counts() -> None:
    """F1 comes near what recall says and counts tell the systems apart."""
    found = results(simulated(0.7, 1))
    f1 = agreement(found)["span_f1"]
    assert f1.value is not None
    assert f1.ci_low is not None
    assert f1.ci_high is not None
    assert f1.ci_low < f1.value < f1.ci_high
    assert f1.value == pytest.approx(0.7, abs=0.05)  # 2 r^2 / 2 r
    assert found.spans is not None
    (good, poor) = (row.per_answer for row in found.spans.counts if row.severity is None)
    (test,) = (row for row in found.ratings.pairs if row.criterion == "weighted errors")
    assert test.mean_difference == pytest.approx(good - poor)
    assert (test.verdict, found.rankings[-1].order) == ("x", (("good",), ("poor",)))


def test_quotes_without_a_place_count_and_leave_agreement_alone() -> None:
    frame = simulated(1, 1, annotators=2, items=3)
    unplaced = table([("h0", "i0", "good", None, None, "major", "not in the text", 200)])
    before, after = results(frame), results(pl.concat([frame, unplaced]))
    rest = frame.filter((pl.col("item_id") != "i0") | (pl.col("system") != "good"))  # h0's answer may mark anything
    assert [row.value for row in agreement(after).values()] == [row.value for row in agreement(results(rest)).values()]
    assert agreement(after)["span_f1"].n_outputs == agreement(before)["span_f1"].n_outputs - 1
    assert " errors by people could not be placed in the text" in render_markdown(build_document(after))
    assert before.spans is not None
    assert after.spans is not None
    more = [y.n_errors - x.n_errors for x, y in zip(before.spans.counts, after.spans.counts, strict=True)]
    assert more == [1, 0, 1, 0, 0, 0]
    assert sum(row.n_unplaced for row in after.spans.counts if row.severity is None) == 1


def test_a_small_table_by_hand() -> None:
    none = (None, None, None, "no errors", 10)
    found = results(
        table(
            [
                ("a", "i1", "x", 0, 4, "minor", None, 10),
                ("b", "i1", "x", 2, 6, "major", None, 10),
                *((who, "i1", "y", *none) for who in "ab"),
                ("a", "i2", "x", 0, 2, "major", None, 10),
                ("b", "i2", "x", *none),
            ]
        )
    )
    value = {measure: row.value for measure, row in agreement(found).items()}
    assert (value["span_f1"], value["span_f1_severity"]) == (0.5, pytest.approx(1 / 3))  # of 1/2 or 0, 1 and 0
    marks = [[(0, 4, 1), (20, 22, 2)], [(2, 6, 2)]]  # the three texts end to end
    assert value["alpha_u"] == pytest.approx(alpha(marks, 30))
    means = {(row.criterion, row.system): row.mean for row in found.ratings.means}
    assert means == {
        ("errors", "x"): 0.75,
        ("errors", "y"): 0.0,
        ("weighted errors", "x"): 2.75,
        ("weighted errors", "y"): 0.0,
    }


def test_people_and_llms_are_compared_pair_by_pair() -> None:
    frame = simulated(1, 1, annotators=2, items=3)
    both = check_frames(
        {"spans": frame.with_columns(annotator_id=pl.col("annotator_id").replace("h1", "gpt"))}, Reading(llms=("gpt",))
    )
    found = analyse(both, Plan()).spans
    assert found is not None
    assert {(row.group, row.other, row.measure, row.value) for row in found.agreement} == {
        ("human", "gpt", "span_f1", 1.0),
        ("human", "gpt", "span_f1_severity", 1.0),
    }


def test_without_lengths_there_is_f1_and_no_alpha() -> None:
    found = agreement(results(simulated(0.9, 1, items=4).drop("characters")))
    assert found["span_f1"].value is not None
    assert found["alpha_u"].value is None
    assert "characters" in str(found["alpha_u"].reason)


def test_where_nobody_marks_anything_alpha_has_a_reason() -> None:
    rows = [(who, item, system, None, None, None, "no errors", 9) for who, item, system in product("ab", "cd", "xy")]
    found = agreement(results(table(rows)))
    assert found["span_f1"].value == 1
    assert "no error has a place" in str(found["alpha_u"].reason)


def test_the_report_has_a_section_only_where_errors_were_marked() -> None:
    found = results(simulated(0.8, 0.8, items=6))
    text = render_markdown(build_document(found))
    assert "## Errors that were marked" in text
    assert "Errors that were marked" not in render_markdown(build_document(replace(found, spans=None)))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("a", "i", "x", 5, 5, "minor", None, 9), "end must follow start"),
        (("a", "i", "x", 5, 12, "minor", None, 9), "end must not exceed characters"),
        (("a", "i", "x", 5, 6, None, None, 9), "an error with a place must have a severity"),
        (("a", "i", "x", 5, 6, "fatal", None, 9), "a severity other than minor, major, critical needs a column weight"),
        (("a", "i", "x", None, None, None, None, 9), 'must have the reason "no errors"'),
        (("a", None, "x", 5, 6, "minor", None, 9), "item_id must not be empty"),
    ],
)
def test_a_wrong_row_is_refused(row: tuple[object, ...], said: str) -> None:
    with pytest.raises(AnalysisError, match="spans table, row 1") as refused:
        check_frames({"spans": table([row])}, Reading())
    assert said in str(refused.value)


def test_the_command_takes_the_table(tmp_path: Path) -> None:
    simulated(0.8, 0.8, items=3).write_csv(tmp_path / "spans.csv")
    given = ["report", "--spans", str(tmp_path / "spans.csv"), "--out", str(tmp_path / "report")]
    assert CliRunner().invoke(main, given).exit_code == 0
    tables = tmp_path / "report" / "tables"
    assert {path.name for path in tables.glob("span_*.csv")} == {"span_counts.csv", "span_agreement.csv"}
