"""How identical pairs were rated: Chiang & Lee (2023), section 4.3, worked by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from analysis.answers.study_facts import StudyFacts, facts_of
from analysis.descriptives.identical_pairs import rated_copies
from analysis.printing.document import Document, Fold, Table
from spa.commands.init import write_example
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.analysis.made_answers import build_document, ratings, render_report, run


def tables_of(document: Document) -> Iterator[Table]:
    for section in document.sections:
        for block in section.blocks:
            yield from (
                one for one in (block.blocks if isinstance(block, Fold) else (block,)) if isinstance(one, Table)
            )


def rated() -> pl.DataFrame:
    return ratings([("ann", "i0", "a", 3), ("gpt", "i0", "a", 4)])


def pairs(**scores: list[float | None]) -> pl.DataFrame:
    rows = [(who, "meaning", score, 5) for who, given in scores.items() for score in given]
    return pl.DataFrame(rows, schema=["annotator_id", "criterion", "score", "expected"], orient="row")


def test_each_group_has_its_own_mean_beside_what_is_expected() -> None:
    given = pairs(ann=[5, 4], gpt=[5, 5, 5, None])
    results = run(ratings=rated(), identical_pairs=given, llms=("gpt",))
    of_people, of_llm = results["identical_pairs"]
    assert [of_people[name] for name in ("group", "n", "n_expected", "mean")] == ["human", 2, 1, 4.5]
    assert of_people["sd"] == pytest.approx(0.5**0.5)
    assert (of_llm["group"], of_llm["n"], of_llm["n_missing"], of_llm["n_expected"]) == ("gpt", 3, 1, 3)
    assert (of_llm["expected"], of_llm["mean"], of_llm["sd"]) == (5, 5, 0)
    html = render_report(results)["report.html"]
    assert "Identical pairs" in html
    assert "5.00" in html


def test_groups_that_were_not_asked_have_no_row() -> None:
    results = run(ratings=rated(), identical_pairs=pairs(gpt=[None]), llms=("gpt",))
    (row,) = results["identical_pairs"]
    assert (row["group"], row["n"], row["mean"], row["sd"]) == ("gpt", 0, None, None)
    assert "Identical pairs" in render_report(results)["report.html"]
    without = run(ratings=rated(), llms=("gpt",))
    assert without["identical_pairs"] == []
    assert "Identical pairs" not in render_report(without)["report.html"]


def test_copies_among_a_systems_outputs_are_summed_by_hand() -> None:
    """Two of three outputs of a equal their source, all of b; the best of meaning is 5, fluency is not compared."""
    given = pl.DataFrame(
        [
            ("human", "meaning", "a", "i0", 1, 5.0),
            ("human", "meaning", "a", "i1", 1, 4.0),
            ("human", "meaning", "a", "i2", 1, 1.0),
            ("human", "meaning", "b", "i0", 2, 5.0),
            ("human", "meaning", "b", "i1", 1, None),
            ("human", "fluency", "b", "i0", 2, 2.0),
        ],
        schema=["group", "criterion", "system", "item_id", "sample", "value"],
        orient="row",
    )
    copies = [("i0", "a", 1), ("i1", "a", 1), ("i0", "b", 2), ("i1", "b", 1), ("i9", "c", 1)]
    of_a, of_b = rated_copies(given, copies, {"meaning": 5.0})
    assert (of_a.system, of_a.n, of_a.n_of_system, of_a.n_expected, of_a.mean) == ("a", 2, 3, 1, 4.5)
    assert (of_b.system, of_b.n, of_b.n_of_system, of_b.n_missing, of_b.mean) == ("b", 1, 1, 1, 5.0)
    assert rated_copies(given, [], {"meaning": 5.0}) == rated_copies(given, copies, {}) == []


def test_identical_pairs_stand_in_the_layout_of_table_4() -> None:
    """A system whose texts equal their source is marked beside people and LLM; others and other criteria are not."""
    scores = {"ann": {"a": 3.0, "b": 5.0}, "gpt": {"a": 2.0, "b": 4.5}}
    given = [
        ratings([(who, item, system, score) for system, score in own.items() for item in ("i0", "i1")]).with_columns(
            criterion=pl.lit(criterion), sample=pl.lit(1)
        )
        for who, own in scores.items()
        for criterion in ("fluency", "meaning")
    ]
    copies = tuple((item, system, 1) for item, system in (("i0", "b"), ("i1", "b"), ("i0", "a")))
    study = StudyFacts(id="s", title="s", language="en", systems=(), criteria=(), copies=copies, best={"meaning": 5.0})
    results = run(ratings=pl.concat(given), llms=("gpt",), study=study)
    found = {(row["group"], row["system"]): (row["n"], row["n_of_system"]) for row in results["identical_pairs"]}
    assert found == {(who, system): (2 if system == "b" else 1, 2) for who in ("human", "gpt") for system in "ab"}
    (table,) = [one for one in tables_of(build_document(results)) if one.name == "details_beside-1"]
    cells = {row[0].text: [one.text for one in row[1:]] for row in table.rows}
    assert cells == {"a": ["3.00", "3.00", "2.00", "2.00"], "b": ["5.00", "5.00\u2020", "4.50", "4.50\u2020"]}
    assert table.notes == ("\u2020 Rated beside an equal text: whoever compares the two gives the best rating (5).",)


def test_titles_that_nobody_attacked_equal_their_source(tmp_path: Path) -> None:
    """The example: twelve of 48 titles, 5 being the best for meaning; fluency is asked of each alone."""
    write_example(tmp_path, "adversarial")
    study = load_study(tmp_path / "study.toml")
    facts = facts_of(study, form=None, outputs=load_outputs(study))
    assert facts.best == {"meaning": 5.0}
    assert [(system, sample) for _, system, sample in facts.copies] == [("unchanged", 1)] * 12
    assert facts_of(study, form=None).copies == ()


def test_copies_shown_as_checks_have_a_row_of_their_own() -> None:
    """Beside an LLM, the mean of its identical pairs under the systems, in the column of their criterion."""
    of_people = [("ann", "i0", "a", 3), ("ben", "i0", "b", 2)]
    of_llm = [("gpt", "i0", "a", 4), ("gpt", "i0", "b", 4)]
    given = ratings([*of_people, *of_llm]).with_columns(criterion=pl.lit("meaning"))
    results = run(ratings=given, identical_pairs=pairs(gpt=[5, 5, 4]), llms=("gpt",))
    html = render_report(results)["report.html"] + render_report(results).get("appendix.html", "")
    assert "the source itself" in html
    assert "4.67\u2020" in html
