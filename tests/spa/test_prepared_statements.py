"""Statements that are compiled once, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from spa.errors import ResponseError
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store import Store
from spa.responses.store_schema import meta


def test_rows_are_written_by_the_names_of_their_values_in_whatever_order(database: str) -> None:
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
