"""Statements that are compiled once for all databases of a process: tables are those that SQLAlchemy creates."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import MetaData
from sqlalchemy.pool import NullPool

from mturk.endpoint import schema as endpoint
from prolific.emulator import schema as platform
from spa.responses import store_schema
from spa.responses.sqlite_dialect import create_tables, sqlite_engine


@pytest.mark.parametrize("metadata", [store_schema.metadata, endpoint.metadata, platform.metadata])
def test_created_tables_are_those_of_sqlalchemy(tmp_path: Path, metadata: MetaData) -> None:
    made = []
    for name, create in (("own", create_tables), ("again", create_tables), ("theirs", lambda c, m: m.create_all(c))):
        engine = sqlite_engine(lambda path=tmp_path / name: sqlite3.connect(path), NullPool)
        with engine.begin() as connection:
            create(connection, metadata)
        with sqlite3.connect(tmp_path / name) as raw:
            made.append(set(raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")))
        raw.close()
    assert made[0] == made[1] == made[2]
    assert len(made[0]) > len(metadata.tables)  # indexes, too
