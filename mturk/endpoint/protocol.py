"""The wire format, JSON 1.1, validated by the service model that botocore ships.

botocore's validator checks types and required members; patterns, lengths, ranges and enumerations are in the same
model and are checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, cast

from mturk.endpoint.errors import PREFIX, MTurkRequestError, invalid
from spa.errors import PlatformError, how_to_install

if TYPE_CHECKING:
    from botocore.model import ServiceModel, Shape

CONTENT_TYPE = "application/x-amz-json-1.1"
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no XML 1.0 document holds these
MOST_BYTES = 1_000_000  # of a request; 65,535 bytes of a question may grow sixfold when written as JSON
LONG = 2**63
FAR = 253_402_300_800  # seconds since 1970: the year 10000
INTEGER = 2**31
LENGTHS: Mapping[str, tuple[int, int]] = {  # characters
    "Title": (1, 128),
    "Description": (1, 2000),
    "Keywords": (0, 1000),
    "RequesterAnnotation": (0, 255),
    "Subject": (1, 200),
    "MessageText": (1, 4096),
    "Name": (1, 200),
    "Reason": (1, 1024),
    "RequesterFeedback": (0, 1024),
}
RANGES: Mapping[str, tuple[int, int]] = {
    "AssignmentDurationInSeconds": (30, 31_536_000),
    "LifetimeInSeconds": (30, 31_536_000),
    "AutoApprovalDelayInSeconds": (0, 2_592_000),
    "MaxAssignments": (1, 1_000_000_000),
    "NumberOfAdditionalAssignments": (1, 1_000_000_000),
    "RetryDelayInSeconds": (0, 31_536_000),
}
AUTO_APPROVAL_DELAY = 2_592_000  # seconds, where it is not given


@cache
def service() -> ServiceModel:
    """Return the service model; raise PlatformError if botocore is not installed or no longer includes it."""
    try:
        import botocore.session
        from botocore.exceptions import UnknownServiceError
    except ModuleNotFoundError as missing:
        raise PlatformError(f"the MTurk protocol needs boto3: {how_to_install('mturk')}") from missing
    try:
        return botocore.session.Session().get_service_model("mturk")
    except UnknownServiceError as unknown:
        raise PlatformError(
            f"botocore {botocore.__version__} no longer carries the model of MTurk; install an older one, such as 1.44"
        ) from unknown


def operation_named(target: str) -> str:
    """Return the operation that a request's ``X-Amz-Target`` names."""
    prefix, _, name = target.partition(".")
    if prefix != service().metadata["targetPrefix"] or name not in service().operation_names:
        raise MTurkRequestError("UnknownOperationException", None, f"X-Amz-Target {target[:100]!r} names no operation")
    return name


def read_request(operation: str, body: bytes) -> dict[str, Any]:
    """Parse and validate the parameters of a request."""
    try:
        given = json.loads(body or b"{}", parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise MTurkRequestError("SerializationException", None, f"the body is no JSON ({error})") from error
    if not isinstance(given, dict):
        why = f"the body is no JSON object, but a {type(given).__name__}"
        raise MTurkRequestError("SerializationException", None, why)
    given = {name: value for name, value in given.items() if value is not None}
    shape = service().operation_model(operation).input_shape
    if shape is not None:
        check(given, shape)
    return given


def check(parameters: Mapping[str, Any], shape: Shape) -> None:
    """Refuse what is missing, unknown, or outside its type, pattern, length, range or enumeration in the model."""
    from botocore.validate import ParamValidator

    _refuse([problem for one in _values(parameters, shape, "") for problem in _type_problems(*one)])
    report = ParamValidator().validate(parameters, shape)
    if report.has_errors():
        text = " ".join(report.generate_report().split())
        code = "AWS.MissingParameters" if "Missing required parameter" in text else PREFIX + "InvalidParameterValue"
        raise MTurkRequestError("ParameterValidationError", code, text)
    _refuse([problem for one in _values(parameters, shape, "") for problem in _problems(*one)])


def _refuse(problems: list[str]) -> None:
    if problems:
        raise MTurkRequestError("ParameterValidationError", PREFIX + "InvalidParameterValue", "; ".join(problems[:5]))


def write_answer(answer: Mapping[str, Any]) -> bytes:
    """Serialize a response, without members that are None."""
    return json.dumps(_without_none(answer), separators=(",", ":")).encode()


def write_refusal(refusal: MTurkRequestError) -> bytes:
    """Serialize an error."""
    answer = {"__type": refusal.kind, "Message": refusal.message, "message": refusal.message}
    return write_answer(answer | {"TurkErrorCode": refusal.code})


def _values(value: Any, shape: Shape, where: str) -> Iterator[tuple[Any, Shape, str]]:
    """Yield each scalar value with its shape and its path."""
    if shape.type_name == "structure" and isinstance(value, Mapping):
        members = cast("Any", shape).members
        for name in [name for name in value if name in members]:
            yield from _values(value[name], members[name], f"{where}.{name}" if where else name)
    elif shape.type_name == "list" and isinstance(value, list):
        for number, part in enumerate(value):
            yield from _values(part, cast("Any", shape).member, f"{where}[{number}]")
    else:
        yield value, shape, where


def _type_problems(value: Any, shape: Shape, where: str) -> Iterator[str]:
    """Yield type errors that botocore's validator misses (booleans as numbers) or fails on (dates far away)."""
    if shape.type_name in ("integer", "long") and isinstance(value, bool):
        yield f"{where}: expected a number, got {str(value).lower()}"
    elif shape.type_name == "timestamp" and not (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < FAR
    ):
        yield f"{where}: expected seconds since 1970 as a number, got {str(value)[:40]!r}"


def _problems(value: Any, shape: Shape, where: str) -> Iterator[str]:
    if shape.type_name == "string":
        yield from _string_problems(value, shape, where)
    elif shape.type_name in ("integer", "long"):
        bound = INTEGER if shape.type_name == "integer" else LONG
        low, high = shape.metadata.get("min", -bound), shape.metadata.get("max", bound - 1)
        if not low <= value <= high:
            yield f"{where}: expected a number from {low} to {high}, got {value}"


def _string_problems(value: str, shape: Shape, where: str) -> Iterator[str]:
    rules = shape.metadata
    shown = repr(value[:60])
    least, most = rules.get("min", 0), rules.get("max", LONG)
    if not least <= len(value) <= most:
        yield f"{where}: expected {least} to {most} characters, got {len(value)}"
    elif "pattern" in rules and re.fullmatch(rules["pattern"].removeprefix("^").removesuffix("$"), value) is None:
        yield f"{where}: expected the pattern {rules['pattern']}, got {shown}"
    elif "enum" in rules and value not in rules["enum"]:
        yield f"{where}: expected one of {', '.join(rules['enum'])}, got {shown}"
    elif found := UNPRINTABLE.search(value):
        yield f"{where}: holds the character U+{ord(found[0]):04X}, which XML does not allow"


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_none(part) for name, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_without_none(part) for part in value]
    return round(value, 3) if isinstance(value, float) else value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def check_limits(parameters: Mapping[str, Any]) -> None:
    """Refuse the first parameter whose length or value is outside the documented limits."""
    for name, (least, most) in LENGTHS.items():
        if name in parameters and not least <= len(parameters[name]) <= most:
            raise invalid(name, f"expected {least} to {most} characters, got {len(parameters[name])}")
    for name, (least, most) in RANGES.items():
        if name in parameters and not least <= parameters[name] <= most:
            raise invalid(name, f"expected {least} to {most}, got {parameters[name]}")
