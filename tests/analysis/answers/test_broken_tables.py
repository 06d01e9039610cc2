"""Tables that cannot be read: each mistake in a short line, all at once."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from math import inf as INF
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Reading, Scale, read_tables
from spa import AnalysisError
from spa.cli import main
from tests.analysis.answers.written_tables import ANSWER, HEADER, RATINGS, ROW, line, refusal

DEEP = "[" * 100_000
LONG = "x" * 1_000_000


def parquet(**columns: object) -> bytes:
    file = io.BytesIO()
    frame = pl.DataFrame(
        {**{name: [value] * 2 for name, value in ANSWER.items()}, "annotator_id": ["a", "b"], **columns}
    )
    frame.write_parquet(file, compression="uncompressed", statistics=False)
    return file.getvalue()


def varint(number: int) -> bytes:
    """Write a whole number as Parquet does."""
    number, written = 2 * number, b""
    while number > 127:
        number, written = number >> 7, written + bytes([number & 127 | 128])
    return written + bytes([number])


def parquet_that_counts(rows: int, of: int = 0) -> bytes:
    """Write a Parquet file that claims another number of rows than the 1,234 that it holds, in all or in its part."""
    file = io.BytesIO()
    names = [f"a{number}" for number in range(1234)]
    frame = pl.DataFrame({**{name: [value] * 1234 for name, value in ANSWER.items()}, "annotator_id": names})
    frame.write_parquet(file, compression="uncompressed", statistics=False)
    written = file.getvalue()
    start = len(written) - 8 - int.from_bytes(written[-8:-4], "little")
    last = written[start:-8]
    places = [place for place in range(len(last)) if last.startswith(varint(1234), place)]
    place = places[of]  # of the file, of its columns, of its one row group
    last = last[:place] + varint(rows) + last[place + 2 :]
    return written[:start] + last + len(last).to_bytes(4, "little") + b"PAR1"


DAY = date(2026, 11, 23)
Content = str | bytes | Callable[[], bytes]
BROKEN: dict[str, tuple[str, Content, str]] = {
    "no rows": ("t.csv", HEADER, "a header without rows"),
    "nothing": ("t.csv", "", "got an empty file"),
    "blank lines": ("t.csv", "\n\n", "line 1: expected the names of columns, got a blank line"),
    "a blank line first": ("t.csv", "\n" + HEADER + ROW, "line 1: expected the names of columns"),
    "CR only": ("t.csv", (HEADER + ROW).replace("\n", "\r"), "got CR only"),
    "a column twice": ("t.csv", "annotator_id," + HEADER + "a," + ROW, "annotator_id stands in the header twice"),
    "a column twice, quoted": ("t.csv", '"preference",' + HEADER + "1," + ROW, "preference stands in the header twice"),
    "a column twice after a mark": ("t.csv", "\ufeffpreference," + HEADER + "1," + ROW, "stands in the header twice"),
    "other columns twice": ("t.csv", HEADER.strip() + ",note,note\na,x,y,1,n,m\n", "note stands in the header twice"),
    "a system against itself": ("t.csv", HEADER + "a,x,x,0.5\n", "row 2: system_x and system_y must be two systems"),
    "percent": ("t.csv", HEADER + "a,x,y,70\n", "preference must lie in [0, 1] (divide percentages by 100), got '70'"),
    "negative": ("t.csv", HEADER + "a,x,y,-0.1\n", "must lie in [0, 1]"),
    "infinite": ("t.csv", HEADER + "a,x,y,inf\n", "row 2: preference must be finite, got 'inf'"),
    "too large": ("t.csv", HEADER + "a,x,y,1e400\n", "row 2: preference must be finite, got '1e400'"),
    "too negative": ("t.csv", HEADER + "a,x,y,-1e400\n", "row 2: preference must be finite"),
    "a large exposure": ("t.csv", HEADER.strip() + ",exposure\na,x,y,1,1e400\n", "exposure must be a whole number"),
    "a comma for a point": (
        "t.csv",
        HEADER + 'a,x,y,"0,7"\n',
        "must be a number with a decimal point or empty, got '0,7'",
    ),
    "a date": (
        "t.csv",
        HEADER + "a,x,y,2026-11-23\n",
        "must be a number with a decimal point or empty, got '2026-11-23'",
    ),
    "a NUL in a number": ("t.csv", HEADER + "a,x,y,0\0.5\n", "row 2: preference must be a number"),
    "too many values": (
        "t.csv",
        HEADER + ROW + "b,x,y,0.7,0.8\n",
        "line 3: expected 4 values, got 5, more fields than",
    ),
    "too few values": ("t.csv", HEADER + ROW + "b,x,0.7\n", "line 3: expected 4 values, got 3, fewer fields than"),
    "broken off": ("t.csv", HEADER + ROW + "b,x", "line 3: expected 4 values, got 2"),
    "too few values after lines in quotes": (
        "t.csv",
        HEADER + '"a\nb",x,y,1\nb,x\n',
        "line 4: expected 4 values, got 2",
    ),
    "a quote that stays open": (
        "t.csv",
        HEADER + ROW + 'b,x,y,"0.7\n',
        "line 3: expected CSV, got a double quote that never",
    ),
    "a quote in quotes": ("t.csv", HEADER + 'a,x,y,"0"7"\n', "row 2: preference must be a number"),
    "nobody": ("t.csv", HEADER + ",x,y,0.7\n", "row 2: annotator_id must not be empty, got nothing"),
    "a cell twice": ("t.csv", HEADER + "a,x,y,0.5\nb,x,y,1\na,x,y,0.6\n", "rows 2 and 4: expected one answer a cell"),
    "another name": (
        "t.csv",
        "rater,system_x,system_y,preference\na,x,y,1\n",
        "--map YOURS=annotator_id",
    ),
    "a robot": ("t.csv", "annotator_kind," + HEADER + "robot," + ROW, "must be human, llm or simulated, got 'robot'"),
    "no kind": ("t.csv", "annotator_kind," + HEADER + "," + ROW, "must be human, llm or simulated, got nothing"),
    "few": ("t.csv", HEADER.strip() + ",exposure\na,x,y,1,few\n", "exposure must be a whole number, got 'few'"),
    "Latin-1": ("t.csv", (HEADER + ROW + "ä,x,y,1\n").encode("latin-1"), "line 3: expected UTF-8, got the byte 0xe4"),
    "Latin-1 names": ("t.csv", ("ä," + HEADER + "1," + ROW).encode("latin-1"), "line 1: expected UTF-8"),
    "UTF-16 without a mark": ("t.csv", (HEADER + ROW).encode("utf-16-le"), "line 1: expected UTF-8, got a NUL byte"),
    "gzip": ("t.csv", gzip.compress((HEADER + ROW).encode()), "expected text, got a gzip file"),
    "a workbook": ("t.csv", b"PK\x03\x04" + bytes(99), "expected text, got a workbook or zip file"),
    "Parquet called CSV": ("t.csv", lambda: parquet(), "expected text, got a Parquet file"),
    "a huge cell": ("t.csv", HEADER + f"a,x,y,{LONG}\n", "row 2: preference must be a number"),
    "a huge name": ("t.csv", f"{LONG},b\n1,2\n", "are missing"),
    "a huge name twice": ("t.csv", f"{LONG},{LONG}\n1,2\n", "stands in the header twice"),
    "huge ids twice": ("t.csv", HEADER + f"{LONG},x,y,1\n" * 2, "expected one answer a cell, got 2"),
    "thousands of columns": (
        "t.csv",
        ",".join(map(str, range(9999))) + "\n" + "," * 9998,
        "are missing (there are: 0, 1, 2",
    ),
    "thousands of wrong values": (
        "t.csv",
        HEADER + "".join(f"a{n},x,y,v{n}\n" for n in range(20_000)),
        "and 19995 more",
    ),
    "thousands of kinds": (
        "t.csv",
        "annotator_kind,"
        + HEADER
        + "".join(f"{kind},a{n},x,{kind},1\n" for n in range(999) for kind in ("human", "llm")),
        "'a0' is human and llm at once",
    ),
    "a key twice": ("t.jsonl", '{"annotator_id": "a", "annotator_id": "b"}\n', "line 1: expected each key once"),
    "a key twice later": (
        "t.jsonl",
        line() + '{"annotator_id": "b", "annotator_id": "c"}',
        "line 2: expected each key once",
    ),
    "infinite in JSON": ("t.jsonl", line(preference=INF), "row 1: preference must be finite"),
    "too large in JSON": (
        "t.jsonl",
        line() + line(annotator_id="b").replace("0.5", "1e400"),
        "row 2: preference must be finite",
    ),
    "no JSON": ("t.jsonl", "not json\n", "line 1: expected one JSON object"),
    "JSON broken off": ("t.jsonl", line() + line()[:20], "line 2: expected one JSON object, got a mistake: "),
    "JSON without lines": ("t.jsonl", "", "got an empty file"),
    "JSON with blank lines": ("t.jsonl", "\n\n", "got an empty file"),
    "a line of two": (
        "t.jsonl",
        line() + line().strip() + line(),
        "line 2: expected one JSON object, got a mistake: Extra",
    ),
    "an array": ("t.jsonl", line() + json.dumps([ANSWER]), "line 2: expected one JSON object, got a list"),
    "a number": ("t.jsonl", line() + "5", "line 2: expected one JSON object, got '5'"),
    "a document over lines": ("t.jsonl", json.dumps([ANSWER], indent=1), "line 1: expected one JSON object"),
    "a list in a cell": (
        "t.jsonl",
        line() + line(annotator_id=["b"]),
        "line 2: annotator_id: expected one value, got a list",
    ),
    "an object in a cell": (
        "t.jsonl",
        line(preference={"p": 1}),
        "line 1: preference: expected one value, got an object",
    ),
    "a deep cell": (
        "t.jsonl",
        line() + f'{{"annotator_id": {DEEP}',
        "line 2: expected one JSON object, got lists or objects",
    ),
    "a deep document": ("t.jsonl", DEEP, "line 1: expected one JSON object, got lists or objects nested too deeply"),
    "half a pair": ("t.jsonl", line() + line(annotator_id="\ud800"), "line 2: expected UTF-8"),
    "JSON in Latin-1": ("t.jsonl", (line() + '{"a": "ä"}').encode("latin-1"), "line 2: expected UTF-8"),
    "JSON in UTF-16 without a mark": ("t.jsonl", line().encode("utf-16-le"), "line 1: expected UTF-8, got a NUL byte"),
    "JSON in gzip": ("t.jsonl", gzip.compress(line().encode()), "expected text, got a gzip file"),
    "JSON without a column": (
        "t.jsonl",
        '{"annotator_id": "a"}\n',
        "columns system_x, system_y, preference are missing",
    ),
    "a row of JSON after a blank line": (
        "t.jsonl",
        line() + "\n" + line(preference=7),
        "row 3: preference must lie in",
    ),
    "a huge value in JSON": ("t.jsonl", line(preference=LONG), "row 1: preference must be a number"),
    "no Parquet": ("t.parquet", "not parquet", "expected a Parquet file, got another kind"),
    "Parquet without bytes": ("t.parquet", b"", "expected a Parquet file, got an empty file"),
    "Parquet broken off": ("t.parquet", lambda: parquet()[:200], "cannot be read as parquet"),
    "Parquet that counts wrong": (
        "t.parquet",
        lambda: parquet_that_counts(1235),
        "expected 1235 rows, as the file says, got 1234",
    ),
    "Parquet with a part that counts wrong": (
        "t.parquet",
        lambda: parquet_that_counts(10**9, of=-1),
        "cannot be read as parquet",
    ),
    "Parquet with an absurd count": ("t.parquet", lambda: parquet_that_counts(2**32 - 2), "got a count of 4294967294"),
    "Parquet with a count of 2**40": ("t.parquet", lambda: parquet_that_counts(2**40), "cannot be read as parquet"),
    "Parquet with a column twice": (
        "t.parquet",
        lambda: parquet(annotator_ix=["c", "d"]).replace(b"annotator_ix", b"annotator_id"),
        "cannot be read as parquet",
    ),
    "infinite in Parquet": ("t.parquet", lambda: parquet(preference=[0.5, INF]), "row 2: preference must be finite"),
    "lists in Parquet": (
        "t.parquet",
        lambda: parquet(preference=[[0.5], [1.0]]),
        "lists or objects in column preference",
    ),
    "objects in Parquet": (
        "t.parquet",
        lambda: parquet(annotator_id=[{"a": 1}, {"a": 2}]),
        "lists or objects in column annotator_id",
    ),
    "dates in Parquet": (
        "t.parquet",
        lambda: parquet(preference=[date(2026, 11, 23)] * 2),
        "preference must be a number",
    ),
    "durations in Parquet": (
        "t.parquet",
        lambda: parquet(preference=[timedelta(1)] * 2),
        "durations in column preference",
    ),
    "truth in Parquet": ("t.parquet", lambda: parquet(preference=[True, False]), "preference must be a number"),
    "bytes in Parquet": (
        "t.parquet",
        lambda: parquet(annotator_id=[b"\xff", b"b"]),
        "column annotator_id: expected texts, got bytes that are not UTF-8",
    ),
    "another kind of file": ("t.ods", "", "ending in .csv"),
}


@pytest.mark.parametrize(("name", "content", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_table_is_told_in_short_lines(tmp_path: Path, name: str, content: Content, told: str) -> None:
    path = tmp_path / name
    given = content() if callable(content) else content
    path.write_bytes(given.encode() if isinstance(given, str) else given)
    done = CliRunner().invoke(main, ["report", "--preferences", str(path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1, done.output
    lines = done.output.replace(str(tmp_path), "").splitlines()
    assert told in lines[0]
    assert name in lines[0] or "at once" in lines[0]
    assert len(lines) == (6 if "at once" in told else 1)
    assert max(map(len, lines)) <= 500


def test_a_table_too_large_for_the_memory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pl, "read_parquet", fail)
    assert "expected a table that fits into memory" in refusal(tmp_path, parquet(), name="t.parquet")


@pytest.mark.parametrize(("make", "told"), [(Path.mkdir, "got a folder"), (os.mkfifo, "got a pipe"), (Path, "no such")])
def test_what_is_no_file_is_told(tmp_path: Path, make: Callable[[Path], object], told: str) -> None:
    make(tmp_path / "t.csv")
    with pytest.raises(AnalysisError, match=told):
        read_tables({"ratings": tmp_path / "t.csv"}, Reading())


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(HEADER + "a,x,x,7\nb,x,y,inf\n")
    (tmp_path / "r.csv").write_text(RATINGS + "a,i,s,9\n")
    reading = Reading(mapping={"who": "annotator_id"}, scales=(Scale(criterion=None, low=1, high=5),))
    with pytest.raises(AnalysisError) as caught:
        read_tables(
            {"preferences": tmp_path / "p.csv", "ratings": tmp_path / "r.csv", "choices": tmp_path / "c.csv"}, reading
        )
    said = " ".join(caught.value.problems)
    for part in (
        "two systems",
        "lie in [0, 1]",
        "finite",
        "score must lie in [1, 5]",
        "no such file",
        "mapping={'who': ",
    ):
        assert part in said
    assert len(caught.value.problems) == 6
