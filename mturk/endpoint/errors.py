"""Errors of the protocol: kind, code and one clear line."""

from __future__ import annotations

from collections.abc import Iterable

from spa.errors import PlatformError

PREFIX = "AWS.MechanicalTurk."
NOT_SUPPORTED = "SpaEndpoint.NotSupported"


class MTurkRequestError(PlatformError):
    """An error response: ``kind`` is sent as ``__type``, ``code`` as ``TurkErrorCode``."""

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
    """Return the error of an invalid parameter."""
    return MTurkRequestError("ParameterValidationError", PREFIX + "InvalidParameterValue", f"{parameter}: {message}")


def not_supported(feature: str, instead: str) -> MTurkRequestError:
    """Return the error of an unsupported feature, with an alternative."""
    return MTurkRequestError("RequestError", NOT_SUPPORTED, f"{feature} is not supported by this endpoint; {instead}")


def does_not_exist(kind: str, name: str) -> MTurkRequestError:
    """Return the error of an object that does not exist or belongs to another requester."""
    return refused(f"{kind}DoesNotExist", f"{kind} {name} does not exist.")


def wrong_state(kind: str, name: str, state: str, allowed: Iterable[str], why: str = "") -> MTurkRequestError:
    """Return the error of an operation that the object's state does not allow."""
    hint = f" {why}" if why else ""
    return refused(
        f"Invalid{kind}State",
        f"{kind} {name} is currently in the state '{state}'. "
        f"This operation can be called with a status of: {', '.join(allowed)}.{hint}",
    )
