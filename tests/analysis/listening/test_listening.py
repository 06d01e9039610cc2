"""Hidden references and anchors, listeners left out by BS.1534-3, sessions of equal votes, names that hold systems."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from analysis import Plan, Reading, check_frames, read_tables
from analysis.answers.post_screening import check_listeners, constant_votes
from analysis.answers.tables import AnswerTables
from analysis.answers.unranked import UnrankedRatings
from spa import AnalysisError
from spa.records.system_roles import WEBMUSHRA, role_of
from tests.analysis.made_answers import Results, analyse, ratings, render_report

CASES = Path(__file__).parents[3].parent / "shared" / "cases" / "listening"
STIMULI = {"reference": 97.0, "a": 74.0, "b": 70.0, "anchor70": 45.0, "anchor35": 20.0}
COLUMNS = {"session_uuid": "annotator_id", "trial_id": "item_id", "rating_stimulus": "system", "rating_score": "score"}
MUSHRA = Reading(mapping=COLUMNS)
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the cases of listening tests are not there")


def heard(people: int = 12, items: int = 6, *, seed: int = 1) -> list[tuple[str, str, str, int]]:
    """Return careful ratings of all stimuli, a row each: annotator, item, system, score."""
    rng = np.random.default_rng(seed)
    return [
        (f"u{who:02}", f"i{item}", name, int(np.clip(round(rng.normal(level, 3)), 0, 100)))
        for who in range(people)
        for item in range(items)
        for name, level in STIMULI.items()
    ]


def read(rows: Iterable[tuple[str, str, str, object]], **roles: str) -> AnswerTables:
    said = dict(role for name, role in ((one, role_of(f"{one}={what}")) for one, what in roles.items()) if role)
    return read_frame(ratings(rows), Reading(system_roles=said))


def read_frame(frame: pl.DataFrame, reading: Reading) -> AnswerTables:
    return check_frames({"ratings": frame}, reading)


def unranked(rows: Iterable[tuple[str, str, str, float]], **more: object) -> UnrankedRatings:
    """Return ratings of hidden references and anchors alone, as the tables keep them."""
    frame = pl.DataFrame([*rows], ["annotator_id", "item_id", "system", "value"], orient="row")
    named = frame.with_columns(
        group=pl.lit("human"), annotator_kind=pl.lit("human"), criterion=pl.lit("overall"), assignment_id=pl.lit(None)
    )
    return UnrankedRatings(systems=WEBMUSHRA, ratings=named.with_columns(pl.col("value").cast(pl.Float64)), **more)


def excluded(found: Results) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {}
    for row in found["exclusions"]:
        rules.setdefault(row["annotator_id"], []).append(row["rule"])
    return rules


def test_references_and_anchors_are_not_ranked() -> None:
    """They are in no test, order and strength: all is as if they had not been rated; their means stand apart."""
    rows = heard()
    found = analyse(read(rows), Plan())
    without = analyse(read([row for row in rows if row[2] in ("a", "b")]), Plan())
    for key in ("ratings", "rankings", "bradley_terry", "families", "exclusions", "headline", "agreement"):
        assert found[key] == without[key], key
    assert [(row["system"], row["role"], row["low_pass"]) for row in found["unranked_means"]] == [
        ("reference", "hidden_reference", None),
        ("anchor35", "anchor", 3500),
        ("anchor70", "anchor", 7000),
    ]
    for row in found["unranked_means"]:
        own = [score for *_, system, score in rows if system == row["system"]]
        assert (row["n"], row["mean"]) == (len(own), pytest.approx(statistics.fmean(own)))
    page = render_report(found)["report.html"]
    assert "Mean ratings of hidden references and anchors" in page
    assert "named as webMUSHRA names" in found["settings"]["inputs"][0]["notes"][0]


def test_roles_are_named_and_corrected() -> None:
    rows = [(who, item, {"reference": "studio"}.get(name, name), score) for who, item, name, score in heard(4, 3)]
    plain = analyse(read(rows), Plan())
    assert len(plain["ratings"]["means"]) == 5  # an anchor without a reference is no layout
    named = analyse(read(rows, studio="hidden_reference", anchor70="anchor:7000"), Plan())
    assert {row["system"] for row in named["ratings"]["means"]} == {"a", "b", "anchor35"}
    as_system = analyse(read(heard(4, 3), reference="system"), Plan())
    assert len(as_system["ratings"]["means"]) == 5
    with pytest.raises(AnalysisError, match="no such system"):
        read(rows, nobody="anchor")
    with pytest.raises(AnalysisError, match="expected others beside"):
        read([row for row in rows if row[2] == "studio"], studio="hidden_reference")


@pytest.mark.parametrize(("below", "fails"), [(1, False), (3, False), (4, True)])
def test_reference_rule_counts_own_items(below: int, fails: bool) -> None:
    """1 and 3 of 20 (15%) stay, 4 of 20 leave; who has but 6 items is judged by these 6."""
    rows = [("u", f"i{at}", "reference", 89 if at < below else 90) for at in range(20)]
    rows += [("v", f"i{at}", "reference", 89 if at < 1 else 90) for at in range(6)]
    first, second = check_listeners(unranked(rows))
    assert (first.reference_below, first.reference_items, first.fails_reference) == (below, 20, fails)
    assert (second.reference_below, second.reference_items, second.fails_reference) == (1, 6, True)
    assert first.evidence("hidden_reference") == (
        f"rated the hidden reference below 90 in {below} of 20 own items ({below / 20:.1%}), 15% allowed"
    )


def test_mid_anchor_of_shared_items_does_not_count() -> None:
    """An item that a quarter rates above 90 counts, one that more do does not, nor one that is hardly altered."""
    people, items = [f"u{at}" for at in range(8)], range(4)
    high = {("u0", 0), ("u1", 0), ("u0", 1), ("u1", 1), ("u2", 1), ("u0", 2)}
    rows = [(who, f"i{at}", "anchor70", 95 if (who, at) in high else 60) for who in people for at in items]
    rows += [(who, f"i{at}", "reference", 100) for who in people for at in items]
    found = {row.annotator_id: row for row in check_listeners(unranked(rows))}
    assert (found["u0"].anchor_above, found["u0"].anchor_items, found["u0"].anchor_not_counted) == (2, 3, 1)
    assert {who for who, row in found.items() if row.fails_anchor} == {"u0", "u1"}
    assert not found["u2"].fails_anchor  # above 90 in the item that does not count alone
    plain = {row.annotator_id: row for row in check_listeners(unranked(rows, unaltered=frozenset({"i0"})))}
    assert (plain["u1"].anchor_above, plain["u1"].anchor_items, plain["u1"].fails_anchor) == (0, 2, False)
    assert not any(row.fails_anchor for row in check_listeners(unranked([r for r in rows if r[2] != "anchor70"])))


@given(st.integers(1, 40), st.integers(0, 40), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_rule_is_the_share_of_any_order(items: int, below: int, mixed: object) -> None:
    below = min(below, items)
    rows = [("u", f"i{at}", "reference", 10 if at < below else 99) for at in range(items)]
    mixed.shuffle(rows)  # type: ignore[attr-defined]
    (row,) = check_listeners(unranked(rows))
    assert row.fails_reference == (below * 20 > items * 3)


def test_careful_listeners_stay_and_guessers_leave() -> None:
    """By simulation: of 40 careful listeners at most 1 leaves, of 10 who guess at least 9."""
    rng = np.random.default_rng(5)
    guesses = [(f"g{who}", *row[1:3], int(rng.integers(0, 101))) for who in range(10) for row in heard(1, 12)]
    rows = [*heard(40, 12), *guesses]
    left = excluded(analyse(read(rows), Plan(post_screening=("bs1534",))))
    assert sum(who.startswith("u") for who in left) <= 1
    assert sum(who.startswith("g") for who in left) >= 9
    undeclared = analyse(read(rows), Plan())
    assert undeclared["exclusions"] == []
    assert sum(row["fails_reference"] or row["fails_anchor"] for row in undeclared["post_screening"]) == len(left)


def test_rules_are_refused_without_reference_or_scale() -> None:
    declared = Plan(post_screening=("bs1534",))
    with pytest.raises(AnalysisError, match="expected a hidden reference, got none"):
        analyse(read([row for row in heard(3, 3) if row[2] in ("a", "b")]), declared)
    five = [(who, item, name, 1 + score // 25) for who, item, name, score in heard(3, 3)]
    with pytest.raises(AnalysisError, match="expected ratings from 0 to 100, got none above 5"):
        analyse(read(five), declared)


def test_sessions_of_equal_votes_leave_where_declared() -> None:
    """The bound is on the variance with n - 1: nine 3s and a 4 have 0.1 exactly, and stay; eleven do not."""
    votes = {"same": [3] * 12, "edge": [3] * 9 + [4], "near": [3] * 11 + [4], "varied": [1, 2, 3, 4, 5, 3, 2, 4, 3, 1]}
    rows = [(who, f"i{at}", "ab"[at % 2], vote) for who, own in votes.items() for at, vote in enumerate(own)]
    tables = read(rows)
    found = {row.annotator_id: row for row in constant_votes(tables.ratings, tables.unranked)}
    assert found.keys() == {"same", "near"}
    assert found["near"].variance == pytest.approx(statistics.variance(votes["near"]))
    assert excluded(analyse(tables, Plan(post_screening=("p808",)))) == {
        "same": ["constant_votes"],
        "near": ["constant_votes"],
    }
    assert analyse(tables, Plan())["constant_votes"] == []  # no listening test, so nobody is named


def test_differences_are_each_listeners_own() -> None:
    """As scipy has it over people's means; answering the same again makes nobody count twice."""
    rows = heard(7, 5)
    found = analyse(read(rows), Plan())["reference_differences"]
    own = pl.DataFrame(rows, ["who", "item", "system", "score"], orient="row")
    beside = own.join(own.filter(system="reference"), on=["who", "item"], suffix="_reference")
    for row in found:
        means = (
            beside.filter(system=row["system"])
            .group_by("who")
            .agg((pl.col("score") - pl.col("score_reference")).mean())["score"]
        )
        tested = ttest_1samp(means, 0.0)
        assert (row["n"], row["n_items"], row["difference"]) == (
            7,
            5,
            pytest.approx(tested.statistic * tested._standard_error),
        )
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(tested.confidence_interval()))
    again = ratings([*rows, *rows], repeat=["1"] * len(rows) + ["2"] * len(rows))
    assert analyse(read_frame(again, Reading()), Plan())["reference_differences"] == found


@needs_cases
def test_case_of_untouched_sliders() -> None:
    path = CASES / "untouched_sliders" / "mushra_16_listeners.csv"
    found = analyse(read_tables({"ratings": path}, MUSHRA), Plan(post_screening=("bs1534",)))
    assert excluded(found) == {f"u{at}": ["mid_anchor"] for at in range(12, 16)}
    assert [round(row["mean"], 3) for row in found["ratings"]["means"]] == [71.383, 65.042]
    (told,) = [row["text"] for row in found["warning_rows"] if row["kind"] == "untouched_sliders"]
    assert told.startswith("40 of 160 pages, of 4 people, have one and the same rating throughout (100 on 40)")


@needs_cases
def test_case_of_webmushra() -> None:
    found = analyse(read_tables({"ratings": CASES / "webmushra_mushra" / "mushra.csv"}, MUSHRA), Plan())
    assert {row["system"]: round(row["mean"], 3) for row in found["unranked_means"]} == {
        "reference": 96.492,
        "anchor35": 20.567,
        "anchor70": 44.208,
    }
    (pair,) = found["ratings"]["pairs"]
    assert (pair["n_tests"], pair["p_value"]) == (1, pytest.approx(0.00018036610610145553))


@needs_cases
def test_case_of_votes_per_worker() -> None:
    """The line that tells of the names offers a pattern, which works."""
    path = CASES / "p808_votes_per_worker" / "votes_per_worker.csv"
    columns = {"workerid": "annotator_id", "short_file_name": "item_id", "sys": "system", "vote": "score"}
    (note,) = read_tables({"ratings": path}, Reading(mapping=columns)).inputs[0].notes
    pattern = note.partition("--item-from '")[2].partition("'")[0]
    found = analyse(read_tables({"ratings": path}, Reading(mapping=columns, item_from=pattern)), Plan())
    (pair,) = found["ratings"]["pairs"]
    assert (pair["ci_low"], pair["ci_high"]) == (pytest.approx(0.194, abs=5e-4), pytest.approx(0.406, abs=5e-4))
    assert pair["p_value"] == pytest.approx(1.0778936545672572e-05)


def test_items_are_cut_out_of_names() -> None:
    rows = [(who, f"{item}_{system}.wav", system, 3) for who in "uv" for item in ("i1", "i2") for system in ("a", "b")]
    cut = read_frame(ratings(rows), Reading(item_from="(.+)_[^_]+"))
    assert cut.ratings is not None
    assert set(cut.ratings["item_id"].cast(pl.String)) == {"i1", "i2"}
    with pytest.raises(AnalysisError, match=r"fits each item_id as a whole, got 'i1_a\.wav'"):
        read_frame(ratings(rows), Reading(item_from="(.+)-x"))
    with pytest.raises(AnalysisError, match="one output of a system for an item, got several for 'i'"):
        read_frame(ratings(rows), Reading(item_from="(.).+"))


def test_means_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "ans_votes_per_cond.csv"
    path.write_text("condition_name,sys,n,MOS,std,95%CI\nn0____sA,sA,7,5,0.0,0.0\nsA,sA,14,4,1.0,0.5\n")
    with pytest.raises(AnalysisError, match=r"got P\.808's means .* take its file _votes_per_worker_"):
        read_tables({"ratings": path}, Reading(mapping={"condition_name": "system", "MOS": "score"}))


@needs_cases
def test_case_of_means_by_condition_is_refused_by_name() -> None:
    """They count each vote three times; the line names the file beside them that is to be taken."""
    reading = Reading(mapping={"condition_name": "system", "MOS": "score"})
    with pytest.raises(AnalysisError, match=r"got P.808's means .*; take its file _votes_per_worker_"):
        read_tables({"ratings": CASES / "p808_per_condition" / "ans_votes_per_cond.csv"}, reading)
