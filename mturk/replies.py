"""Calls to an endpoint and their outcomes: done, refused, retry later or unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProxyConnectionError,
)

from spa.errors import PlatformError

# done: it took effect. refused: it did not, and would not if repeated. later: it did not, and may be repeated.
# unknown: it may have taken effect.
State = Literal["done", "refused", "later", "unknown"]
THROTTLED = ("ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown")
TOO_FAST = re.compile(r"throttl|rate (limit )?exceeded|too many requests", re.IGNORECASE)  # within a RequestError
PAGE = 100  # entries of a list at once
LONGEST_MESSAGE = 300  # characters of an endpoint's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class MTurkReply:
    """The outcome of one call."""

    state: State
    content: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""  # the endpoint's, such as "AWS.MechanicalTurk.HITAlreadyExists"
    message: str = ""  # in words, one line


def call(method: Callable[..., Mapping[str, Any]], parameters: Mapping[str, Any]) -> MTurkReply:
    """Make one call and return its outcome.

    Raises
    ------
    PlatformError
        If it cannot be made: there are no keys, or the service model refuses the parameters.
    """
    try:
        answer = dict(method(**parameters))
    except ClientError as error:
        return _reply_to(error)
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise PlatformError(
            f"no keys for the endpoint: {error}; put those that it issued into AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY"
        ) from error
    except ParamValidationError as error:
        raise PlatformError(f"the protocol does not allow this call: {error}") from error
    except (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError) as error:
        return MTurkReply(state="later", message=_line(error))
    except BotoCoreError as error:
        return MTurkReply(state="unknown", message=_line(error))
    answer.pop("ResponseMetadata", None)
    return MTurkReply(state="done", content=answer)


def fetch(method: Callable[..., Mapping[str, Any]], **parameters: Any) -> Mapping[str, Any]:
    """Make a read or idempotent call and return its reply, or raise PlatformError if it is not done."""
    reply = call(method, parameters)
    if reply.state == "done":
        return reply.content
    raise failed(method.__name__, reply)


def pages(client: Any, operation: str, **parameters: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the pages of a list, with up to a hundred entries each; raise PlatformError if one cannot be fetched."""
    method = getattr(client, operation)
    token: str | None = None
    while True:
        more = {} if token is None else {"NextToken": token}
        page = fetch(method, MaxResults=PAGE, **parameters, **more)
        yield page
        following = page.get("NextToken")
        if following is None or following == token:
            return
        token = following


def entries(client: Any, operation: str, name: str, **parameters: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of a list, which are under ``name`` in its pages."""
    return (entry for page in pages(client, operation, **parameters) for entry in page[name])


def failed(operation: str, reply: MTurkReply) -> PlatformError:
    """Return the error of a call that did not take effect, or may not have."""
    what = {
        "refused": "the endpoint refused",
        "later": "the endpoint did not take it now",
        "unknown": "nobody knows whether it took effect",
    }[reply.state]
    code = f" ({reply.code})" if reply.code else ""
    remedy = "put right what it names" if reply.state == "refused" else "run the same command again; nothing is doubled"
    return PlatformError(f"{operation}: {what}{code}: {reply.message}; {remedy}")


def _reply_to(error: ClientError) -> MTurkReply:
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    fault: Mapping[str, Any] = error.response.get("Error", {})
    code = str(error.response.get("TurkErrorCode") or fault.get("Code") or status)
    message = " ".join(str(fault.get("Message") or error).split())[:LONGEST_MESSAGE]
    if str(fault.get("Code")) in THROTTLED or status == 429 or TOO_FAST.search(f"{code} {message}"):
        return MTurkReply(state="later", code=code, message=message)
    if 400 <= status < 500:
        return MTurkReply(state="refused", code=code, message=message)
    return MTurkReply(state="unknown", code=code, message=message or f"status {status}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:LONGEST_MESSAGE]
