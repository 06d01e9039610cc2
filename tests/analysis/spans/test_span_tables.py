"""Tables of marked errors from elsewhere: outputs without rows, ends, lengths, penalties, WMT's words and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from analysis import Plan, Reading
from analysis import analyse as analyse_records
from analysis.answers.span_tables import SpanDoubts
from analysis.answers.span_weights import PENALTIES, WMT
from analysis.answers.tables import check_frames, read_tables
from analysis.records.results import Results
from analysis.report.markdown import render_markdown
from analysis.report.sections import build_document
from spa.cli import main
from spa.errors import AnalysisError
from tests.strategies import orders_of

Row = Mapping[str, object]
DOUBTS = ("clean_outputs", "category_weights", "output_lengths")


def table(rows: Sequence[Row], *, who: str = "r1", **more: object) -> pl.DataFrame:
    base: dict[str, object] = {
        "annotator_id": who,
        "start": None,
        "end": None,
        "severity": None,
        "characters": "40",
        "reason": None,
    }
    whole = [{**base, **more, **row} for row in rows]
    columns = {**dict.fromkeys(base), **dict.fromkeys(name for row in whole for name in row)}
    return pl.DataFrame(
        [[None if row.get(name) is None else str(row[name]) for name in columns] for row in whole],
        schema=dict.fromkeys(columns, pl.String),
        orient="row",
    )


def results(frame: pl.DataFrame, **options: Any) -> Results:
    return analyse_records(check_frames({"spans": frame}, Reading(**options)), Plan())


def means(found: Results, criterion: str = "errors") -> dict[str, float | None]:
    return {row.system: row.mean for row in found.ratings.means if row.criterion == criterion}


def told(found: Results) -> dict[str, str]:
    rows: dict[str, str] = {row.kind: row.text for row in found.warning_rows if row.kind in DOUBTS}
    assert found.headline is not None
    assert {one.kind: one.text for one in found.headline.problems if one.kind in DOUBTS} == rows
    return rows


def f1(found: Results, other: str | None = None) -> tuple[float | None, int]:
    assert found.spans is not None
    (row,) = (row for row in found.spans.agreement if row.measure == "span_f1" and row.other == other)
    return row.value, row.n_outputs


# --- outputs without rows


def unsaid(people: int = 3, items: int = 8) -> pl.DataFrame:
    """Let two systems be judged; o1 has one error in the last half of the items, o2 two in each."""
    rows = [
        {
            "annotator_id": f"r{who}",
            "item_id": item,
            "system": system,
            "start": start,
            "end": start + 4,
            "severity": "major",
        }
        for who, item in product(range(people), range(items))
        for system, start in (("o1", 0), ("o2", 0), ("o2", 5))
        if system == "o2" or item >= items / 2
    ]
    return table(rows)


def test_spans_outputs_without_rows() -> None:
    """Outputs without rows are asked about and may be without errors."""
    frame = unsaid()
    before = results(frame)
    assert means(before) == {"o1": 1, "o2": 2}
    assert told(before) == {
        "clean_outputs": "12 of 48 outputs of items in which r0, r1, r2 marked errors have no row, and count as "
        "not judged, not as without errors. If they were judged, add --clean-outputs; else let a row with the reason "
        '"no errors" say which outputs were.'
    }
    after = results(frame, clean_outputs=True)
    assert means(after) == {"o1": 0.5, "o2": 2}
    assert told(after) == {}
    assert after.settings.inputs[0].notes == ("12 outputs without rows count as without errors",)
    assert f1(after) == (1.0, 16)


def test_spans_who_judged_which_outputs() -> None:
    """Whoever says no errors once or saw one output of each item says what they judged."""
    clean = table(
        [{"annotator_id": f"r{who}", "item_id": 0, "system": "o1", "reason": "no errors"} for who in range(3)]
    )
    frame = pl.concat([unsaid(), clean])
    assert told(results(frame)) == {}
    assert means(results(frame, clean_outputs=True)) == means(results(frame))
    one_each = [
        {"item_id": item, "system": f"o{item % 2}", "start": 0, "end": 4, "severity": "minor"} for item in range(12)
    ]
    assert told(results(table(one_each))) == {}


def test_other_peoples_outputs_are_no_sign() -> None:
    """One annotator of two says that outputs have no errors; the other is asked about theirs alone."""
    clean = table([{"annotator_id": "r0", "item_id": item, "system": "o1", "reason": "no errors"} for item in range(4)])
    assert (
        "4 of 16 outputs of items in which r1 marked" in told(results(pl.concat([unsaid(2), clean])))["clean_outputs"]
    )


@settings(max_examples=15)
@given(orders_of(unsaid(2, 4).height))
def test_order_of_rows_changes_nothing(order: list[int]) -> None:
    for clean in (False, True):
        assert _found(unsaid(2, 4)[order], clean) == _in_order(clean)


@cache
def _in_order(clean: bool) -> tuple[SpanDoubts | None, Sequence[Row]]:
    return _found(unsaid(2, 4), clean)


def _found(frame: pl.DataFrame, clean: bool) -> tuple[SpanDoubts | None, Sequence[Row]]:
    tables = check_frames({"spans": frame}, Reading(clean_outputs=clean))
    assert tables.ratings is not None
    key = ["annotator_id", "item_id", "system", "criterion"]
    return tables.span_doubts, tables.ratings.select(pl.col(key).cast(pl.String), "value").sort(key).to_dicts()


# --- ends, texts, lengths


def marked(ends: Mapping[str, int], words: Sequence[str] = ("go", "to", "a")) -> pl.DataFrame:
    """Mark the same words of six outputs by several annotators, each with an end as far behind as ``ends`` says."""
    rows: list[Row] = []
    for item, who in product(range(6), ends):
        place = 3
        for word in words:
            rows.append(
                {
                    "annotator_id": who,
                    "annotator_kind": "llm" if who == "judge" else "human",
                    "item_id": item,
                    "system": "x",
                    "start": place,
                    "end": place + len(word) + ends[who],
                    "text": word,
                    "severity": "minor",
                }
            )
            place += len(word) + 4
    return table(rows)


def test_span_ends_one_short() -> None:
    """Ends one short of the text are asked about and made alike."""
    frame = marked({"p1": -1, "p2": -1, "judge": 0})
    with pytest.raises(AnalysisError) as refused:
        results(frame)
    assert str(refused.value) == (
        "spans table: ends are included in all 36 places by p1, p2, where text is one longer than end - start; add "
        "ends='included'"
    )
    found = results(frame, ends="included")
    assert f1(found, "judge") == (1.0, 6)
    assert f1(found) == (1.0, 6)
    assert f1(results(marked({"p1": 0, "p2": 0}))) == (1.0, 6)


def test_without_texts_all_ends_are_as_the_option_says() -> None:
    frame = marked({"p1": -1, "p2": -1}).drop("text")
    with pytest.raises(AnalysisError, match=r"end must follow start \(where ends are included, --ends included\)"):
        results(frame)
    right = check_frames({"spans": marked({"p1": 0, "p2": 0})}, Reading()).spans
    found = check_frames({"spans": frame}, Reading(ends="included")).spans
    assert right is not None
    assert found is not None
    assert found["end"].equals(right["end"])


@pytest.mark.parametrize("ends", [None, "included", "excluded"])
def test_texts_of_another_length_are_refused_with_their_rows(ends: str | None) -> None:
    frame = marked({"p1": 0, "p2": 0}).with_columns(
        text=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit("there")).otherwise("text")
    )
    with pytest.raises(
        AnalysisError, match="row 5: text must be as long as end - start, got 'there' with 5 characters for"
    ):
        results(frame, ends=ends)
    if ends == "excluded":
        with pytest.raises(AnalysisError, match="add ends='included'"):
            results(marked({"p1": -1}), ends=ends)


def test_spans_whole_outputs_in_column_text() -> None:
    """Whole outputs in a column text are told and left alone under another name."""
    frame = marked({"p1": 0, "p2": 0}).with_columns(text=pl.lit("x" * 40))
    with pytest.raises(AnalysisError, match="if text is the whole output, --map text=output"):
        results(frame)
    assert results(frame, mapping={"text": "output"}).spans == results(marked({"p1": 0, "p2": 0})).spans


def test_blanks_at_the_ends_of_a_text_count(tmp_path: Path) -> None:
    frame = table([{"item_id": 1, "system": "x", "start": 3, "end": 6, "severity": "minor", "text": " a "}])
    frame.write_csv(tmp_path / "s.csv")
    assert read_tables({"spans": tmp_path / "s.csv"}, Reading()).spans is not None
    assert check_frames({"spans": frame}, Reading()).spans is not None


def test_two_lengths_of_an_output_are_told() -> None:
    frame = marked({"p1": 0, "p2": 0})
    other = frame.with_columns(
        characters=pl.when((pl.col("annotator_id") == "p2") & (pl.col("item_id") == "3"))
        .then(pl.lit("43"))
        .otherwise("characters")
    )
    assert told(results(frame)) == {}
    assert told(results(other))["output_lengths"].startswith(
        "1 of 6 outputs has two lengths (column characters; 40 and 43 for item 3 of x)"
    )


# --- weights


def weighed(weights: Sequence[object]) -> pl.DataFrame:
    """Mark four errors in outputs of good and bad, minor and major by turns."""
    rows: list[Row] = []
    for item in range(20):
        bad = item % 5
        rows += [
            {
                "item_id": item,
                "system": "bad",
                "start": 5 * place,
                "end": 5 * place + 4,
                "severity": severity,
                "weight": weight,
            }
            for place, (severity, weight) in enumerate(zip(("major", "minor"), weights, strict=True))
        ]
        error = (
            {"start": 0, "end": 4, "severity": "minor", "weight": weights[1]} if bad == 0 else {"reason": "no errors"}
        )
        rows.append({"item_id": item, "system": "good", **error})
    return table(rows, weight=None)


def test_weights_at_or_below_0_are_penalties() -> None:
    right, found = results(weighed((5, 1))), results(weighed((-5, -1)))
    assert means(found, "weighted errors") == means(right, "weighted errors") == {"good": 0.2, "bad": 6.0}
    assert found.rankings == right.rankings
    assert found.settings.inputs[0].notes == (PENALTIES,)
    assert right.settings.inputs[0].notes == ()


def test_weights_of_both_signs_are_refused() -> None:
    with pytest.raises(AnalysisError, match=r"rows 1, 4, .*weights must be all at or above 0, or all at or below 0"):
        results(weighed((-5, 1)))


def test_severities_are_read_in_any_case() -> None:
    frame = weighed((None, None))
    capital = frame.with_columns(pl.col("severity").str.to_titlecase())
    assert means(results(capital), "weighted errors") == {"good": 0.2, "bad": 6.0}
    assert results(capital).spans == results(frame).spans


def test_other_words_are_refused_with_the_option() -> None:
    frame = weighed((None, None)).with_columns(pl.col("severity").replace({"major": "Neutral"}))
    with pytest.raises(AnalysisError) as refused:
        results(frame)
    assert "needs a column weight or weights=analysis.answers.span_weights.WMT, got 'Neutral'" in str(refused.value)
    assert refused.value.problems[0].with_option("--weight").endswith("--weight wmt, got 'Neutral'")  # type: ignore[attr-defined]
    assert means(results(frame, weights=WMT), "weighted errors") == {"good": 0.2, "bad": 1.0}
    own = frame.with_columns(pl.col("severity").replace({"Neutral": "fatal"}))
    with pytest.raises(AnalysisError, match="needs a column weight or"):
        results(own, weights=WMT)
    assert means(results(own, weights={"Fatal": 10}), "weighted errors") == {"good": 0.2, "bad": 11.0}


WORDS: tuple[tuple[str, str | None, str], ...] = (
    ("alpha", "Fluency/Punctuation", "Minor"),
    ("alpha", "Accuracy/Creative Reinterpretation", "Major"),
    ("beta", "Non-translation!", "Major"),
    ("gamma", "Accuracy/Mistranslation", "Minor"),
    ("gamma", "Source issue", "Minor"),
)


def by_category() -> pl.DataFrame:
    rows = [
        {"item_id": item, "system": system, "start": 0, "end": 4, "severity": severity, "category": category}
        for item in range(4)
        for system, category, severity in WORDS
    ]
    return table(rows)


def test_categories_of_wmt_without_weights_are_told_and_weighed() -> None:
    found = results(by_category())
    assert means(found, "weighted errors") == {"alpha": 6, "beta": 5, "gamma": 2}
    (text,) = told(found).values()
    assert (
        "By the rules of WMT 16 of 20 weigh otherwise, by category (Accuracy/Creative Reinterpretation major 0" in text
    )
    assert text.endswith("If these are WMT's categories, add --weight wmt; if not, --weight minor=1.")
    right = results(by_category(), weights=WMT)
    assert means(right, "weighted errors") == {"alpha": 0.1, "beta": 25, "gamma": 1}
    assert told(right) == {}
    assert told(results(by_category(), weights={"minor": 1})) == {}
    assert told(results(by_category().with_columns(weight=pl.lit("1")))) == {}
    assert told(results(by_category().with_columns(category=pl.lit("Accuracy/Mistranslation")))) == {}


def test_spans_no_error_as_severity_or_category() -> None:
    """No error as a severity or category is an answer without errors."""
    rows = [
        {"item_id": 1, "system": "x", "severity": "no-error", "category": "Fluency/Punctuation"},
        {"item_id": 2, "system": "x", "severity": "Minor", "category": "No-error"},
        {"item_id": 3, "system": "x", "severity": "No error"},
        {"item_id": 4, "system": "x", "severity": "Major", "start": 3, "end": 5, "category": "Other"},
    ]
    assert means(results(table(rows))) == {"x": 0.25}


# --- WMT's own tables


MQM = """system\tseg_id\trater\tsource\ttarget\tcategory\tseverity
alpha\t1\tr1\tDer Zug kam spät an.\tThe train <v>was</v> late.\tFluency/Grammar\tMinor
alpha\t1\tr1\tDer Zug kam <v>spät</v> an.\tThe train was late.\tAccuracy/Omission\tMajor
alpha\t2\tr1\tEr kam.\tHe came.\tNo-error\tNo-error
beta\t1\tr1\tDer Zug kam spät an.\tThe train was late <v> .</v>\tFluency/Punctuation\tMinor
beta\t1\tr1\tDer Zug kam <v>spät</v> an.\tThe train was late  .\tSource issue\tMinor
beta\t2\tr1\tEr kam.\tHe <v>came.\tFluency/Spelling\tMinor
beta\t2\tr1\tEr kam.\tHe came.\tMissed\tHOTW-test
"""


def mqm(tmp_path: Path) -> Path:
    path = tmp_path / "mqm.csv"
    rows = [line.split("\t") for line in MQM.splitlines()]
    pl.DataFrame(rows[1:], schema=rows[0], orient="row").write_csv(path)
    return path


def test_marks_in_the_text_are_places(tmp_path: Path) -> None:
    mapping = {"seg_id": "item_id", "rater": "annotator_id"}
    tables = read_tables({"spans": mqm(tmp_path)}, Reading(mapping=mapping, weights=WMT))
    assert tables.spans is not None
    columns = ["system", "start", "end", "text", "characters", "reason", "weight"]
    assert tables.spans.select(columns).rows() == [
        ("alpha", 10, 13, "was", 19, None, 1.0),
        ("alpha", None, None, None, 19, "omission", 5.0),
        ("alpha", None, None, None, 8, "no errors", None),
        ("beta", 19, 21, " .", 21, None, 0.1),
        ("beta", None, None, None, 21, "in the source", 0.0),
        ("beta", None, None, None, 8, "a mark that is not closed", 1.0),
    ]
    assert tables.inputs[0].notes[-1] == "1 row left out: severity=HOTW-test (planted errors)"
    found = analyse_records(tables, Plan())
    assert means(found, "weighted errors") == {"alpha": 3.0, "beta": 0.55}


def test_a_table_with_places_keeps_them_whatever_its_texts(tmp_path: Path) -> None:
    frame = marked({"p1": 0}).with_columns(target=pl.lit("no <v>mark</v> of ours"), source=pl.lit("text"))
    assert results(frame).spans == results(marked({"p1": 0})).spans


def test_the_command_takes_the_options(tmp_path: Path) -> None:
    given = ["report", "--spans", str(mqm(tmp_path)), "--map", "seg_id=item_id", "--map", "rater=annotator_id"]
    out = ["--out", str(tmp_path / "o")]
    run = CliRunner().invoke(main, [*given, "--weight", "wmt", "--weight", "Fluency/Grammar=2", *out])
    assert run.exit_code == 0, run.output
    assert CliRunner().invoke(main, [*given, "--weight", "Minor", *out]).exit_code == 2
    marked({"p1": -1, "p2": -1}).write_csv(tmp_path / "s.csv")
    run = CliRunner().invoke(main, ["report", "--spans", str(tmp_path / "s.csv"), *out])
    assert "one longer than end - start; add --ends included" in run.output
    run = CliRunner().invoke(main, ["report", "--spans", str(tmp_path / "s.csv"), "--ends", "included", *out])
    assert run.exit_code == 0, run.output


# --- agreement where errors have no place


def omitted(reason: str | None = "omission", category: str | None = None) -> pl.DataFrame:
    """Let half of the outputs be clean; in the others two people mark different words and something without a place."""
    rows: list[Row] = []
    for item, system, (who, start) in product(range(12), ("alpha", "beta"), (("r1", 0), ("r2", 20))):
        place = {"annotator_id": who, "item_id": item, "system": system}
        if item < 6:
            rows.append({**place, "reason": "no errors"})
            continue
        rows.append({**place, "start": start, "end": start + 5, "severity": "minor"})
        rows.append({**place, "severity": "major", "reason": reason, "category": category})
    return table(rows, category=None)


@pytest.mark.parametrize(("reason", "category"), [("omission", None), ("Omission", None), (None, "Accuracy/Omission")])
def test_an_omission_keeps_its_answer_in_agreement(reason: str | None, category: str | None) -> None:
    found = results(omitted(reason, category))
    assert f1(found) == (0.5, 24)
    assert found.spans is not None
    assert {row.n_left_out for row in found.spans.counts} == {0}
    text = render_markdown(build_document(found))
    assert "agreement is on the other errors of these answers" in text
    assert "nobody marked" not in text


def test_other_errors_without_a_place_are_left_out_and_counted() -> None:
    found = results(omitted("not in the text"))
    assert f1(found) == (1.0, 12)
    text = render_markdown(build_document(found))
    assert "0 of 24 answers with errors by people" in text
    assert found.spans is not None
    (row,) = (row for row in found.spans.agreement if row.measure == "alpha_u")
    assert "nobody marked" not in str(row.reason)
