"""The conformance table is whole, and every test that it names calls the operation."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

from botocore import xform_name
from fastapi import FastAPI

from mturk.endpoint import emulator
from mturk.endpoint.emulator import KINDS, add_emulator
from mturk.endpoint.operations import OPERATIONS
from mturk.endpoint.protocol import service

HERE = Path(__file__).parent
DOCUMENT = Path(emulator.__file__).with_name("README.md").read_text()
TABLE = (HERE / "conformance.md").read_text()
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
ROW = re.compile(r"^\| ([A-Z]\w+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)


def source_of(file: str, test: str) -> str:
    """Return the text of a test function."""
    text = (HERE / file).read_text()
    found = re.search(rf"^def {test}\(.*?(?=^(?:def|class|@)\b|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{file}::{test} is named in the documentation and not there"
    return found[0]


def test_the_table_has_a_row_for_every_operation_of_the_model() -> None:
    rows = [name for name, *_ in ROW.findall(TABLE)]
    assert rows == sorted(service().operation_names)
    assert set(rows) == set(OPERATIONS)


def test_every_test_that_the_table_names_is_there() -> None:
    named = NAMED.findall(TABLE)
    assert len(named) > 40
    for file, test in named:
        assert source_of(file, test)


def test_some_test_of_each_row_calls_the_operation() -> None:
    helpers = {"create_hit": "own.hit(", "get_hit": "counters(", "create_qualification_type": "new_type("}
    helpers |= {"get_account_balance": "balance(", "update_notification_settings": "told("}
    for operation, rules, tests, _ in ROW.findall(TABLE):
        method = xform_name(operation)
        texts = [source_of(*named) for named in NAMED.findall(tests)]
        ways = (f".{method}(", f'"{method}"', helpers.get(method, f".{method}("))
        assert any(way in text for text in texts for way in ways), f"{operation}: no named test calls {method}"
        assert rules.strip()


def test_emulator_routes_and_faults_are_documented() -> None:
    """The emulator's routes and faults are those of the documentation."""
    app = FastAPI()
    add_emulator(app, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
    there = {
        (method, route.path)  # type: ignore[attr-defined]
        for route in app.routes
        for method in getattr(route, "methods", ())
        if str(getattr(route, "path", "")).startswith("/emulator/")
    }
    assert set(re.findall(r"`(GET|POST) (/emulator/[\w-]+)`", DOCUMENT)) == there
    for kind in KINDS:
        assert f"`{kind}`" in DOCUMENT
