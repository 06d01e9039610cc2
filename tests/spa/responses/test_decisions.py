"""The log of reviewers' decisions: only added to, and what stands after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spa.errors import ResponseError
from spa.responses.dashboard_log import DashboardEntry, add_entry
from spa.responses.decisions import (
    Action,
    Decision,
    VisitDecisions,
    add_decision,
    parse_amount,
    read_decisions,
    visit_decisions,
)
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.two_reviewers import read_visit_decisions
from tests.spa.responses.test_export import PREFERENCE, answered, build_by_hand, hand_in


def decide(action: Action = "exclude", **given: object) -> Decision:
    base = Decision(submission_id="s1", action="approve", reviewer="Ana", decided_at=100.0)
    filled = {"note": "a reason"} if action in ("exclude", "propose_rejection", "bonus", "message") else {}
    amount = {"amount": Decimal("1.50")} if action == "bonus" else {}
    return replace(base, action=action, **{**filled, **amount, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reviewer": "  "}, "expected the name of who decides"),
        ({"note": " "}, "wants a note that says why"),
        ({"note": "x" * 4001}, "at most 4000 characters, got 4001"),
        ({"action": "fire", "note": None}, "expected one of approve"),
        ({"action": "bonus", "amount": None}, "a bonus, and nothing else, has an amount"),
        ({"amount": Decimal(1)}, "a bonus, and nothing else, has an amount"),
        ({"action": "bonus", "amount": Decimal(0)}, "expected an amount above 0"),
        ({"action": "bonus", "amount": Decimal("NaN")}, "expected an amount above 0"),
        ({"action": "undo"}, "names the decision taken back"),
        ({"undoes": 3}, "names the decision taken back"),
    ],
)
def test_what_nobody_could_act_on_is_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(ResponseError, match=told):
        decide(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "-1", "0", "1.005", "NaN", "ten", "1e400000000"])
def test_an_amount_has_two_decimals_at_most(text: str) -> None:
    with pytest.raises(ResponseError, match=r"expected an amount"):
        parse_amount(text)


STEPS = st.lists(
    st.tuples(st.sampled_from(["approve", "propose_rejection", "exclude", "include", "bonus", "undo"]), st.integers(1)),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_an_undone_decision_leaves_no_trace_in_what_stands(steps: list[tuple[Action, int]]) -> None:
    """What stands is that of a log in which neither the undone decisions nor the undoing occur."""
    log: list[Decision] = []
    undone: set[int] = set()
    for number, (action, which) in enumerate(steps, start=1):
        if action != "undo":
            log.append(decide(action, number=number))
            continue
        open_ones = [each.number for each in log if each.action != "undo" and each.number not in undone]
        if open_ones:
            taken_back = open_ones[which % len(open_ones)]
            assert taken_back is not None
            undone.add(taken_back)
            log.append(decide("undo", number=number, undoes=taken_back))
    clean = [each for each in log if each.action != "undo" and each.number not in undone]
    nothing = VisitDecisions(submission_id="s1")
    assert visit_decisions(log).get("s1", nothing) == visit_decisions(clean).get("s1", nothing)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with build_by_hand(tmp_path / "s.sqlite", count=2) as built:
        hand_in(built, "a person", answered(PREFERENCE, 0.8))
        hand_in(built, "another", answered(PREFERENCE, 0.6))
        yield built


def test_a_decision_is_kept_and_undone_in_the_log_alone(store: Store) -> None:
    first, second = (submission.submission_id for submission in store.submissions())
    with store.transaction() as connection:
        number = add_decision(connection, decide("exclude", submission_id=first, rule="one key", note="only 50"))
        add_decision(connection, decide("bonus", submission_id=second))
    with store.reading() as connection:
        current = read_visit_decisions(connection)
    assert current[first].exclusion is not None
    assert current[first].exclusion.note == "only 50"
    assert current[second].bonuses[0].amount == Decimal("1.50")
    (row,) = export_tables(store).exclusions.to_dicts()
    assert (row["rule"], row["evidence"], row["annotator_kind"]) == ("review", "one key: only 50", "human")
    with store.transaction() as connection:
        add_decision(connection, decide("undo", submission_id=first, undoes=number))
    assert export_tables(store).exclusions.is_empty()
    with store.reading() as connection:
        assert [each.action for each in read_decisions(connection, first)] == ["exclude", "undo"]


def test_export_of_dashboard_log(store: Store) -> None:
    """The export says who decided and looked behind the labels and when."""
    assert "dashboard_log" not in export_tables(store).files
    first = next(iter(store.submissions())).submission_id
    with store.transaction() as connection:
        add_entry(connection, DashboardEntry(noted_at=200.0, who="Ben", action="show systems"))
        add_decision(connection, decide("exclude", submission_id=first, rule="one key", note="half \ud800"))
    shown, looked = export_tables(store).files["dashboard_log"].to_dicts()
    said = (shown["noted_at"], shown["who"], shown["action"], shown["decision"], shown["detail"])
    assert said == ("1970-01-01T00:01:40+00:00", "Ana", "exclude", 1, "one key: half \\ud800")
    assert shown["annotator_id"] is not None
    assert (looked["who"], looked["action"], looked["annotator_id"]) == ("Ben", "show systems", None)


def test_an_undo_takes_back_one_decision_of_its_own_visit_once(store: Store) -> None:
    first, second = (submission.submission_id for submission in store.submissions())
    with store.transaction() as connection:
        number = add_decision(connection, decide("exclude", submission_id=first))
        undo = add_decision(connection, decide("undo", submission_id=first, undoes=number))
    for told, visit, undoes in (
        ("no such visit", "nobody", number),
        ("there is no decision number", second, number),
        ("was undone already", first, number),
        ("an undo cannot be undone", first, undo),
    ):
        with pytest.raises(ResponseError, match=told), store.transaction() as connection:
            add_decision(connection, decide("undo", submission_id=visit, undoes=undoes))


def test_a_note_is_kept_as_it_was_written(store: Store) -> None:
    visit = next(iter(store.submissions())).submission_id
    note = "null \x00, half \ud800, \u202e and <script>"
    with store.transaction() as connection:
        add_decision(connection, decide("message", submission_id=visit, note=note))
    with store.reading() as connection:
        assert read_decisions(connection)[0].note == note
    assert list(store.submissions())  # a message leaves nobody out
    assert export_tables(store).exclusions.is_empty()
