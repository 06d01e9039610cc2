"""Reasons: codes with data, which are decided upon, and words, which are printed and can be worded anew."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from analysis.statistics.reasons import WORDS, Reason, ReasonCode, folded, several, why
from analysis.statistics.record import Record, plain, replace_fields, rounded

ONE = why("one_unit")
BOTH = Reason("several", (("reasons", (ONE, why("unspecified", text="as it was"))),))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Row(Record):
    """A record with two reasons."""

    value: float | None
    reason: Reason | None = None
    other_reason: Reason | None = None


def test_every_code_has_words() -> None:
    assert list(WORDS) == list(get_args(ReasonCode))


@pytest.mark.parametrize("reason", [ONE, BOTH, None])
def test_a_reason_survives_json_pickling_and_rounding(reason: Reason | None) -> None:
    row = Row(value=None, reason=reason)
    written = json.dumps(plain(row))
    read = TypeAdapter(Row).validate_json(json.dumps(folded(json.loads(written))), strict=True)
    assert read == row == pickle.loads(pickle.dumps(row)) == rounded(row) == replace_fields(row, value=None)
    assert hash(read) == hash(row)
    assert json.loads(written)["reason"] == (None if reason is None else str(reason))


def test_words_stand_beside_their_code() -> None:
    assert plain(Row(value=1.0, reason=BOTH)) == {
        "value": 1.0,
        "reason": f"{ONE}; as it was",
        "reason_code": "several",
        "reason_data": {"reasons": [{"code": "one_unit"}, {"code": "unspecified", "data": {"text": "as it was"}}]},
        "other_reason": None,
        "other_reason_code": None,
    }


def test_words_without_a_known_code_are_kept() -> None:
    """Files of earlier versions have no codes, those of later ones codes that are not known here."""
    adapter = TypeAdapter(Row)
    for more in ({}, {"reason_code": "of_tomorrow", "reason_data": {"n": 3}}):
        row = adapter.validate_json(json.dumps(folded({"value": None, "reason": "so it was", **more})), strict=True)
        assert row.reason == why("unspecified", text="so it was")


@pytest.mark.parametrize("reason", ["", 3, {"code": "of_tomorrow"}, {"code": "unspecified", "data": {}}])
def test_what_is_no_reason_is_refused(reason: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Row).validate_json(json.dumps({"value": None, "reason": reason}), strict=True)


def test_reasons_are_joined_once_each_in_their_order() -> None:
    other = why("no_variation")
    assert several([]) is several([None]) is None
    assert several([ONE, None, ONE]) == ONE
    assert several([several([ONE, other]), other]) == several([ONE, other])
    assert str(several([other, ONE])) == f"{other}; {ONE}"
