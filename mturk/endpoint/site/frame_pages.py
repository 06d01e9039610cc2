"""What a frame shows: where it is loaded from, what its sandbox lets it do, and the page itself."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import urlencode, urlsplit, urlunsplit

from mturk.endpoint.site.settings import SiteSettings, host_of, on_this_machine, origin
from mturk.questions import PREVIEW_ID, SUBMIT_PATH, ExternalQuestion, HTMLQuestion, Question
from spa.errors import PlatformError

Kind = Literal["work", "preview"]
LIFE = 900.0  # seconds; the site makes a new one whenever it shows the page around the frame
SHAPE = re.compile(r"(work|preview)-([A-Z0-9]{1,64})-([A-Z0-9]{1,64})-([0-9]{1,12})-([A-Za-z0-9_-]{43})", re.ASCII)
SIGNED = "/s/"  # then the signature: where pages are told to submit
HELPER = "externalHIT_v1.js"
OLD_SUBMIT = re.compile(r"(?:https?:)?//(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit")
OWN_SUBMIT = re.compile(r"""(\baction\s*=\s*["']?)/mturk/externalSubmit(?=["'\s>])""")  # of the frame's own origin
OLD_HELPER = re.compile(r"(?:https?:)?//s3\.amazonaws\.com/mturk-public/externalHIT_v1\.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What a frame may show, to whom and until when."""

    kind: Kind  # an assignment that the worker holds, or a HIT to preview
    name: str  # id of the assignment or of the HIT
    worker_id: str  # for whom the address was made
    until: int  # seconds since 1970


def sign(secret: bytes, capability: Capability) -> str:
    """Return a capability as a signed part of a URL."""
    body = f"{capability.kind}-{capability.name}-{capability.worker_id}-{capability.until}"
    return f"{body}-{_mac(secret, body)}"


def sign_submission(secret: bytes, *, assignment_id: str, worker_id: str) -> str:
    """Return the signature of the URL to which this worker's assignment is submitted."""
    return _mac(secret, f"submit-{assignment_id}-{worker_id}")


def may_submit(secret: bytes, signature: str, *, assignment_id: str, worker_id: str) -> bool:
    """Say whether a signature is that of the URL to submit this worker's assignment.

    >>> signature = sign_submission(b"secret", assignment_id="3A", worker_id="A1")
    >>> [may_submit(b"secret", signature, assignment_id=name, worker_id="A1") for name in ("3A", "3B")]
    [True, False]
    """
    expected = sign_submission(secret, assignment_id=assignment_id, worker_id=worker_id)
    return hmac.compare_digest(expected.encode(), signature.encode())


def read_capability(secret: bytes, token: str, *, now: float) -> Capability | None:
    """Return the capability signed into a URL; None if it is forged, changed or expired.

    >>> made = Capability(kind="work", name="3A", worker_id="A1", until=100)
    >>> token = sign(b"secret", made)
    >>> read_capability(b"secret", token, now=99) == made
    True
    >>> read_capability(b"secret", token, now=100), read_capability(b"other", token, now=99)
    (None, None)
    """
    found = SHAPE.fullmatch(token)
    if found is None:
        return None
    body = token[: -len(found[5]) - 1]
    if not hmac.compare_digest(_mac(secret, body), found[5]) or now >= int(found[4]):
        return None
    return Capability(kind=cast("Kind", found[1]), name=found[2], worker_id=found[3], until=int(found[4]))


def _mac(secret: bytes, body: str) -> str:
    digest = hmac.new(secret, b"frame address " + body.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """An ``<iframe>`` of the site."""

    address: str  # its src
    sandbox: str
    height: int  # pixels; 0 fills the window
    sources: str  # what it may navigate to, for frame-src


class FrameRefused(PlatformError):
    """A page that the site does not put into a frame."""


def frame_for(
    question: Question,
    settings: SiteSettings,
    *,
    secret: bytes,
    kind: Kind,
    hit_id: str,
    worker_id: str,
    assignment_id: str | None,
    deadline: float,
    now: float,
) -> Frame:
    """Return the frame in which a worker sees a question; its URL expires at ``deadline``.

    Without an ``assignment_id`` it is a preview, whose URL names neither the assignment nor the worker. Raise
    FrameRefused if the page is on the site's own host, to which browsers would send the session cookie.
    """
    given = {"assignmentId": assignment_id or PREVIEW_ID, "hitId": hit_id, "turkSubmitTo": settings.frame_url}
    if assignment_id is not None:
        given["turkSubmitTo"] = submit_to(settings, secret, assignment_id=assignment_id, worker_id=worker_id)
        given["workerId"] = worker_id
    sandbox = sandbox_of(settings)
    if isinstance(question, ExternalQuestion):
        check_apart(question.url, settings)
        place = origin(question.url)
        sources = f"{place} {settings.frame_url}" + (" https:" if question.url.startswith("https:") else "")
        # It may keep its own origin, so that the page of a survey reaches its server.
        return Frame(
            address=with_parameters(question.url, given),
            sandbox=f"{sandbox} allow-same-origin",
            height=question.frame_height,
            sources=sources,
        )
    until = int(min(deadline, now + LIFE))
    capability = Capability(kind=kind, name=assignment_id or hit_id, worker_id=worker_id, until=until)
    return Frame(
        address=with_parameters(f"{settings.frame_url}/f/{sign(secret, capability)}", given),
        sandbox=sandbox,
        height=question.frame_height,
        sources=settings.frame_url,
    )


def submit_to(settings: SiteSettings, secret: bytes, *, assignment_id: str, worker_id: str) -> str:
    """Return the URL to which a page appends ``/mturk/externalSubmit``, signed for one worker's assignment."""
    signature = sign_submission(secret, assignment_id=assignment_id, worker_id=worker_id)
    return f"{settings.frame_url}{SIGNED}{signature}"


def sandbox_of(settings: SiteSettings) -> str:
    """Return the sandbox permissions of every frame: scripts, forms and dialogs, and pop-ups if the host allows."""
    return "allow-scripts allow-forms allow-modals" + (" allow-popups" if settings.popups else "")


def page_policy(settings: SiteSettings) -> str:
    """Return the content security policy of a HIT's own page; old HITs load scripts and images from anywhere.

    The policy's sandbox applies even if the page is opened outside the site's frame.
    """
    places = f"https: data: blob: {settings.frame_url}"
    if on_this_machine(settings.frame_url):
        places += " http://127.0.0.1:* http://localhost:*"
    return (
        f"sandbox {sandbox_of(settings)}; default-src {places} 'unsafe-inline' 'unsafe-eval'; object-src 'none'; "
        f"form-action {settings.frame_url}; frame-ancestors {settings.site_url}"
    )


def outcome_policy(settings: SiteSettings) -> str:
    """Return the policy of the endpoint's own pages inside the frame."""
    own = settings.frame_url
    return (
        f"default-src 'none'; style-src {own}; script-src {own}; img-src data:; form-action 'none'; base-uri 'none'; "
        f"frame-ancestors {settings.site_url}"
    )


def page_of(question: HTMLQuestion, settings: SiteSettings, *, submit_to: str) -> str:
    """Return a HIT's page with the URLs of Amazon's closed service replaced by this endpoint's."""
    page = OLD_SUBMIT.sub(submit_to + SUBMIT_PATH, question.html)
    page = OWN_SUBMIT.sub(rf"\g<1>{submit_to}{SUBMIT_PATH}", page)
    return OLD_HELPER.sub(f"{settings.frame_url}/static/{HELPER}", page)


def check_apart(url: str, settings: SiteSettings) -> None:
    """Refuse a page on the site's own host: browsers would send the session cookie there with each request.

    On the loopback address everything shares one host, so a rehearsal distinguishes ports only.
    """
    place = origin(url)
    if place in (None, settings.site_url, settings.frame_url):
        raise FrameRefused("frame: the page lies on the origin of the site")
    if host_of(url) == host_of(settings.site_url) and not on_this_machine(url):
        raise FrameRefused("frame: the page lies on the host of the site")


def with_parameters(url: str, parameters: dict[str, str]) -> str:
    """Return a URL with further query parameters.

    >>> with_parameters("https://example.org/a?x=1#top", {"hitId": "3H"})
    'https://example.org/a?x=1&hitId=3H#top'
    """
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(parameters)) if part)
    return urlunsplit(parts._replace(query=query))
