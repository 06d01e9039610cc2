"""What is found out about double quotes, eight bytes at a time, is what one finds going from sign to sign."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.tables import quotes
from spa.tables.quotes import CellByCell, doubtful, quotes_of


def slowly(text: str, separator: str) -> tuple[bool, bool, bool]:
    """Return whether quotes are regular, whether a cell in them spans, and whether the last is unpaired."""
    text = text if text.endswith("\n") else text + "\n"
    regular, spans, inside = True, False, False
    for place, sign in enumerate(text):
        if sign == '"':
            before, after = text[place - 1] if place else "\n", text[place + 1]
            regular &= after in f'"\r\n{separator}' if inside else before in f'"\n{separator}'
            inside = not inside
        else:
            spans |= inside and (sign == "\n" or sign == separator == "\t")
    return regular, spans, inside


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.text(st.sampled_from(list("a,\t\"\n\r'")), min_size=1, max_size=40),
    separator=st.sampled_from(",\t"),
    piece=st.sampled_from([3, 8, 1000]),
)
def test_quotes_are_what_they_are_sign_by_sign(tmp_path: Path, text: str, separator: str, piece: int) -> None:
    path = tmp_path / "t"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(quotes, "PIECE", piece)
        found = quotes_of(path, separator, 0)
    regular, spans, open_at_end = slowly(text, separator)
    assert found.any == ('"' in text)
    assert found.apostrophe == ("'" in text)
    assert found.regular == regular
    assert (found.unclosed is not None) == open_at_end
    if open_at_end:
        assert found.unclosed == text.rindex('"')
    if regular and not open_at_end:
        assert found.spans == spans


def test_lines_that_may_be_rows_are_found_wherever_pieces_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    path.write_text('a,b\n1,"x\ny,z"\n2,b\n3,"c\nd, e, f"\n')
    for piece in (4, 9, 1000):
        monkeypatch.setattr(quotes, "PIECE", piece)
        doubt = doubtful(path, ",", 0, 2)
        assert doubt.lines == [(1, 2)]
        assert not doubt.everywhere


def test_a_quote_that_closes_nowhere_costs_no_rows() -> None:
    lines = ["a,b\n", '1,"x\n', *(f"{number},y\n" for number in range(5))]
    assert [cells for _, cells in CellByCell(lines, ",")][1:3] == [["1", '"x'], ["0", "y"]]
    assert [number for number, _ in CellByCell(lines, ",")] == [*range(1, 8)]
