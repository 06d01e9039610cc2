"""Words for the outcome of a comparison: what is read, what is only proposed, and which side a place is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.tables.verdicts import Outcome, outcome, place_outcome, proposals

READ = {
    **dict.fromkeys(
        ("x", "X", "system_x", "model_a", "Model A", "[[A]]", "[[A>>B]]", "[[A>B]]", "A>B", "B<A", "alpha"), "x"
    ),
    **dict.fromkeys(
        ("y", "model_b", "[[B]]", "[[B>>A]]", "[[A<B]]", "A << B", "beta", "[[beta]]", "beta > alpha"), "y"
    ),
    **dict.fromkeys(
        ("tie", "Tie", "draw", "[[C]]", "A=B", "[[A=B]]", "B=A", "tie (inconsistent)", "alpha = beta"), "tie"
    ),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "Both bad"), "both_bad"),
}
PROPOSED = {
    **dict.fromkeys(
        (
            "A",
            "a",
            "1",
            "left",
            "first",
            "A is much better",
            "I slightly prefer A",
            "response_1",
            "Assistant A",
            "option (a)",
            "first one",
        ),
        "x",
    ),
    **dict.fromkeys(("B", "2", "2.0", "right", "second", "output_2", "Antwort 2", "zweite", "droite"), "y"),
    **dict.fromkeys(("C", "0", "similar", "Same", "equal", "neither", "no preference", "gleich gut", "égalité"), "tie"),
    **dict.fromkeys(("both are bad", "beide schlecht", "Les deux sont mauvais"), "both_bad"),
    **dict.fromkeys(("garbage", "error", "Invalid"), "missing"),
}
UNKNOWN = ("gamma", "A is worse", "not A", "A is not better", "gpt is better", "12", "", "A>A", "good", "ab")
PAIRS = (
    ("model_a", "model_b"),
    ("generator_1", "generator_2"),
    ("left_model", "right_model"),
    ("system_x", "system_y"),
)


@pytest.mark.parametrize(("word", "expected"), READ.items())
def test_words_that_mean_one_thing_are_read(word: str, expected: str) -> None:
    found = outcome(word, "alpha", "beta")
    assert (found.word, found.status) == (expected, "read")


@pytest.mark.parametrize(("word", "expected"), PROPOSED.items())
def test_words_that_may_mean_something_else_are_proposed(word: str, expected: str) -> None:
    found = outcome(word, "alpha", "beta")
    assert (found.word, found.status) == (expected, "proposed")


@pytest.mark.parametrize("word", UNKNOWN)
def test_other_words_are_unknown(word: str) -> None:
    assert outcome(word, "alpha", "beta").status == "unknown"


@pytest.mark.parametrize(
    ("word", "columns", "winner"),
    [
        ("A", ("model_a", "model_b"), "x"),
        ("A", ("model_b", "model_a"), "y"),
        ("model_a", ("model_b", "model_a"), "y"),
        ("[[A>>B]]", ("model_b", "model_a"), "y"),
        ("system_x", ("model_b", "model_a"), "x"),
        ("1", ("generator_1", "generator_2"), "x"),
        ("1", ("generator_2", "generator_1"), "y"),
        ("Left", ("leftModel", "rightModel"), "x"),
        ("baseline", ("candidate", "baseline"), "y"),
    ],
)
def test_a_place_is_that_of_the_columns(word: str, columns: tuple[str, str], winner: str) -> None:
    assert place_outcome(word, columns) == Outcome(winner=winner)  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("1", "2"), ("model_a", "model_b")])
def test_verdict_name_that_is_also_a_place(first: str, second: str) -> None:
    """A name that is also a place is read where both say the same."""
    assert outcome(first, first, second).winner == "x"
    assert outcome(second, second, first).status == "differs"
    assert outcome(second, second, first, sides="names").winner == "x"
    assert outcome(second, second, first, sides="places").winner == "y"


def test_an_x_on_a_sheet_of_a_and_b_is_asked_about() -> None:
    """People write it for a tie; in small letters it is the word of the tidy table."""
    columns = ("A_origin", "B_origin")
    assert place_outcome("X", columns).status == "unknown"
    assert proposals(["X"], columns) == {"X": "?"}
    assert place_outcome("x", columns) == place_outcome("X") == Outcome(winner="x")


def test_the_words_of_the_tidy_table_are_its_own() -> None:
    assert outcome("x", "y", "x").winner == "x"
    assert outcome("x", "y", "x", columns=("one", "other")).status == "differs"


@given(
    pair=st.sampled_from(PAIRS),
    names=st.lists(st.text(alphabet="mnopq", min_size=2, max_size=5), min_size=2, max_size=2, unique=True),
    word=st.sampled_from([*READ, *PROPOSED]),
)
def test_columns_in_the_other_order_give_the_other_side(pair: tuple[str, str], names: list[str], word: str) -> None:
    """The same cells with the two columns given the other way round: what won is the same system."""
    first, second = names
    turned = (pair[1], pair[0])
    own = "system" in word or word.lower() in ("x", "y")  # these name the tidy table's sides
    one, other = outcome(word, first, second, columns=pair), outcome(word, second, first, columns=turned)
    if own or one.status == "unknown":
        return
    won = {"x": first, "y": second}.get(one.word, one.word)
    assert {"x": second, "y": first}.get(other.word, other.word) == won


def test_what_is_proposed_depends_on_all_words() -> None:
    assert proposals(["1", "2", "0"]) == {"1": "x", "2": "y", "0": "tie"}
    assert proposals(["1", "2", "3"]) == {"1": "x", "2": "y", "3": "tie"}
    assert proposals(["0", "1"]) == {"0": "?", "1": "?"}
    assert proposals(["-1", "0", "1"]) == {"-1": "?", "0": "?", "1": "?"}
    assert proposals(["A", "B", "C", "hm"]) == {"A": "x", "B": "y", "C": "tie", "hm": "?"}


@pytest.mark.parametrize("word", ["A>B", "[[A]]", "[[A>>B]]", "model_a"])
def test_verdict_places_proposed_without_sides(word: str) -> None:
    """As in Arena-Hard, whose two games show the model and its baseline the other way round."""
    assert place_outcome(word, ("model", "baseline")) == Outcome(winner="x", status="proposed")
    assert place_outcome("A=B", ("model", "baseline")) == Outcome(winner="tie")


def test_margins_are_not_taken_for_places() -> None:
    assert set(proposals(["-2", "0", "2"]).values()) == {"?"}
    assert set(proposals(["1", "2", "3", "4"]).values()) == {"?"}
