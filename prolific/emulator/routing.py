"""Routes, their requests and responses, and paging."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ValidationError

from prolific.emulator.errors import EmulatorRequestError, invalid
from prolific.emulator.request_transaction import RequestTransaction

DEFAULT_PAGE = 20
M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")


def read_body(model: type[M], body: Any) -> M:
    """Validate a body by a model, or refuse it with messages for each field."""
    try:
        return model.model_validate(json_object(body))
    except ValidationError as error:
        fields: dict[str, list[str]] = {}
        for one in error.errors():
            place = ".".join(map(str, one["loc"])) or "non_field_errors"
            fields.setdefault(place, []).append(one["msg"].removeprefix("Value error, "))
        raise EmulatorRequestError(400, fields) from error


def json_object(body: Any) -> dict[str, Any]:
    """Return a body that is a JSON object, or refuse the request."""
    if not isinstance(body, dict):
        raise EmulatorRequestError(400, "The body must be a JSON object")
    return body


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """A parsed request."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any  # of JSON; None without a body
    address: str  # of this request, without its query
    base: str  # of the server
    cookies: Mapping[str, str]

    def read(self, model: type[M]) -> M:
        """Validate the body by a model, or refuse the request."""
        return read_body(model, self.body)

    def integer(self, name: str, default: int, *, least: int, most: int) -> int:
        """Return an integer of the query, or refuse the request."""
        given = self.query.get(name)
        if given is None:
            return default
        try:
            value = int(given)
        except ValueError:
            raise invalid(**{name: "A valid integer is required."}) from None
        if not least <= value:
            raise invalid(**{name: f"Ensure this value is greater than or equal to {least}."})
        return min(value, most)

    def boolean(self, name: str) -> bool | None:
        """Return a boolean of the query; None if it is not given."""
        given = self.query.get(name)
        if given is None:
            return None
        if given.lower() not in ("0", "1", "true", "false", "yes", "no", "t", "f"):
            raise invalid(**{name: "Must be a valid boolean."})
        return given.lower() in ("1", "true", "yes", "t")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteResponse:
    """A response; ``text`` replaces the JSON body for CSV and HTML."""

    status: int = 200
    body: Any = None
    text: str | None = None
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[RequestTransaction, RouteRequest], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """An operation, by its id in the published description.

    The handler returns the body of a response with the route's status, or a whole ``RouteResponse``.
    """

    operation: str
    method: str
    path: str
    handler: Handler
    status: int = 200

    def answer(self, tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
        """Return the response to a request."""
        result = self.handler(tx, call)
        return result if isinstance(result, RouteResponse) else RouteResponse(status=self.status, body=result)


def paginate(
    tx: RequestTransaction, call: RouteRequest, rows: Sequence[R], show: Callable[[RequestTransaction, R], Any]
) -> Any:
    """Return the body of one page of a list, with links to its neighbours.

    The query has ``page`` and ``page_size``, or ``limit`` and ``offset``; a page past the end is not found.
    """
    largest = tx.behaviour.largest_page
    by_offset = {"limit", "offset"} & set(call.query) and tx.behaviour.both_ways_of_paging
    if by_offset:
        size = call.integer("limit", DEFAULT_PAGE, least=1, most=largest)
        first = call.integer("offset", 0, least=0, most=len(rows) + 1)
    else:
        size = call.integer("page_size", DEFAULT_PAGE, least=1, most=largest)
        first = (call.integer("page", 1, least=1, most=len(rows) + 2) - 1) * size
    if first and first >= len(rows) and tx.behaviour.past_the_end_is_404:
        raise EmulatorRequestError(404, "Invalid page.")

    paging = ("limit", "offset", "page", "page_size")
    others = {name: value for name, value in call.query.items() if name not in paging}

    def link(start: int | None) -> str | None:
        if start is None:
            return None
        place = {"limit": size, "offset": start} if by_offset else {"page": start // size + 1, "page_size": size}
        return f"{call.address}?{urlencode({**others, **place})}"

    places = {
        "self": first,
        "next": first + size if first + size < len(rows) else None,
        "previous": max(first - size, 0) if first else None,
        "last": max(len(rows) - size, 0) if by_offset else max(len(rows) - 1, 0) // size * size,
    }
    links = {name: {"href": link(start), "title": name.capitalize()} for name, start in places.items()}
    results = [show(tx, row) for row in rows[first : first + size]]
    return {"results": results, "_links": links, "meta": {"count": len(rows)}}
