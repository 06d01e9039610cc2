"""The tables of study.toml: those of every study, and one for each way of asking."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, create_model

from spa.elicitation import WayOfAsking, ways
from spa.media import medium_keys
from spa.records.study import Study
from spa.records.toml_table import TomlTable, added


def study_file() -> type[BaseModel]:
    """Return the record of a whole study file; in place of ``Study.sections`` it has each section by its key."""
    return _study_file(tuple(ways().values()))


def known_keys() -> dict[str, tuple[str, ...]]:
    """Return the members of each axis that a study file may name, as the validation of its records takes them."""
    rating = tuple(key for key, way in ways().items() if way.settings.rates)
    return {"media": medium_keys(), "ratings": rating}


@lru_cache(maxsize=8)
def _study_file(ways: tuple[WayOfAsking, ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, field in Study.model_fields.items():
        if name == "sections":
            for way in ways:
                fields[way.key] = (way.settings | None, None if way.from_the_first else added(None))
        else:
            fields[name] = (field.annotation, field)
    return create_model("Study", __base__=TomlTable, __doc__=Study.__doc__, **fields)


def study_of(tables: BaseModel) -> Study:
    """Return the study that a study file says."""
    found = {key: getattr(tables, key) for key in ways()}
    sections = {key: section for key, section in found.items() if section is not None}
    rest = {name: getattr(tables, name) for name in Study.model_fields if name != "sections"}
    return Study.model_construct(tables.model_fields_set, **rest, sections=sections)


def read_study(tables: Mapping[str, Any]) -> Study:
    """Return the study that the tables of a study file say; raise pydantic's ValidationError where they are none."""
    return study_of(study_file().model_validate(tables, context=known_keys()))


def written_tables(study: Study) -> BaseModel:
    """Return a study as the tables of its file."""
    rest = {name: getattr(study, name) for name in Study.model_fields if name != "sections"}
    return study_file().model_construct(
        study.model_fields_set, **rest, **{key: study.sections.get(key) for key in ways()}
    )
