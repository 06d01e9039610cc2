"""The document on the emulated platform says what the emulated platform has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from prolific.emulator import control_routes
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.faults import Kind
from prolific.emulator.operations import API_ROUTES, OPERATIONS
from prolific.rehearse.command import rehearse
from prolific.rehearse.participants import SCENARIOS

TESTS = Path(__file__).resolve().parents[1]
TEXT = Path(control_routes.__file__).with_name("README.md").read_text()
OPERATIONS_TABLE = Path(__file__).with_name("operations.md").read_text()
FAULTS = (TESTS / "faults.md").read_text()


def test_the_table_of_operations_is_that_of_the_routes() -> None:
    """Every operation has a row with its method and address, and there is no other row."""
    table = OPERATIONS_TABLE.partition("<!-- operations: begin -->")[2].partition("<!-- operations: end -->")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+ [^`]+)` \| [^|]+ \| [^|]*\|$", table, flags=re.M))
    assert list(rows) == [one for one in OPERATIONS]
    addresses = {(route.operation, f"{route.method} {route.path.removeprefix('/api/v1/')}") for route in API_ROUTES}
    assert set(rows.items()) <= addresses
    assert len(rows) >= 50


def test_every_switch_and_every_fault_is_explained() -> None:
    """Names of switches and faults stand in their tables."""
    shown = set(re.findall(r"`([\w]+)`", TEXT))
    assert set(Behaviour.model_fields) <= shown
    assert set(get_args(Kind)) <= shown


def test_every_fault_names_a_test_that_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", FAULTS)
    assert len(named) >= 20
    for file, test in named:
        assert f"def {test}(" in (TESTS / file).read_text(), f"{file}::{test}"


def test_the_other_side_can_never_be_taken_for_the_api() -> None:
    """Only the page that takes codes is outside ``/emulator/``; nothing of the other side is under ``/api/``."""
    paths = {route.path for route in control_routes.ROUTES}
    assert {path for path in paths if not path.startswith("/emulator/")} == {"/submissions/complete"}
    assert all(route.path.startswith("/api/v1/") for route in API_ROUTES)


def test_the_command_names_every_fate() -> None:
    """What people may do can be chosen, and the help says so."""
    (option,) = [one for one in rehearse.params if one.name == "shares"]
    told = str(getattr(option, "help", ""))
    assert [one for one in SCENARIOS if one != "completes" and one.replace(" ", "-") not in told] == []
