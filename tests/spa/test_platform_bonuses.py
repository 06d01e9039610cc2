"""A list of bonuses is read as it is, or refused with one line for each mistake."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from spa.errors import StudyError
from spa.platforms.bonuses import read_bonus_rows


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
    assert [problem.split(":")[0] for problem in found] == ["line 2", "line 3", "line 4", "line 5"]
    assert found[0] == "line 2: expected an assignment, got none"
    assert found[3] == "line 5: expected a reason, got none"


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "no recipient, amount, reason"),
        ("recipient,amount\na,1\n", "no reason"),
        ("recipient,amount,reason\n", "a header alone"),
    ],
)
def test_a_file_without_columns_or_rows_is_refused(tmp_path: Path, text: str, got: str) -> None:
    with pytest.raises(StudyError, match=f"got {got}"):
        read_bonus_rows(listed(tmp_path, text), recipient="recipient")
