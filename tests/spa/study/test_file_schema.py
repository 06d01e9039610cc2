"""The JSON Schema of study.toml says what the records say that check a study file."""

from __future__ import annotations

import copy
import json
import random
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from spa.commands.init import EXAMPLES as NAMES
from spa.commands.init import write_example
from spa.study.file_schema import SCHEMA_FILE, SCHEMA_NAME, is_outdated, schema_line
from spa.study.study_file import known_keys, study_file
from tests.spa.rehearsed import spa
from tests.study_schema import written

EXAMPLES = Path(str(files("spa.examples")))
STUDIES = sorted(EXAMPLES.glob("*/*.toml"))
STUDIES = [path for path in STUDIES if path.parent.name in NAMES and path.name != "truth.toml"]
SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
MUTATIONS = 400


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    Draft202012Validator.check_schema(SCHEMA)
    return Draft202012Validator(SCHEMA)


def test_the_schema_is_made_from_the_records() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == written(), "run: make schema"


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_example_fits_and_names_it(schema: Draft202012Validator, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [error.message for error in schema.iter_errors(tomllib.loads(text))] == []
    assert text.splitlines()[0] == schema_line()


def test_init_writes_it_where_the_study_says(tmp_path: Path) -> None:
    write_example(tmp_path, "zh")
    study = tmp_path / "study.toml"
    named = study.read_text(encoding="utf-8").splitlines()[0].removeprefix("#:schema ")
    assert (study.parent / named).read_bytes() == SCHEMA_FILE.read_bytes()
    assert not is_outdated(study)
    (tmp_path / SCHEMA_NAME).write_text("{}", encoding="utf-8")
    assert is_outdated(study)
    (warning,) = json.loads(spa("check", study, "--json").stdout)["warnings"]
    command = re.findall("`spa (.*)`", warning)[0]
    spa(*command.split())
    assert not is_outdated(study)
    assert json.loads(spa("check", study, "--json").stdout)["warnings"] == []
    assert "no such file" in spa("init", tmp_path / "none", "--schema", code=1).stderr


def test_schema_tables_refuse_other_keys() -> None:
    """Every table refuses other keys and says what its own mean."""
    open_tables = {
        re.sub(r"(/anyOf/\d+|/additionalProperties)+$", "", place).rpartition("/")[2]
        for place, table in _tables(SCHEMA)
        if table.get("additionalProperties") is not False
    }
    # tables whose keys are the user's own: words of the form, columns, what a request says, criteria
    assert open_tables == {"texts", "keep", "drop", "headers", "query", "extra_body", "grid", "guidelines"}
    without = [
        f"{name}.{key}"
        for name, table in {**SCHEMA["$defs"], "Study": SCHEMA}.items()
        if name in {"Study", "OutputFiles", "Spa", "Likert", "People", "Rater", "Analysis", "Stopping", "Design"}
        for key, property_ in table["properties"].items()
        if "description" not in property_ and "$ref" not in property_
    ]
    assert without == []


def test_what_the_records_take_the_schema_takes(schema: Draft202012Validator) -> None:
    """And an unknown key is refused by both: over mutations of the studies that there are."""
    rng = random.Random(1)
    studies = [tomllib.loads(path.read_text(encoding="utf-8")) for path in STUDIES]
    taken = unknown = 0
    for _ in range(MUTATIONS):
        study, key_is_unknown = _mutated(rng.choice(studies), rng)
        by_records = _is_taken(study)
        by_schema = schema.is_valid(study)
        assert by_schema or not by_records, study
        assert not (key_is_unknown and by_schema), study
        taken += by_records
        unknown += key_is_unknown
    assert taken > MUTATIONS / 10
    assert unknown > MUTATIONS / 10


def test_schema_takes_a_former_name_as_deprecated(schema: Draft202012Validator) -> None:
    """A key by its former name is taken as it is read, and marked in editors; both names at once are refused."""
    study = tomllib.loads((EXAMPLES / "demo" / "study.toml").read_text(encoding="utf-8"))
    property_ = SCHEMA["$defs"]["Stopping"]["properties"]["epsilon"]
    assert property_["deprecated"] is True
    assert "tolerance" in property_["description"]
    for keys, fits in [({"epsilon": 0.2}, True), ({"epsilon": 7}, False), ({"epsilon": 0.2, "tolerance": 0.2}, False)]:
        former = {**study, "stopping": {**study.get("stopping", {}), **keys}}
        assert schema.is_valid(former) == fits == _is_taken(former), keys


def _tables(schema: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield place, schema
        for key, value in schema.items():
            if key != "default":
                yield from _tables(value, f"{place}/{key}")
    elif isinstance(schema, list):
        for number, each in enumerate(schema):
            yield from _tables(each, f"{place}/{number}")


def _is_taken(study: dict[str, Any]) -> bool:
    try:
        study_file().model_validate_json(json.dumps(study), strict=True, context=known_keys())
    except ValidationError:
        return False
    return True


def _mutated(study: dict[str, Any], rng: random.Random) -> tuple[dict[str, Any], bool]:
    """Remove a key, change its value, or add one that no table knows; and return whether it did the last."""
    study = copy.deepcopy(study)
    open_ones = {"texts", "keep", "drop", "guidelines"}
    closed = [table for name, table in _inside(study) if table and name not in open_ones]
    table = rng.choice(closed)
    key = rng.choice(sorted(table))
    kind = rng.choice(("remove", "value", "unknown"))
    if kind == "remove":
        del table[key]
    elif kind == "value":
        table[key] = rng.choice([0, 1, 7, -1, 0.5, 3.0, True, "", "x", "all", "a b", "https://x.org", [], ["x"], {}])
    else:
        table[f"{key}s_"] = table[key]
    return study, kind == "unknown"


def _inside(table: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, table
    for key, value in table.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from _inside(each, key)
