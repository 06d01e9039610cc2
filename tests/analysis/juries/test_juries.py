"""Juries: answers by hand, properties, truth by simulation, and one study from its file to the report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats

from analysis.agreement.krippendorff import krippendorff_alpha
from analysis.answers.juries import answers_of_jury, parse_juries
from analysis.answers.plan import Jury, Plan
from spa.cli import main
from spa.errors import AnalysisError, StudyError
from spa.study.load import check_study, load_study, study_fingerprint
from tests.analysis.made_answers import build_document, check, choices, preferences, ratings, run
from tests.analysis.made_answers import validate as check_schema
from tests.spa.study_files import SPA, write_study

MEMBERS = ("a", "b", "c")
LIKERT = "[likert]\n[[criteria]]\nid = 'sense'\nname = 'sense'\n"
RATERS = "".join(f'[[raters]]\nid = "{name}"\nmodel = "simulated-rater"\n' for name in MEMBERS)
VARIANTS = '[[raters]]\nid = "d"\nmodel = "m"\nvariants = [{id = "hot", temperature = 1}]\n'


def jury(**more: Any) -> Jury:
    return Jury(**{"id": "panel", "raters": MEMBERS, **more})


def rated(*scores: tuple[float | None, ...], members: tuple[str, ...] = MEMBERS) -> pl.DataFrame:
    """Return what members said of one output an item; ``None`` was missing."""
    rows = [
        (member, f"i{item}", "x", "" if score is None else score)
        for item, row in enumerate(scores)
        for member, score in zip(members, row, strict=True)
    ]
    return check(ratings=ratings(rows), llms=members).ratings  # type: ignore[return-value]


def chosen(*votes: str, members: tuple[str, ...] = MEMBERS) -> pl.DataFrame:
    """Return votes of members on one pair an item: ``"xyt"`` for x, y and tie, "-" where there was none."""
    words = {"x": "x", "y": "y", "t": "tie", "-": ""}
    rows = [
        (member, f"i{item}", "s", "t", words[vote])
        for item, row in enumerate(votes)
        for member, vote in zip(members, row, strict=True)
    ]
    return check(choices=choices(rows), llms=members).choices  # type: ignore[return-value]


def said(table: pl.DataFrame, source: str, one: Jury) -> list[tuple[float | None, bool]]:
    made = answers_of_jury(table, source, one).sort("item_id")
    return list(made.select("value", "split").iter_rows())


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("mean", [(8 / 3, False), (3.0, False), (4.0, False), (2.0, False), (None, False)]),
        ("median", [(2.0, False), (3.0, False), (4.0, False), (1.0, False), (None, False)]),
        ("majority", [(8 / 3, True), (3.0, True), (4.0, False), (1.0, False), (None, False)]),
    ],
)
def test_ratings_by_hand(by: str, expected: list[tuple[float | None, bool]]) -> None:
    """Members' scores are put together as declared; one member alone is too few."""
    table = rated((1, 2, 5), (4, 2, None), (4, 4, 4), (1, 1, 4), (3, None, None))
    found = said(table, "ratings", jury(by=by))
    assert [value for value, _ in found] == pytest.approx([value for value, _ in expected])
    assert [split for _, split in found] == [split for _, split in expected]


@pytest.mark.parametrize(
    ("by", "expected", "split"),
    [
        ("mean", [1.0, 1.0, 0.5, 0.5, 0.5, 1.0, None], {2, 4}),
        ("median", [1.0, 0.5, 0.5, 0.5, 0.5, 1.0, None], {1, 2, 4}),
        ("majority", [1.0, 0.5, 0.5, 0.5, 0.5, 0.5, None], {2, 4, 5}),
    ],
)
def test_choices_by_hand(by: str, expected: list[float | None], split: set[int]) -> None:
    """Votes decide: xxy, xtt, xyt, ttt, x against y, x against a tie, one vote alone.

    Members are split where the mean or median is a tie that not all chose, or several votes are the most frequent.
    """
    table = chosen("xxy", "xtt", "xyt", "ttt", "xy-", "xt-", "x--")
    found = said(table, "choices", jury(by=by))
    assert [value for value, _ in found] == expected
    assert {place for place, (_, divided) in enumerate(found) if divided} == split


def test_split_members_give_no_answer_where_declared() -> None:
    """With ties = "missing" a split jury is missing with its reason; agreed ties stay ties."""
    table = chosen("xyt", "ttt", "xxy", "x--")
    made = answers_of_jury(table, "choices", jury(by="majority", ties="missing")).sort("item_id")
    assert made["value"].to_list() == [None, 0.5, 1.0, None]
    assert made["missing_reason"].to_list() == ["the members are split", None, None, "1 of 3 members answered"]


def test_repeats_count_as_one_member() -> None:
    """A member that answers nine times has no more weight than one that answers once."""
    rows = [("a", "i", "x", 5)] * 9 + [("b", "i", "x", 1)]
    frame = ratings(rows, repeat=[*range(1, 10), 1])
    table = check(ratings=frame, llms=("a", "b")).ratings
    assert table is not None
    for by in ("mean", "median", "majority"):
        assert said(table, "ratings", jury(raters=("a", "b"), by=by)) == [(3.0, by == "majority")]


def test_forms_are_kept_apart_where_members_share_them() -> None:
    """Two forms that ask the same are two answers; without shared forms there is one answer to a question."""
    rows = [(member, "i", "x", score) for member, score in (("a", 1), ("b", 3), ("a", 5), ("b", 5))]
    shared = check(ratings=ratings(rows, assignment_id=["f1", "f1", "f2", "f2"]), llms=("a", "b")).ratings
    apart = check(ratings=ratings(rows, assignment_id=["f1", "f2", "f3", "f4"]), llms=("a", "b")).ratings
    assert shared is not None
    assert apart is not None
    two = jury(raters=("a", "b"))
    assert sorted(answers_of_jury(shared, "ratings", two).select("assignment_id", "value").iter_rows()) == [
        ("f1", 2.0),
        ("f2", 5.0),
    ]
    assert answers_of_jury(apart, "ratings", two).select("assignment_id", "value").rows() == [(None, 3.5)]


def test_swapped_sides_change_no_result() -> None:
    """Any member's choices may be written the other way round."""
    rng = np.random.default_rng(5)
    rows = [
        (who, f"i{item}", x, y, str(rng.choice(["x", "y", "tie"])))
        for who in (*MEMBERS, "person")
        for item in range(30)
        for x, y in (("s", "t"), ("s", "u"), ("t", "u"))
    ]
    turn = {"x": "y", "y": "x", "tie": "tie"}
    swapped = [
        (who, item, y, x, turn[won]) if rng.random() < 0.5 else (who, item, x, y, won) for who, item, x, y, won in rows
    ]
    plan = Plan(juries=(jury(by="majority"),), pairs=(("s", "t"), ("s", "u"), ("t", "u")))
    one, two = (run(choices=choices(each), llms=MEMBERS, plan=plan) for each in (rows, swapped))
    for key in ("jury_agreement", "jury_without", "rankings"):
        assert one[key] == two[key], key
    pairs = [[row for row in each["choices"]["pairs"] if row["group"] == "panel"] for each in (one, two)]
    rates = [{frozenset((r["system_x"], r["system_y"])): abs(r["win_rate"] - 0.5) for r in each} for each in pairs]
    assert rates[0] == pytest.approx(rates[1])


def test_a_jury_changes_nothing_of_others() -> None:
    """What a report says of people and single raters is the same without the jury."""
    rng = np.random.default_rng(2)
    rows = [(who, f"i{i}", s, int(rng.integers(1, 6))) for who in (*MEMBERS, "p", "q") for i in range(9) for s in "xy"]
    with_it = run(ratings=ratings(rows), llms=MEMBERS, plan=Plan(juries=(jury(),)))
    alone = run(ratings=ratings(rows), llms=MEMBERS)
    check_schema(with_it)
    for key in ("means", "pairs"):
        assert [row for row in with_it["ratings"][key] if row["group"] != "panel"] == alone["ratings"][key]
    assert [row for row in with_it["agreement"] if row["group"] != "panel"] == alone["agreement"]
    assert {row["group"] for row in with_it["raters"]} == {"human", *MEMBERS, "panel"}


def test_orders_are_put_together_by_mean_rank() -> None:
    """Mean ranks 4/3, 2, 8/3 give the order; equal mean ranks share one; an open order counts for nothing."""
    ranks = {"a": (1, 2, 3), "b": (1, 2, 3), "c": (2, 2, 2), "d": (3, 1, "")}
    rows = [(who, "i", system, rank) for who, own in ranks.items() for system, rank in zip("xyz", own, strict=True)]
    frame = pl.DataFrame(
        [(*row[:3], str(row[3])) for row in rows], ["annotator_id", "item_id", "system", "rank"], orient="row"
    )
    tables = check(orders=frame, llms=tuple(ranks))
    four = Jury(id="panel", raters=tuple(ranks), least=3)
    results = run(orders=frame, llms=tuple(ranks), plan=Plan(juries=(four,)))
    [order] = [row["order"] for row in results["rankings"] if row["group"] == "panel"]
    assert order == [["x"], ["y"], ["z"]]
    assert tables.orders is not None
    two = run(orders=frame, llms=tuple(ranks), plan=Plan(juries=(Jury(id="j", raters=("c", "d"), least=2),)))
    missing = {row["reason"] for row in two["missing"] if row["group"] == "j"}
    assert missing == {"1 of 2 members answered"}


def test_excluded_forms_of_a_member_do_not_count() -> None:
    """A member that contradicts itself leaves the form, and the jury answers it without that member."""
    rows = [(who, x, y, p) for who in MEMBERS for x, y, p in (("s", "t", 0.75), ("t", "s", 0.25))]
    rows[5] = ("c", "t", "s", 0.9)
    frame = preferences(rows, assignment_id="f1")
    results = run(preferences=frame, llms=MEMBERS, plan=Plan(juries=(jury(),)))
    assert [row["annotator_id"] for row in results["exclusions"]] == ["c"]
    assert {row["group"]: row["mean"] for row in results["preferences"]}["panel"] == pytest.approx(0.75)
    three = run(preferences=frame, llms=MEMBERS, plan=Plan(juries=(jury(least=3),)))
    assert {row["reason"] for row in three["missing"]} == {"2 of 3 members answered"}


def test_agreement_of_members_is_the_plain_one() -> None:
    """Alpha, exact agreement and tau equal those of the table of members, and scipy's."""
    rng = np.random.default_rng(8)
    truth = np.repeat(np.arange(5), 12)
    scores = np.clip(np.round(truth + rng.normal(0, 1, (4, 60))), 0, 5).astype(int)
    rows = [
        (who, f"i{cell % 12}", f"s{cell // 12}", int(scores[place, cell]))
        for place, who in enumerate((*MEMBERS, "person"))
        for cell in range(60)
    ]
    results = run(ratings=ratings(rows), llms=MEMBERS, plan=Plan(juries=(jury(),)))
    [row] = results["jury_agreement"]
    members = scores[:3].T.astype(float)
    assert row["alpha"] == pytest.approx(krippendorff_alpha(members, level="ordinal").value)
    assert row["exact_agreement"] == pytest.approx(np.mean(np.ptp(members, axis=1) == 0))
    means = [members.mean(axis=1).reshape(5, 12).mean(axis=1), scores[3].reshape(5, 12).mean(axis=1)]
    assert row["kendall_people"] == pytest.approx(stats.kendalltau(*means).statistic)
    without = {each["member"]: each for each in results["jury_without"]}
    rest = members[:, 1:].mean(axis=1)
    assert without["a"]["changed"] == pytest.approx(np.mean(np.abs(rest - members.mean(axis=1)) > 1e-9))
    again = stats.kendalltau(rest.reshape(5, 12).mean(axis=1), means[0]).statistic
    assert without["a"]["kendall_jury"] == pytest.approx(again)


def test_a_majority_is_right_as_often_as_condorcet_says() -> None:
    """Three members each right with chance 0.7 are right together with chance 0.784, within sampling."""
    rng = np.random.default_rng(11)
    right = rng.random((3, 20_000)) < 0.7
    rows = [(who, str(i), "s", "t", "x" if right[k, i] else "y") for k, who in enumerate("abc") for i in range(20_000)]
    table = check(choices=choices(rows), llms=MEMBERS).choices
    assert table is not None
    began = time.process_time()
    made = answers_of_jury(table, "choices", jury(by="majority"))["value"]
    assert time.process_time() - began < 3
    assert made.mean() == pytest.approx(0.784, abs=4 * (0.784 * 0.216 / 20_000) ** 0.5)


@pytest.mark.parametrize(
    ("juries", "told"),
    [
        ((Jury(id="a", raters=("b", "c")),), "'a' has given answers"),
        ((Jury(id="j", raters=("a", "z")),), "nobody is 'z' (the LLMs are a, b, c)"),
        ((Jury(id="j", raters=("a", "human")),), "'human' is human; mark LLMs with --llm"),
        ((Jury(id="j", raters=("a", "a")),), "expected different raters, got a twice"),
        ((Jury(id="j", raters=("a", "b")), Jury(id="j", raters=("b", "c"))), "got that of two juries"),
    ],
)
def test_wrong_juries_of_tables_are_told(juries: tuple[Jury, ...], told: str) -> None:
    """A name that is taken, a rater that nobody is, and people are refused in one line."""
    rows = [(who, "i", "x", 1) for who in (*MEMBERS, "person")]
    with pytest.raises(AnalysisError) as caught:
        run(ratings=ratings(rows), llms=MEMBERS, plan=Plan(juries=juries))
    assert told in str(caught.value)


def test_no_majority_of_probabilities() -> None:
    """As in study files, a majority needs answers that can be the same."""
    rows = [(who, "s", "t", 0.6) for who in (*MEMBERS, "person")]
    with pytest.raises(AnalysisError, match='expected "mean" or "median" beside preferences'):
        run(preferences=preferences(rows), llms=MEMBERS, plan=Plan(juries=(jury(by="majority"),)))


@pytest.mark.parametrize("text", ["panel", "panel=a", "=a,b", "panel:best=a,b"])
def test_options_that_are_no_jury_are_told(text: str) -> None:
    """Two members at least, and a known way of putting answers together."""
    with pytest.raises(AnalysisError, match="--jury: expected NAME=A,B"):
        list(parse_juries([text]))
    assert list(parse_juries(["p:majority=a, b"])) == [Jury(id="p", raters=("a", "b"), by="majority")]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('id = "a"\nraters = ["a", "b"]', "[[juries]] a, id: expected a name that no rater has"),
        ('id = "j"\nraters = ["a", "bb"]', '[[juries]] j, raters: expected raters of [[raters]], got "bb"'),
        ('id = "j"\nraters = ["a", "d"]', "name a way of asking it: d/hot"),
        ('id = "j"\nraters = ["a", "a"]', "[[juries]] j, raters"),
        ('id = "j"\nraters = ["a", "b"]\nleast = 3', "least: expected at most the number of its raters, got 3 of 2"),
        ('id = "j"\nraters = ["a"]', "raters"),
        ('id = "j"\nraters = ["a", "b"]\nby = "majority"', 'by: expected "mean" or "median" beside [spa]'),
    ],
)
def test_mistakes_in_a_study_file_are_told(tmp_path: Path, keys: str, told: str) -> None:
    """Each in one line with the place and what to do."""
    path = write_study(tmp_path, rest=f"{SPA}{RATERS}{VARIANTS}[[juries]]\n{keys}\n")
    problems = check_study(path).problems
    assert any(told in line for line in problems), problems
    assert all(len(line) < 500 for line in problems)


def test_a_jury_may_be_added_to_a_built_study(tmp_path: Path) -> None:
    """The store of a study stays its own: juries are no part of the fingerprint."""
    before = study_fingerprint(load_study(write_study(tmp_path, rest=f"{LIKERT}{RATERS}")))
    rest = f'{LIKERT}{RATERS}[[juries]]\nid = "j"\nraters = ["a", "b"]\n'
    study = load_study(write_study(tmp_path, rest=rest))
    assert study_fingerprint(study) == before
    assert study.juries[0].by == "mean"
    assert "juries" in spa("check", tmp_path / "study.toml")


def spa(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == status, done.output
    return done.output


def test_a_jury_from_study_file_to_report(tmp_path: Path) -> None:
    """Three ways of asking a simulated rater answer; the report has the jury, store and exports have not."""
    ways = "".join(f'[[raters.variants]]\nid = "{name}"\ntemperature = {n}\n' for n, name in enumerate(MEMBERS))
    raters = ", ".join(f'"r/{name}"' for name in MEMBERS)
    extra = f'[[juries]]\nid = "panel"\nraters = [{raters}]\nby = "majority"\n'
    rater = f'[[raters]]\nid = "r"\nmodel = "simulated-rater"\n{ways}'
    study = write_study(tmp_path, rest=f"[choices]\n[people]\nannotators = 4\n[design]\nitems = 2\n{rater}{extra}")
    spa("build", study)
    spa("rate", study, "--rater", "r", "--simulate")
    assert "run spa rate for each: r" in spa("rate", study, "--rater", "panel", status=1)
    spa("report", study, "--rehearsal", "--out", tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    check_schema(results)
    assert {row["group"]: row["members"] for row in results["groups"]}["panel"] == ["r/a", "r/b", "r/c"]
    assert results["jury_agreement"][0]["n"] == 8
    text = (tmp_path / "report" / "report.md").read_text()
    assert "panel is a jury of r/a, r/b and r/c: their most frequent answer." in text
    assert "3 simulated raters and 1 jury of them" in text
    assert {"jury_agreement.csv", "jury_without.csv", "juries.csv"} <= {
        path.name for path in (tmp_path / "report" / "tables").iterdir()
    }
    spa("export", study, "--rehearsal", "--out", tmp_path / "tables")
    exported = tmp_path / "tables" / "choices.csv"
    assert set(pl.read_csv(exported)["annotator_id"]) == {"r"}
    assert "panel" not in exported.read_text()
    again = json.loads(spa("report", "--choices", exported, "--jury", "panel:majority=r/a,r/b,r/c", "--json"))
    assert again["jury_agreement"] == results["jury_agreement"]
    refused = spa("report", "--choices", exported, "--in-parts", "--jury", "p=r/a,r/b", "--json", status=2)
    assert "--jury: not with --choices in parts" in refused


def test_the_section_names_what_is_not_put_together() -> None:
    """Best-worst answers of members stay theirs alone."""
    rows = [(who, f"i{i}", "s", "t", "x") for who in MEMBERS for i in range(3)]
    frame = pl.concat(
        [choices(rows, elicitation="choice"), choices(rows, elicitation="best_worst", criterion="taste")],
        how="diagonal",
    )
    results = run(
        choices=frame.with_columns(pl.col("criterion").fill_null("overall")), llms=MEMBERS, plan=Plan(juries=(jury(),))
    )
    assert results["juries"][0]["left_out"] == ["best_worst"]
    assert {row["criterion"] for row in results["jury_agreement"]} == {"overall"}
    [section] = [one for one in build_document(results).sections if one.id == "juries"]
    assert "Best-worst answers are not put together." in str(section.blocks[0])


def test_study_errors_are_of_one_kind(tmp_path: Path) -> None:
    """A wrong jury stops loading as any other mistake."""
    with pytest.raises(StudyError):
        load_study(write_study(tmp_path, rest=f'{SPA}{RATERS}[[juries]]\nid = "j"\nraters = ["a", "q"]\n'))
