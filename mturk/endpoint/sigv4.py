"""Authentication by AWS Signature Version 4: the request is signed again by botocore, and the signatures compared.

Only the headers that the client names as signed take part; ``host`` and every ``x-amz-`` header must be among them.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from mturk.endpoint.errors import MTurkRequestError

if TYPE_CHECKING:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.compat import HTTPHeaders

ALGORITHM = "AWS4-HMAC-SHA256"
PART = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
SKEW = 15 * 60.0  # seconds that a request's date may differ from this machine's
SERVICE = "mturk-requester"
STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A request as it was received."""

    method: str
    path: str  # with the query string, as it was sent
    headers: Mapping[str, str]  # names in lower case
    body: bytes


def verify(request: SignedRequest, *, secret_of: Callable[[str], str | None], now: float) -> str:
    """Return the access key id that signed a request; refuse a missing or invalid signature.

    ``secret_of`` returns the secret of an access key id, or None for a malformed one; ``now`` is this machine's time in
    seconds since 1970.
    """
    header = request.headers.get("authorization", "")
    if not header:
        raise _not_authorized("MissingAuthenticationTokenException", "the request is not signed")
    parts = dict(PART.findall(header.removeprefix(ALGORITHM)))
    scope = parts.get("Credential", "").split("/")
    if not header.startswith(ALGORITHM + " ") or len(parts) != 3 or len(scope) != 5:
        raise _not_authorized("IncompleteSignatureException", f"expected an {ALGORITHM} signature")
    key_id, day, region, service, ending = scope
    stamp = request.headers.get("x-amz-date", "")
    _check_scope(service, ending, day, stamp)
    _check_date(stamp, now)
    signed = parts["SignedHeaders"].split(";")
    _check_headers(request, signed)
    secret = secret_of(key_id)
    expected = _signature(request, signed, key_id, secret or "", region, service, stamp)
    if not hmac.compare_digest(expected.encode(), parts["Signature"].encode()) or secret is None:
        if secret is None:
            raise unknown_key()
        raise MTurkRequestError(
            "InvalidSignatureException",
            "AWS.BadCredentialSupplied",
            "the signature does not match; check the secret access key, and that a proxy leaves Host and body alone",
        )
    return str(key_id)


def unknown_key() -> MTurkRequestError:
    """Return the error of an access key that was not issued here, or was revoked."""
    return MTurkRequestError(
        "UnrecognizedClientException",
        "AWS.BadCredentialSupplied",
        "the access key is not known here; the host issues one with `spa mturk keys add`",
    )


def _not_authorized(kind: str, message: str) -> MTurkRequestError:
    return MTurkRequestError(kind, "AWS.NotAuthorized", message)


def _check_scope(service: str, ending: str, day: str, stamp: str) -> None:
    if service != SERVICE or ending != "aws4_request" or day != stamp[:8]:
        why = f"expected a signature for the service {SERVICE} and the day of X-Amz-Date"
        raise _not_authorized("InvalidSignatureException", why)


def _check_date(stamp: str, now: float) -> None:
    try:
        sent = datetime.strptime(stamp, STAMP).replace(tzinfo=UTC).timestamp()
    except ValueError:
        why = "expected an X-Amz-Date such as 20170117T000000Z"
        raise _not_authorized("IncompleteSignatureException", why) from None
    if abs(sent - now) > SKEW:
        here = datetime.fromtimestamp(now, UTC).strftime(STAMP)
        why = f"the signature is of {stamp}, and may differ by 15 minutes from the clock here, which says {here}"
        raise _not_authorized("InvalidSignatureException", why)


def _check_headers(request: SignedRequest, signed: list[str]) -> None:
    needed = {"host", *(name for name in request.headers if name.startswith("x-amz-"))}
    missing = sorted(needed - set(signed)) + sorted(set(signed) - set(request.headers))
    if missing:
        raise _not_authorized("InvalidSignatureException", f"these headers must be there and signed: {missing}")


def _signature(
    request: SignedRequest, signed: list[str], key_id: str, secret: str, region: str, service: str, stamp: str
) -> str:
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    again = AWSRequest(
        method=request.method,
        url=f"http://{request.headers['host']}{request.path}",
        headers={name: request.headers[name] for name in signed},
        data=request.body,
    )
    again.context["timestamp"] = stamp
    signer = _signer_class()(Credentials(key_id, secret), service, region)
    return str(signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again))


@cache
def _signer_class() -> type[SigV4Auth]:
    from botocore.auth import SigV4Auth
    from botocore.compat import HTTPHeaders

    class RecomputedSignature(SigV4Auth):  # type: ignore[misc]
        """Signs all headers that it is given, and always the received body."""

        def headers_to_sign(self, request: AWSRequest) -> HTTPHeaders:
            headers = HTTPHeaders()
            for name, value in request.headers.items():
                headers[name.lower()] = value
            return headers

        def canonical_request(self, request: Any) -> str:
            text = str(super().canonical_request(request))
            head, _, _ = text.rpartition("\n")
            return f"{head}\n{self.payload(request)}"

    return RecomputedSignature
