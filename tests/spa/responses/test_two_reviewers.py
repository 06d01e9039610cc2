"""Two reviewers of each visit: blind until both decided, a third where they differ, and nobody undoes another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spa.errors import ResponseError
from spa.platforms.review import decided_by_reviewers, is_approved, reason_to_look
from spa.responses.decisions import PROGRAM, Decision, read_decisions, visit_decisions
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.two_reviewers import (
    decide,
    let_decide,
    read_visit_decisions,
    reviews_of,
    settled_decisions,
    visible_to,
)
from tests.spa.responses.test_decisions import decide as entry
from tests.spa.responses.test_decisions import store as store
from tests.spa.responses.test_export import PREFERENCE, answered, build_by_hand, hand_in


def log_of(*entries: tuple[str, str, dict[str, object]] | tuple[str, str]) -> list[Decision]:
    """Return a log about one visit: reviewer, action and what else is said."""
    log = []
    for number, (reviewer, action, *more) in enumerate(entries, start=1):
        given = dict(more[0]) if more else {}
        log.append(entry(action, reviewer=reviewer, number=number, **given))  # type: ignore[arg-type]
    return log


def current(log: list[Decision], seen_by: str | None = None) -> tuple[str | None, bool, bool]:
    """Return what stands on pay, whether that is open, and whether the visit is left out."""
    found = settled_decisions(log, seen_by=seen_by).get("s1")
    if found is None:
        return None, False, False
    return found.payment.action if found.payment else None, found.awaits is not None, found.exclusion is not None


def test_one_decision_stands_for_nobody_but_who_made_it() -> None:
    log = log_of(("Ana", "propose_rejection"), ("Ana", "exclude"))
    assert current(log) == (None, True, False)
    assert current(log, "Ana") == ("propose_rejection", True, True)
    assert current(log, "Ben") == (None, True, False)
    held = settled_decisions(log)["s1"]
    assert reason_to_look(held, held=None, lacking=None) == "waits for a second reviewer"
    assert visible_to(log, "Ben") == visible_to(log, None) == []
    assert visible_to(log, "Ana") == log


def test_two_reviewers_agreement_stands() -> None:
    """What two decided alike stands and each question is seen once both answered it."""
    log = log_of(("Ana", "approve"), ("Ana", "exclude"), ("Ben", "approve"))
    assert current(log) == ("approve", False, False)
    assert [each.number for each in visible_to(log, "Ben")] == [1, 3]  # not whom Ana left out


def test_two_reviewers_third_settles_differences() -> None:
    """A third settles what two differ on whatever they change later."""
    log = log_of(("Ana", "exclude"), ("Ben", "include"))
    (review,) = reviews_of(log)
    assert (review.status, review.reviewers, review.settled) == ("conflict", ("Ana", "Ben"), None)
    log = log_of(("Ana", "exclude"), ("Ben", "include"), ("Cem", "exclude"), ("Ana", "undo", {"undoes": 1}))
    (review,) = reviews_of(log)
    assert review.status == "adjudicated"
    assert review.settled == log[2]
    assert current(log, "Ben") == (None, False, True)
    assert review.independent == (log[0], log[1])  # agreement is that of the first, blind decisions
    (review,) = reviews_of([*log, replace(log[3], reviewer="Cem", undoes=3, number=5)])
    assert review.status == "waiting"


def test_two_reviewers_retraction_before_the_other() -> None:
    """Who took all back before the other decided is no reviewer."""
    log = log_of(("Ana", "approve"), ("Ana", "undo", {"undoes": 1}), ("Ben", "approve"), ("Cem", "approve"))
    (review,) = reviews_of(log)
    assert (review.reviewers, review.status) == (("Ben", "Cem"), "agreed")


def test_what_a_command_noted_stands_by_itself() -> None:
    log = log_of((f"{PROGRAM}mturk", "exclude"))
    assert current(log) == (None, False, True)
    assert visible_to(log, "Ana") == log


def test_two_reviewers_bonus_keeps_its_number() -> None:
    """A bonus stands once two decided on the same and keeps its number."""
    one, two = {"amount": Decimal("1.00")}, {"amount": Decimal("2.00")}
    log = log_of(("Ana", "bonus", one), ("Ben", "bonus", two), ("Ben", "bonus", one), ("Cem", "bonus", one))
    assert [each.number for each in settled_decisions(log)["s1"].bonuses] == [3]
    left = [*log, entry("undo", reviewer="Ana", undoes=1, number=5)]
    assert [each.number for each in settled_decisions(left)["s1"].bonuses] == [3]  # paid once, whoever leaves
    alone = [*left, entry("undo", reviewer="Ben", undoes=3, number=6)]
    assert "s1" not in settled_decisions(alone)


NAMES = ("Ana", "Ben", "Cem", "Dia")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["approve", "propose_rejection", "exclude", "include", "undo"]),
        st.integers(1, 12),
    ),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_two_reviewers_nothing_stands_by_one(
    steps: list[tuple[str, str, int]],
) -> None:
    """Whatever order people decide and undo in, as far as their roles let them."""
    from spa.responses.two_reviewers import _check_role

    log: list[Decision] = []
    for reviewer, action, which in steps:
        made = entry(
            action,  # type: ignore[arg-type]
            reviewer=reviewer,
            number=len(log) + 1,
            undoes=which if action == "undo" else None,
        )
        taken = {each.undoes for each in log}
        target = next((each for each in log if each.number == which), None)
        if action == "undo" and (target is None or target.action == "undo" or which in taken):
            continue
        try:
            _check_role(made, log)
        except ResponseError:
            continue
        log.append(made)
    undone = {each.undoes for each in log}
    own = {name: [each for each in log if each.reviewer == name] for name in NAMES}
    assert all(each.undoes in {mine.number for mine in own[each.reviewer]} for each in log if each.action == "undo")
    found = settled_decisions(log).get("s1")
    for actions, decision in (
        (("approve", "propose_rejection"), found and found.payment),
        (("exclude", "include"), found and found.exclusion),
    ):
        if decision:
            ever = {each.reviewer for each in log if each.action in actions}
            assert len(ever) >= 2
            assert decision.number not in undone
    for name in NAMES:
        for each in visible_to(log, name):
            if each.reviewer != name and each.action != "undo":
                pair = ("approve", "propose_rejection")
                same = [one for one in log if (one.action in pair) == (each.action in pair) and one.action != "undo"]
                assert len({one.reviewer for one in same}) >= 2
    assert visit_decisions(log).keys() == {each.submission_id for each in log}


def keep(store: Store, **given: object) -> int:
    with store.transaction() as connection:
        return decide(connection, entry(**given))  # type: ignore[arg-type]


def test_two_reviewers_three_at_once(database: str) -> None:
    """Of three at the same moment two are reviewers and no decision is lost."""
    start = Barrier(3)

    def come(name: str) -> str:
        with Store.open(database) as own:
            start.wait()
            try:
                keep(own, submission_id=visit, reviewer=name, note="one key")
            except ResponseError as error:
                return str(error).rpartition("; ")[2]
            return "kept"

    with build_by_hand(database) as built, ThreadPoolExecutor(3) as pool:
        hand_in(built, "a person", answered(PREFERENCE, 0.8))
        visit = next(iter(built.submissions())).submission_id
        with built.transaction() as connection:
            let_decide(connection, 2)
        assert sorted(pool.map(come, NAMES[:3])) == ["a third decides only where two differ", "kept", "kept"]
        with built.reading() as connection:
            assert len(read_decisions(connection)) == 2
            assert read_visit_decisions(connection)[visit].exclusion is not None


def test_roles_are_kept_in_the_store(store: Store) -> None:
    first, second = (submission.submission_id for submission in store.submissions())
    with store.transaction() as connection:
        let_decide(connection, 2)
    awaited = [decided_by_reviewers(store)[visit].awaits for visit in (first, second)]
    assert awaited == ["two reviewers", "two reviewers"]
    number = keep(store, submission_id=first, reviewer="Ana", note="one key")
    assert decided_by_reviewers(store)[first].awaits == "two reviewers"  # what was decided is not about pay
    assert export_tables(store).exclusions.is_empty()
    with pytest.raises(ResponseError, match="an undo of your own decision, got number 1"):
        keep(store, submission_id=first, action="undo", reviewer="Ben", undoes=number)
    keep(store, submission_id=first, reviewer="Ben", note="all alike")
    assert export_tables(store).exclusions["evidence"].to_list() == ["all alike"]
    with pytest.raises(ResponseError, match="Ana and Ben agree on analysis; a third decides only where"):
        keep(store, submission_id=first, action="include", reviewer="Cem")
    keep(store, submission_id=second, reviewer="Ana", action="approve")
    keep(store, submission_id=second, reviewer="Cem", action="propose_rejection")
    keep(store, submission_id=second, reviewer="Ben", action="approve")
    with pytest.raises(ResponseError, match="Ben has settled where Ana and Cem differ"):
        keep(store, submission_id=second, reviewer="Dia", action="approve")
    with store.reading() as connection:
        assert is_approved(read_visit_decisions(connection)[second])
    with store.transaction() as connection:
        let_decide(connection, 1)  # as before: the last decision stands, and anybody may undo it
    keep(store, submission_id=first, action="undo", reviewer="Cem", undoes=number)
    with store.reading() as connection:
        assert read_visit_decisions(connection)[first].exclusion is not None
