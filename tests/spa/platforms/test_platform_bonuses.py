"""A list of bonuses is read as it is or refused, and each bonus is paid once whatever becomes of its call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spa.errors import PlatformError, StudyError
from spa.journal import JournalEntry
from spa.platforms.bonuses import Bonus, BonusPayer, BonusPayment, read_bonus_rows
from spa.platforms.idempotent_calls import CallReply, IdempotentCalls, PlatformCall
from spa.responses.store import Store

Fate = Literal["done", "refused", "lost before", "lost after", "killed before", "killed after"]


def listed(folder: Path, text: str) -> Path:
    path = folder / "bonuses.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_read_and_reasons_stay_as_written(tmp_path: Path) -> None:
    path = listed(tmp_path, '\ufeffrecipient,amount,reason,purpose\n a1 ,1.5,"Thank  you,\nAda",late\na2,0.25,care,\n')
    one, two = read_bonus_rows(path, recipient="recipient")
    assert (one.recipient, one.amount, one.reason, one.purpose) == ("a1", Decimal("1.5"), "Thank  you,\nAda", "late")
    assert (two.recipient, two.amount, two.reason, two.purpose) == ("a2", Decimal("0.25"), "care", None)


def test_every_mistake_is_one_line(tmp_path: Path) -> None:
    path = listed(tmp_path, "assignment,amount,reason\n,1.00,care\nA1,-1,care\nA2,1.005,care\nA3,1.00, \n")
    with pytest.raises(StudyError) as refused:
        read_bonus_rows(path, recipient="assignment")
    found = [problem.removeprefix(f"{path} ") for problem in refused.value.problems]
    assert [problem.split(":")[0] for problem in found] == ["row 2", "row 3", "row 4", "row 5"]
    assert found[0] == "row 2: expected an assignment, got none"
    assert found[3] == "row 5: expected a reason, got none"


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "nothing"),
        ("recipient,amount\na,1\n", "no reason"),
        ("recipient,amount,reason\n", "a header alone"),
    ],
)
def test_a_file_without_columns_or_rows_is_refused(tmp_path: Path, text: str, got: str) -> None:
    with pytest.raises(StudyError, match=f"got {got}"):
        read_bonus_rows(listed(tmp_path, text), recipient="recipient")


def test_bonus_list_formats_and_open_quote(tmp_path: Path) -> None:
    """A list may be of any format and a quote that stays open is told."""
    rows = [{"recipient": "a1", "amount": 1.50, "reason": "'- so"}, {"recipient": "a2", "amount": "2", "reason": "b"}]
    (tmp_path / "b.json").write_text(json.dumps(rows), encoding="utf-8")
    found = read_bonus_rows(tmp_path / "b.json", recipient="recipient")
    assert [(one.recipient, one.amount, one.reason) for one in found] == [
        ("a1", Decimal("1.5"), "'- so"),
        ("a2", Decimal(2), "b"),
    ]
    path = listed(tmp_path, 'recipient,amount,reason\na1,1.00,"good\na2,1.00,well done\n')
    with pytest.raises(StudyError, match="line 2: expected CSV, got a double quote that never closes"):
        read_bonus_rows(path, recipient="recipient")


class Killed(BaseException):
    """The process is gone; nothing catches it."""


class SmallPlatform(BonusPayer):
    """Pays one bonus a call and lists what it paid; calls meet the fates that are drawn, and then succeed."""

    def __init__(self, store: Store, fates: Iterable[Fate]) -> None:
        super().__init__(IdempotentCalls(store, "small"))
        self.listed: Counter[str] = Counter()
        self.fates = iter(fates)

    def name(self, bonus: Bonus) -> str:
        """Name it by submission and purpose."""
        return f"{bonus.submission_id} {bonus.purpose}"

    def payments(self) -> Iterator[BonusPayment]:
        """Yield every call."""
        for entry in self.calls.journal.calls("small", "study"):
            yield BonusPayment(entry=entry, amounts={entry.key: Decimal(entry.request)})

    def groups(self, bonuses: Iterable[Bonus]) -> Iterator[Sequence[Bonus]]:
        """Yield each alone."""
        yield from ([bonus] for bonus in bonuses)

    def payment_call(self, group: Sequence[Bonus]) -> PlatformCall:
        """Return a call that the next fate becomes of."""
        (bonus,) = group
        name = self.name(bonus)

        def send(entry: JournalEntry) -> CallReply:
            fate = next(self.fates, "done")
            if fate in ("done", "lost after", "killed after"):
                self.listed[name] += 1
            if fate.startswith("killed"):
                raise Killed
            error = PlatformError(fate)
            state: Literal["done", "refused", "unknown"]
            state = "done" if fate == "done" else "refused" if fate == "refused" else "unknown"
            return CallReply(state=state, error=error)

        def find(entry: JournalEntry) -> dict[str, str] | None:
            return {} if self.listed[name] else None

        return PlatformCall(scope="study", key=name, request=str(bonus.amount), send=send, find=find)


@settings(max_examples=40, deadline=None)
@given(
    fates=st.lists(
        st.sampled_from(["done", "refused", "lost before", "lost after", "killed before", "killed after"]), max_size=8
    )
)
def test_each_bonus_is_paid_once_whatever_becomes_of_its_call(fates: list[Fate]) -> None:
    bonuses = [
        Bonus(submission_id=one, amount=Decimal("1.50"), purpose=purpose, reason="care")
        for one in ("s1", "s2")
        for purpose in ("first", "second")
    ]
    with TemporaryDirectory() as folder, Store.create(f"{folder}/study.sqlite") as store:
        platform = SmallPlatform(store, fates)
        for _ in range(len(fates) + 1):
            try:
                list(platform.pay(platform.unpaid(bonuses)))
            except (PlatformError, Killed):
                continue
        assert platform.listed == {platform.name(bonus): 1 for bonus in bonuses}
        assert platform.paid() == {platform.name(bonus): Decimal("1.50") for bonus in bonuses}
        assert (platform.unpaid(bonuses), platform.in_doubt()) == ((), ())
