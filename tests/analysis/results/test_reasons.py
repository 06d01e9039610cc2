"""Reasons: codes with data, which are decided upon, and words, which are printed and can be worded anew."""

from __future__ import annotations

import ast
import csv
import io
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from analysis.report.csv_tables import csv_tables
from analysis.results.files import from_plain, to_json
from analysis.results.headline import headline_of
from analysis.statistics.reason_codes import ReasonCode
from analysis.statistics.reasons import WORDS, Reason, folded, several, why
from analysis.statistics.record import Record, plain, replace_fields, rounded
from tests.analysis.made_answers import Results, build_document, choices, preferences, ratings, render_report, run

ROOT = Path(__file__).parents[3]
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


def swept_choices() -> Results:
    """Return results in which A won every comparison, an LLM answers too, and ratings say the opposite."""
    pairs = [("A", "B"), ("A", "C"), ("B", "C"), ("C", "D"), ("B", "D")]
    rows = [
        (who, f"i{item}", x, y, "x" if x == "A" or (item + int(who[1:])) % 3 else "y")
        for who in ("p1", "p2", "p3", "p4")
        for item in range(6)
        for x, y in pairs
    ]
    scores = [
        (who, f"i{item}", system, place + (item + n) % 2 + 1)
        for n, who in enumerate(("p1", "p2", "g1"))
        for item in range(6)
        for place, system in enumerate("ABCD")
    ]
    return run(choices=choices(rows), ratings=ratings([*scores, ("g1", "i9", "A", 1)]), llms=("g1",))


def few_preferences() -> Results:
    rows = [("a", "x", "y", 0.7), ("b", "x", "y", 0.7), ("a", "y", "z", 0.9), ("b", "y", "z", 0.2)]
    return run(preferences=preferences(rows), ratings=ratings([("a", "i", "x", 3), ("a", "i", "y", 4)]))


def apart() -> Results:
    rows = [
        ("a", "i", "x", "y", "x"),
        ("a", "j", "x", "y", "y"),
        ("b", "i", "v", "w", "tie"),
        ("b", "j", "v", "w", "x"),
    ]
    return run(choices=choices(rows))


PROSE = {"text", "winner", "certainty", "stand_in", "excluded", "warnings", "warning", "level_problem", "reason_data"}


def without_prose(value: Any) -> Any:
    """Leave the codes, names and numbers of results; a claim's winner is a system and stays."""
    if isinstance(value, dict):
        return {
            key: without_prose(part)
            for key, part in value.items()
            if not (key in PROSE and "claims" in value) and key not in PROSE - {"winner"} and not key.endswith("reason")
        }
    return [without_prose(part) for part in value] if isinstance(value, list) else value


def shape(results: Results) -> Any:
    """Return the sections of a report, their tables and figures, and its CSV tables without words."""
    document = build_document(results)
    blocks = [
        (section.id, [(type(block).__name__, len(getattr(block, "rows", ()))) for block in section.blocks])
        for section in document.sections
        if section.id != "warnings"  # lines that read alike are printed once
    ]
    tables = {
        name: [
            {key: cell for key, cell in row.items() if key not in PROSE and not key.endswith("reason")}
            for row in csv.DictReader(io.StringIO(text))
        ]
        for name, text in csv_tables(from_plain(results)).items()
    }
    return blocks, tables


@pytest.mark.parametrize("made", [swept_choices, few_preferences, apart])
def test_no_word_of_a_reason_or_a_warning_steers_a_result(
    made: Callable[[], Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all words replaced by "x" every number, order, winner and section is the same."""
    before = made()
    assert any("reason_code" in json.dumps(before[name]) for name in ("bradley_terry", "ratings", "preferences"))
    monkeypatch.setattr("analysis.statistics.reasons.WORDS", dict.fromkeys(WORDS, "x"))
    after = made()
    assert without_prose(after) == without_prose(before)
    assert shape(after) == shape(before)
    unsaid = from_plain(after)
    rows = tuple(replace(row, text="x") for row in unsaid.warning_rows)
    unsaid = replace(unsaid, warning_rows=rows, warnings=tuple("x" for _ in rows))
    assert headline_of(unsaid).claims == headline_of(from_plain(before)).claims
    worst = [(one.kind, one.section) for one in headline_of(from_plain(before)).problems]
    assert [(one.kind, one.section) for one in headline_of(unsaid).problems] == worst
    assert [one.id for one in build_document(json.loads(to_json(unsaid))).sections] == [
        one.id for one in build_document(before).sections
    ]


def without_codes(value: Any) -> Any:
    """Return results as files had them before there were codes."""
    if isinstance(value, dict):
        return {
            key: without_codes(part) for key, part in value.items() if not key.endswith(("reason_code", "reason_data"))
        }
    return [without_codes(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("made", [swept_choices, few_preferences, apart])
def test_the_report_of_a_file_without_codes_is_the_same(made: Callable[[], Results]) -> None:
    results = made()
    old = without_codes(results)
    assert render_report(old) == render_report(results) | csv_of(old)
    assert without_codes(json.loads(to_json(from_plain(old)))) == old


def csv_of(results: Results) -> dict[str, str]:
    """Return the CSV tables, which have columns of codes."""
    return {f"tables/{name}": text for name, text in csv_tables(from_plain(results)).items()}


def prose_compared(code: str) -> Iterator[int]:
    """Yield the lines in which the words of a reason or a warning are searched, or compared with a text."""

    def is_prose(node: ast.expr) -> bool:
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
            node = node.args[0]
        return isinstance(node, ast.Attribute) and (node.attr in ("reason", "text") or node.attr.endswith("_reason"))

    def is_text(node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)

    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_prose(node.func.value):
            if node.func.attr in ("startswith", "endswith", "find", "index", "partition", "removeprefix", "count"):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
                searched = isinstance(operator, ast.In | ast.NotIn) and is_prose(right)
                equal = isinstance(operator, ast.Eq | ast.NotEq) and (
                    (is_prose(left) and is_text(right)) or (is_text(left) and is_prose(right))
                )
                if searched or equal:
                    yield node.lineno


@pytest.mark.parametrize(
    "code",
    [
        'one.reason.startswith("won every")',
        '"stand in" in row.text',
        'row.crossed_reason == "nothing"',
        '"x" in str(row.reason)',
        "row.text.removeprefix(row.group)",
    ],
)
def test_the_check_finds_prose_that_is_compared(code: str) -> None:
    assert list(prose_compared(code)) == [1]
    assert list(prose_compared('one.reason.code == "won_all" or row.reason == NO_VARIATION or row.kind in KINDS')) == []


def test_no_module_of_the_analysis_compares_prose() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("analysis", "streamlit_app")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in prose_compared(path.read_text(encoding="utf-8"))
    ]
    assert found == []
