"""What the endpoint answers when it does not do what was asked: kind, code and one clear line."""

from __future__ import annotations

from collections.abc import Iterable

from spa.errors import PlatformError

PREFIX = "AWS.MechanicalTurk."
NOT_SUPPORTED = "SpaEndpoint.NotSupported"


class MTurkRequestError(PlatformError):
    """A request that is answered with an error: ``kind`` travels as ``__type``, ``code`` as ``TurkErrorCode``."""

    def __init__(self, kind: str, code: str | None, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.message = self.problems[0]
        self.status = status


def refused(code: str, message: str) -> MTurkRequestError:
    """Return a ``RequestError`` with one of the service's own codes."""
    return MTurkRequestError("RequestError", PREFIX + code, message)


def invalid(parameter: str, message: str) -> MTurkRequestError:
    """Return the error of a parameter whose value cannot be used."""
    return MTurkRequestError("ParameterValidationError", PREFIX + "InvalidParameterValue", f"{parameter}: {message}")


def not_supported(what: str, instead: str) -> MTurkRequestError:
    """Return the error of something that this endpoint leaves out, naming what to do instead."""
    return MTurkRequestError("RequestError", NOT_SUPPORTED, f"{what} is not supported by this endpoint; {instead}")


def does_not_exist(kind: str, name: str) -> MTurkRequestError:
    """Return the error of a thing that is not there, or is another requester's, which is told alike."""
    return refused(f"{kind}DoesNotExist", f"{kind} {name} does not exist.")


def wrong_state(kind: str, name: str, state: str, allowed: Iterable[str], why: str = "") -> MTurkRequestError:
    """Return the error of an operation that the thing's state does not allow."""
    hint = f" {why}" if why else ""
    return refused(
        f"Invalid{kind}State",
        f"{kind} {name} is currently in the state '{state}'. "
        f"This operation can be called with a status of: {', '.join(allowed)}.{hint}",
    )
