"""What a vendor brings: a way to reach models, about which nobody else knows anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spa.raters.endpoints.endpoint import LLMEndpoint, ReplyFormat
from spa.raters.endpoints.http_api import HTTPApi
from spa.records.problems import StudyProblem
from spa.records.raters import Rater, RaterProtocol

if TYPE_CHECKING:
    from spa.journal import Journal
    from spa.raters.vendors.batches import Batches


class OpenEndpoint(Protocol):
    """Open the connection to a rater's model; the libraries it takes are loaded now, and a missing one is named."""

    def __call__(self, rater: Rater, *, timeout: float, folder: Path, keep: bool) -> LLMEndpoint:
        """Return the connection.

        ``timeout`` is in seconds; relative paths of models begin at ``folder``; a model that is to ``keep`` stays
        loaded when the connection is closed.
        """


def over_http(api: HTTPApi) -> OpenEndpoint:
    """Return what opens a connection by an API that OpenAI's client library speaks."""

    def open_(rater: Rater, *, timeout: float, folder: Path, keep: bool) -> LLMEndpoint:
        from spa.raters.endpoints.http_endpoint import HTTPEndpoint

        return HTTPEndpoint(rater, api, timeout=timeout)

    return open_


def no_problems(place: str, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    """Yield nothing: what the keys alone do not refuse is taken."""
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A way to reach models; the fields with a default are those that few vendors need."""

    key: str  # its ``provider`` in the study file
    about: str  # what it is, as the documentation says it
    open: OpenEndpoint
    replies: ReplyFormat  # with the tokens that are counted, and what is a refusal
    model: str | None = None  # the only one there is: a rater that names it, and no other provider, is its
    refused_keys: Mapping[str, str] = field(default_factory=dict)  # key of a protocol -> what is expected in its place
    problems: Callable[[str, RaterProtocol], Iterator[StudyProblem]] = no_problems  # of a protocol, at a place
    own_keys: tuple[str, ...] = ()  # of a request's body, which keys of the rater decide about
    limit_keys: tuple[str, ...] = ()  # under which the most tokens of an answer stand in recorded requests
    on_this_machine: bool = False  # computed here: one request at a time, every probability known, no prompt cut
    probed: bool = True  # whether a few tiny requests find out what the endpoint does with what it is sent
    several: bool = False  # whether one response can hold answers for several visits
    notes: tuple[str, ...] = ()  # said after every run
    batches: Callable[[Any, Journal], Batches] | None = None  # of ``batch = true``; takes the connection
    batch_bytes: int = 40_000_000  # of one batch; most vendors take 200 MB
    batch_key: str | None = None  # another ``provider`` that means its batches
    batch_about: str = ""
