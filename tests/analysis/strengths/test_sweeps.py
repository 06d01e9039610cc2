"""Systems that won or lost everything: their order is known where their distances are not, and reasons say of whom."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, bradley_terry, rankings
from analysis.statistics.coding import Floats
from analysis.strengths import fit_bradley_terry
from analysis.strengths.sweeps import levels_of
from tests.analysis.made_answers import Results, choices, preferences, ratings, run, with_columns

NESTED = np.triu(np.full((4, 4), 3.0), 1)  # a > b > c > d in every comparison


def reasons_of(wins: Floats) -> list[str]:
    return [str(reason) for reason in fit_bradley_terry(wins, "abcdefgh"[: len(wins)]).reasons]


def test_only_who_won_all_won_all() -> None:
    a, b, c, d = reasons_of(NESTED)
    assert a == "won every comparison: stronger than all others, at no finite distance"
    assert b == "lost every comparison with a and won every one with c, d: at no finite distance from either"
    assert c == "lost every comparison with a, b and won every one with d: at no finite distance from either"
    assert d == "lost every comparison: weaker than all others, at no finite distance"
    assert levels_of(NESTED).order("abcd", tie=0.0) == (("a",), ("b",), ("c",), ("d",))


def test_a_system_in_the_middle_of_a_chain_is_in_between() -> None:
    wins = np.diag([3.0, 3.0], 1)
    assert (
        reasons_of(wins)[1]
        == "lost every comparison with a and won every one with c: at no finite distance from either"
    )
    assert levels_of(wins).order("abc", tie=0.0) == (("a",), ("b",), ("c",))


def test_of_many_systems_few_are_named() -> None:
    names = [f"s{place:03}" for place in range(200)]
    fit = fit_bradley_terry(np.triu(np.ones((200, 200)), 1), names)
    assert str(fit.reasons[100]) == (
        "lost every comparison with s000, s001, s002 and 97 more and won every one with s101, s102, s103 and 96 more: "
        "at no finite distance from either"
    )
    assert levels_of(np.triu(np.ones((200, 200)), 1)).order(names, tie=0.0) == tuple((name,) for name in names)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.data())
def test_nested_sweeps_of_any_size_and_names_give_the_full_order(k: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(k)))
    times = data.draw(st.lists(st.integers(0, 3), min_size=k * k, max_size=k * k))
    wins = np.zeros((k, k))
    for better, worse in combinations(range(k), 2):  # who follows next was compared, others perhaps
        wins[order[better], order[worse]] = times[better * k + worse] + (worse == better + 1)
    names = [f"s{place}" for place in range(k)]
    assert levels_of(wins).order(names, tie=0.0) == tuple((names[place],) for place in order)
    backwards = levels_of(wins).order(names, tie=0.0, lower_is_better=True)
    assert backwards == tuple((names[place],) for place in reversed(order))
    codes = [reason.code for reason in fit_bradley_terry(wins, names).reasons if reason is not None]
    assert (codes[order[0]], codes[order[-1]]) == ("won_all", "lost_all")
    assert {codes[place] for place in order[1:-1]} <= {"between"}


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 7), st.data())
def test_sweeps_order_is_consistent(k: int, data: st.DataObject) -> None:
    """Where all answers about two systems agree and neither is above by others, the one that won is first."""
    values = data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=k * k, max_size=k * k))
    wins = np.array(values, dtype=np.float64).reshape(k, k) * (1 - np.eye(k))
    fit = fit_bradley_terry(wins, [str(place) for place in range(k)])
    levels = levels_of(wins, fit.strength)
    level = levels.level
    assert (level[fit.fitted] > 0).all()
    for i, j in combinations(range(k), 2):
        if level[i] and level[j] and level[i] != level[j]:
            above, below = (i, j) if level[i] < level[j] else (j, i)
            assert wins[below, above] == 0  # a system of a lower set never won against one of a higher
    listed = [place for place in np.unique(level).tolist() if place]
    assert listed == list(range(1, len(listed) + 1))
    turned = np.array(data.draw(st.permutations(range(k))))
    again = fit_bradley_terry(wins[np.ix_(turned, turned)], [str(place) for place in range(k)])
    assert levels_of(wins[np.ix_(turned, turned)], again.strength).level.tolist() == level[turned].tolist()


def test_sweeps_ordered_within_sets() -> None:
    """A and b beat c and d always; within each set the better won 3 of 4."""
    wins = np.array([[0, 3, 2, 2], [1, 0, 2, 2], [0, 0, 0, 1], [0, 0, 3, 0.0]])
    assert not np.isfinite(fit_bradley_terry(wins, "abcd").strength).any()
    assert levels_of(wins).order("abcd", tie=1e-9) == (("a",), ("b",), ("d",), ("c",))
    assert levels_of(wins).within[:2] == pytest.approx([np.log(3) / 2, -np.log(3) / 2])


@pytest.mark.parametrize(
    ("wins", "order"),
    [
        ([[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]], ()),  # a, b and c, d were never compared
        ([[0, 2, 2, 0], [0, 0, 0, 2], [0, 0, 0, 2], [0, 0, 0, 0]], (("a",), ("d",))),  # b and c were not compared
        ([[0, 0, 2, 0], [0, 0, 2, 0], [0, 0, 0, 2], [0, 0, 2, 0]], (("c", "d"),)),  # nor were a and b
    ],
)
def test_what_the_comparisons_leave_open_has_no_place(
    wins: list[list[float]], order: tuple[tuple[str, ...], ...]
) -> None:
    table = np.array(wins, dtype=np.float64)
    assert levels_of(table, fit_bradley_terry(table, "abcd").strength).order("abcd", tie=1e-9) == order


def test_sweeps_with_regularisation() -> None:
    """Regularisation gives every system a strength and one set."""
    found = bradley_terry(["a", "a", "b"], ["b", "c", "c"], [1, 1, 1], regularisation=0.5)
    assert np.isfinite(found.strength).all()
    assert (found.order, set(found.levels.level.tolist())) == ((("a",), ("b",), ("c",)), {1})


def swept(kind: str) -> Results:
    """Return results of six people, to all of whom A > B > C > D."""
    people = [f"p{number}" for number in range(6)]
    pairs = list(combinations("ABCD", 2))
    if kind == "choices":
        return run(
            choices=choices([(who, f"i{item}", *pair, "x") for who in people for item in range(4) for pair in pairs])
        )
    if kind == "preferences":
        return run(preferences=preferences([(who, *pair, 1) for who in people for pair in pairs]))
    scores = [
        (who, f"i{item}", name, 4 - place) for who in people for item in range(4) for place, name in enumerate("ABCD")
    ]
    if kind == "ratings_bt":
        return run(ratings=ratings(scores))
    orders = with_columns(ratings(scores).drop("score"), {"rank": [5 - score for *_, score in scores]})
    return run(orders=orders)


@pytest.mark.parametrize("kind", ["choices", "preferences", "ratings_bt", "orders"])
def test_the_order_is_printed_where_distances_are_not_known(kind: str) -> None:
    results = swept(kind)
    source = "choices" if kind == "orders" else kind
    (ranking,) = [row for row in results["rankings"] if row["source"] == source]
    assert (ranking["order"], ranking["unranked"]) == ([["A"], ["B"], ["C"], ["D"]], [])
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in ranking["places"]] == [
        (place, None, None) for place in (1, 2, 3, 4)
    ]
    codes = ["won_all", "between", "between", "lost_all"]
    if kind == "ratings_bt":
        codes = ["rated_higher", "rated_between", "rated_between", "rated_lower"]
    tables = [[row for row in results["bradley_terry"] if row["source"] == source]]
    tables += [results["order_strengths"]] if kind == "orders" else []
    for rows in tables:
        by_system = {row["system"]: row for row in rows}
        assert [by_system[name]["rank"] for name in "ABCD"] == [1, 2, 3, 4]
        assert [by_system[name]["strength"] for name in "ABCD"] == [None] * 4
        assert [by_system[name]["reason_code"] for name in "ABCD"] == codes
        assert by_system["B"]["reason_data"]["above"] == ["A"]
    told = results["headline"]["winner"]
    assert "B won every comparison" not in told
    assert results["headline"]["claims"][0]["leader"] == "A"
    unbeaten = results["headline"]["claims"][0]["unbeaten"]
    strengths = [row["text"] for row in results["warning_rows"] if row["kind"] == "no_strength"]
    assert len(strengths) == 3  # those in between together
    assert unbeaten == (["A"] if source in ("choices", "preferences") else [])


def test_where_low_ratings_are_good_the_swept_order_turns() -> None:
    scores = [
        (f"p{who}", f"i{item}", name, place)
        for who in range(6)
        for item in range(3)
        for place, name in enumerate("ABC")
    ]
    results = run(ratings=ratings(scores), plan=Plan(lower_is_better=frozenset({"overall"})))
    assert [row["order"] for row in results["rankings"]] == [[["A"], ["B"], ["C"]]] * 2


def between_two(people: int, always: tuple[str, ...]) -> list[tuple[str, str, str, str, str]]:
    """Return choices in which the first of each pair always won, and b three times in four against c."""
    asked = [(f"p{who}", item, (who + item) % 4) for who in range(people) for item in range(3)]
    rows = [(who, f"i{item}", x, y, "x") for who, item, _ in asked for x, y in always]
    return rows + [(who, f"j{item}", "b", "c", "x" if left else "y") for who, item, left in asked]


def test_sweeps_strengths_stand_between() -> None:
    """The ranks that the answers allow are counted among all systems that have a rank."""
    rows = [
        (f"p{who}", f"i{item}", x, y, "x")
        for who in range(24)
        for item in range(3)
        for x, y in ("ab", "ac", "bd", "cd")
    ]
    rows += [
        (f"p{who}", f"j{item}", "b", "c", "x" if (who + item) % 4 else "y") for who in range(24) for item in range(3)
    ]
    (ranking,) = rankings(choices(rows))
    assert ranking.order == (("a",), ("b",), ("c",), ("d",))
    places = {row.system: (row.rank_low, row.rank_high) for row in ranking.places}
    assert (places["a"], places["d"]) == ((None, None), (None, None))
    assert all(low is not None and 2 <= low <= high <= 3 for low, high in (places["b"], places["c"]))


def test_sweeps_tau_without_interval() -> None:
    """Tau of a ranking with systems without strengths has no interval."""
    rows = [(f"p{who}", f"i{item}", x, y, "x") for who in range(12) for item in range(3) for x, y in ("ab", "ac")]
    rows += [
        (f"p{who}", f"j{item}", "b", "c", "x" if (who + item) % 4 else "y") for who in range(12) for item in range(3)
    ]
    noise = np.random.default_rng(3)
    scores = [
        (f"p{who}", f"i{item}", name, 5 - place + noise.integers(0, 3))
        for who in range(12)
        for item in range(3)
        for place, name in enumerate("abc")
    ]
    results = run(choices=choices(rows), ratings=ratings(scores))
    row = next(
        row for row in results["ranking_agreement"] if {row["a"], row["b"]} == {"ratings:human", "choices:human"}
    )
    assert (row["kendall_tau"], row["n_systems"], row["ci_low"]) == (1.0, 3, None)
    assert row["reason_code"] == "no_interval_swept"
