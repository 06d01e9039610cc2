"""Validating requests and responses against the published OpenAPI description.

The description contradicts itself in a few places, and the platform's own programs contradict it in others; these
departures are listed here with their reasons.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spa.errors import PlatformError, how_to_install, unreadable

BASE = "urn:published-description"
METHODS = frozenset({"get", "post", "put", "patch", "delete"})
JSON = "application/json"
MAX_ERRORS = 5
JOINED = "two descriptions that each forbid the other's fields are joined, so that no answer fits both"
LISTED = "described as a list of subscriptions; programs read the id of the one that was made"
FORBIDDEN = "the fields of a new collection are joined with a description that forbids project_id"
EMPTY = "described as 200 without content; an answer without content has the status 204"
LATER = {  # values that the description lacks here and has elsewhere
    "SubmissionShort": ("PARTIALLY APPROVED", "PROCESSING"),
    "Submission": ("PARTIALLY APPROVED", "PROCESSING"),
    "SubmissionDetail": ("PROCESSING",),
    "ReturnRequestedResponse": ("PARTIALLY APPROVED",),
    "StudyShort": ("QUOTA",),
}


@dataclass(frozen=True, slots=True)
class Departure:
    """A request or response that is not validated by the description, and why."""

    operation: str
    part: str  # "request" or the status of an answer
    why: str
    instead: str | None = None  # name of the schema that holds instead; None: nothing is checked


DEPARTURES = (
    Departure("CreateSubscription", "201", LISTED, instead="SubscriptionDetail"),
    Departure("DeleteStudy", "204", EMPTY),
    Departure("ListMutuallyExclusiveStudyCollections", "200", JOINED),
    Departure("CreateMutuallyExclusiveStudyCollection", "201", JOINED),
    Departure("CreateMutuallyExclusiveStudyCollection", "request", FORBIDDEN),
    Departure("GetMutuallyExclusiveStudyCollection", "200", JOINED),
    Departure("UpdateMutuallyExclusiveStudyCollection", "200", JOINED),
    Departure("TransitionMutuallyExclusiveStudyCollection", "200", JOINED),
)


class Contract:
    """A validator for the published description (OpenAPI, as YAML or JSON).

    Raise PlatformError if it cannot be read, or the required libraries are not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            from openapi_schema_validator import OAS30Validator, oas30_format_checker
            from referencing import Registry
            from referencing.jsonschema import DRAFT4
        except ModuleNotFoundError as missing:
            raise PlatformError(f"--openapi: {missing.name} is not installed; {how_to_install('openapi')}") from missing
        document = _completed(read_document(path))
        registry: Registry[Any] = Registry().with_resource(BASE, DRAFT4.create_resource(document))
        self.operations = _operations(document)
        self._departures = {(one.operation, one.part): one for one in DEPARTURES}

        def validator(pointer: str) -> Any:
            return OAS30Validator({"$ref": f"{BASE}#{pointer}"}, registry=registry, format_checker=oas30_format_checker)

        self._validator = validator

    def request_problems(self, operation: str, query: Mapping[str, str], body: Any) -> list[str]:
        """Return how a request departs from the description."""
        place, described = self.operations[operation]
        problems = []
        for number, parameter in enumerate(described.get("parameters", [])):
            if parameter.get("in") != "query" or "oneOf" in parameter["schema"]:
                continue  # a choice between two parameters is described as one that is called "filter"
            given = query.get(parameter["name"])
            if given is None:
                problems += [f"{parameter['name']}: required"] if parameter.get("required") else []
                continue
            value = _as_described(given, parameter["schema"])
            errors = self._schema_errors(f"{place}/parameters/{number}/schema", value)
            problems += [f"{parameter['name']}: {one}" for one in errors]
        departure = self._departures.get((operation, "request"))
        if departure is None and described.get("requestBody") is not None and body is not None:
            pointer = f"{place}/requestBody/content/{_escaped(JSON)}/schema"
            problems += self._schema_errors(pointer, _with_one_address(body))
        return problems

    def answer_problems(self, operation: str, status: int, body: Any, media_type: str = JSON) -> list[str]:
        """Return how a response departs from the description."""
        place, described = self.operations[operation]
        departure = self._departures.get((operation, str(status)))
        if departure is not None:
            instead = departure.instead
            return [] if instead is None else self._schema_errors(f"/components/schemas/{instead}", body)
        answers = described["responses"]
        key = str(status) if str(status) in answers else f"{status // 100}XX"
        if key not in answers:
            return [] if status >= 500 else [f"status {status} is not described"]
        kinds = answers[key].get("content", {})
        if media_type not in kinds:
            return [f"{media_type} is not described"] if kinds or body is not None else []
        if media_type != JSON:
            return []
        pointer = f"{place}/responses/{key}/content/{_escaped(JSON)}/schema"
        return self._schema_errors(pointer, _with_one_address(body))

    def _schema_errors(self, pointer: str, value: Any) -> list[str]:
        found = sorted(self._validator(pointer).iter_errors(value), key=lambda error: list(map(str, error.path)))
        return [f"{error.json_path}: {error.message[:200]}" for error in found[:MAX_ERRORS]]


def read_document(path: Path) -> dict[str, Any]:
    """Read an OpenAPI document; raise PlatformError if it is not one."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise PlatformError(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise PlatformError(f"{path}: expected the published description as a file, got {error}") from error
    try:
        document = json.loads(text) if path.suffix == ".json" else _read_yaml(text)
    except ValueError as error:
        raise PlatformError(f"{path}: expected YAML or JSON, got {str(error).splitlines()[0]}") from error
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3.0"):
        raise PlatformError(f"{path}: expected an OpenAPI document of version 3.0")
    if not isinstance(document.get("paths"), dict) or not isinstance(document.get("components"), dict):
        raise PlatformError(f"{path}: expected the platform's published description, found no paths or no components")
    return document


def _read_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _operations(document: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return operation id -> pointer into the document, and the operation there."""
    found = {}
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            if method in METHODS and "operationId" in described:
                found[described["operationId"]] = (f"/paths/{_escaped(path)}/{method}", described)
    return found


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Add the values that the description lacks.

    Also allow integers as ends of a range: as "oneOf" integer, number and string, an integer would match two.
    """
    schemas = document["components"].get("schemas", {})
    for end in ("min", "max"):
        described = schemas.get("RangeFilterListAttributes", {}).get("properties", {}).get(end, {})
        if "oneOf" in described:
            described["anyOf"] = described.pop("oneOf")
    for name, values in LATER.items():
        field = "study_type" if name == "StudyShort" else "status"
        if name in schemas:
            listed = schemas[name]["properties"][field]["enum"]
            listed += [value for value in values if value not in listed]
    return document


def _with_one_address(body: Any) -> Any:
    """Add an empty single URL to a study with several: it is described as required, but missing in the examples."""
    if isinstance(body, dict) and body.get("access_details"):
        return {"external_study_url": "", **body}
    return body


def _as_described(given: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") in ("integer", "number"):
        try:
            return int(given)
        except ValueError:
            return given
    if schema.get("type") == "boolean":
        return {"true": True, "false": False}.get(given.lower(), given)
    return given


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
