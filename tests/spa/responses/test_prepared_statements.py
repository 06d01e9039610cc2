"""Statements that are compiled once, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import insert, select
from sqlalchemy.sql.compiler import SQLCompiler

from spa.errors import ResponseError
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store import Store
from spa.responses.store_schema import meta


def test_prepared_rows_by_name(database: str) -> None:
    """Rows are written by the names of their values in whatever order."""
    statement = PreparedStatement(insert(meta))
    with Store.create(database) as store:
        with store.transaction() as connection:
            statement.run_many(connection, ("name", "value"), [("a", "1"), ("b", "2")])
            statement.run_many(connection, ("value", "name"), [("3", "c")])
        with store.reading() as connection:
            kept = {row.name: row.value for row in connection.execute(select(meta))}
        assert (kept["a"], kept["b"], kept["c"]) == ("1", "2", "3")


def test_a_row_that_is_refused_undoes_all_and_is_told(database: str) -> None:
    statement = PreparedStatement(insert(meta))
    with Store.create(database) as store:
        with pytest.raises(ResponseError, match="refused"), store.transaction() as connection:
            statement.run_many(connection, ("name", "value"), [("a", "1"), ("schema", "x")])  # which is there
        assert store.meta("a") is None


def test_stores_share_what_statements_compile_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one SQLite file was asked is not compiled for another; each gives its own rows and values."""
    compiled: list[object] = []
    compile_one = SQLCompiler.__init__
    monkeypatch.setattr(
        SQLCompiler,
        "__init__",
        lambda self, *given, **named: (compiled.append(self), compile_one(self, *given, **named))[1],
    )
    counts = []
    for number in (1, 2, 3):
        with Store.create(str(tmp_path / f"{number}.sqlite")) as store:
            before = len(compiled)
            store.set_meta("a", str(number))
            assert (store.meta("a"), store.meta("b")) == (str(number), None)
            counts.append(len(compiled) - before)
    assert counts[1:] == [0, 0]
