"""What a HIT asks: an HTML page in XML, or the address of a page elsewhere; both made and read."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from spa.addresses import is_loopback_host
from spa.errors import PlatformError
from spa.importers.mturk.safe_xml import FORBIDDEN, SCHEMAS, escape_text, parse_xml, split_tag, utf8_size
from spa.importers.mturk.safe_xml import XMLRefused as XMLRefused

HTML_NAMESPACE = SCHEMAS + "2011-11-11/HTMLQuestion.xsd"
EXTERNAL_NAMESPACE = SCHEMAS + "2006-07-14/ExternalQuestion.xsd"
LARGEST_QUESTION = 65_535  # bytes of UTF-8, the whole XML
PREVIEW_ID = "ASSIGNMENT_ID_NOT_AVAILABLE"  # assignmentId of a HIT that is shown before it is accepted
SUBMIT_PATH = "/mturk/externalSubmit"
TALLEST_FRAME = 1_000_000  # pixels
HEIGHT = re.compile(r"\+?0*[0-9]{1,7}", re.ASCII)
CROWD_ELEMENT = re.compile(r"<(crowd-[a-z-]+)", re.IGNORECASE)
NOT_IN_ADDRESS = re.compile(r"[\s\x00-\x20\x7f\\]")
HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")  # without what browsers would decode or map to another host
NUMBER_HOST = re.compile(r"(?:.*\.)?(?:0[xX][0-9A-Fa-f]*|[0-9]+)\.?")


class QuestionRefused(PlatformError):
    """A question that cannot be put as a HIT."""


class QuestionNotSupported(QuestionRefused):
    """A question of a kind that the service knew and that is left out here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HTMLQuestion:
    """A page that the worker site shows in a frame of its own.

    Raises
    ------
    QuestionRefused
        The page is blank, holds a character that XML cannot, or the height is out of range.
    """

    html: str  # the whole page; line ends become LF, as XML and HTML both read CR LF as LF
    frame_height: int = 0  # pixels; 0 fills the window

    def __post_init__(self) -> None:
        check_height(self.frame_height)
        if not self.html.strip():
            raise QuestionRefused("HTMLQuestion: HTMLContent is blank, a page was expected")
        if found := FORBIDDEN.search(self.html):
            raise QuestionRefused(
                f"HTMLQuestion: character {found.start()} of the page is U+{ord(found[0]):04X}, which XML cannot hold; "
                "leave it out or replace it"
            )
        if "\r" in self.html:
            object.__setattr__(self, "html", self.html.replace("\r\n", "\n").replace("\r", "\n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalQuestion:
    """The URL of a page on another server.

    Raises
    ------
    QuestionRefused
        The URL or the height cannot be used.
    """

    url: str  # https, or http on this machine (a rehearsal)
    frame_height: int = 0  # pixels; 0 fills the window

    def __post_init__(self) -> None:
        check_height(self.frame_height)
        check_address(self.url)


Question = HTMLQuestion | ExternalQuestion


def render_question(question: Question) -> str:
    """Render a question as the XML that ``create_hit`` takes.

    Raises
    ------
    QuestionRefused
        The XML has more than 65,535 bytes of UTF-8.

    Examples
    --------
    >>> xml = render_question(HTMLQuestion(html="<p>x[a[0]]>1</p>"))
    >>> "x[a[0]]]]><![CDATA[>1" in xml
    True
    >>> read_question(xml).html
    '<p>x[a[0]]>1</p>'
    """
    xml = _xml(question)
    size = utf8_size(xml)
    if size > LARGEST_QUESTION:
        raise QuestionRefused(
            f"{type(question).__name__}: {size:,} bytes of UTF-8, at most {LARGEST_QUESTION:,} are taken; "
            "serve the page yourself and publish its address (ExternalQuestion)"
        )
    return xml


def question_size(question: Question) -> int:
    """Return the bytes of a question's XML in UTF-8; the protocol takes up to ``LARGEST_QUESTION``."""
    return utf8_size(_xml(question))


def read_question(xml: str) -> Question:
    """Read the XML of a question that a requester sent, its namespace exactly that of its schema.

    Raises
    ------
    XMLRefused
        The text is not XML that is read here.
    QuestionRefused
        The XML is something else than these two, or breaks their rules.
    """
    root = parse_xml(xml, most_bytes=LARGEST_QUESTION, most_elements=3)
    namespace, name = split_tag(root)
    if name == "QuestionForm":
        raise QuestionNotSupported(
            "Question: a QuestionForm is not rendered here; put the same questions on a page (HTMLQuestion)"
        )
    if name == "HTMLQuestion":
        html, height = _two_children(root, HTML_NAMESPACE, namespace, "HTMLContent")
        if found := CROWD_ELEMENT.search(html):
            raise QuestionNotSupported(
                f"HTMLQuestion: <{found[1].lower()}> needs a script of Amazon's that is not served here; "
                "use a plain <form> with <input> elements"
            )
        return HTMLQuestion(html=html, frame_height=height)
    if name == "ExternalQuestion":
        url, height = _two_children(root, EXTERNAL_NAMESPACE, namespace, "ExternalURL")
        return ExternalQuestion(url=url.strip(), frame_height=height)
    raise QuestionRefused(f"Question: root element {name[:80]!r}, HTMLQuestion or ExternalQuestion was expected")


def check_height(height: int) -> None:
    """Refuse a height that no frame has."""
    if isinstance(height, bool) or not isinstance(height, int) or not 0 <= height <= TALLEST_FRAME:
        raise QuestionRefused(f"FrameHeight: {height!r}, a whole number from 0 to {TALLEST_FRAME} was expected")


def check_address(url: str) -> None:
    """Refuse an address that a worker's browser would not, or should not, open in a frame."""
    address = url[:120]
    if FORBIDDEN.search(url) or NOT_IN_ADDRESS.search(url):
        raise QuestionRefused(
            f"ExternalURL: {address!r} holds a space, a backslash or a control character; percent-encode it"
        )
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise QuestionRefused(f"ExternalURL: {address!r} is no address ({error})") from error
    if parts.scheme not in ("https", "http") or not host:
        raise QuestionRefused(f"ExternalURL: {address!r}, an address that begins with https:// was expected")
    if not HOST.fullmatch(host) or (NUMBER_HOST.fullmatch(host) and not is_address(host)):
        raise QuestionRefused(
            f"ExternalURL: the host of {address!r} is written so that browsers read another; "
            "write it in plain letters (xn-- for other alphabets) or as a dotted number"
        )
    if parts.username is not None or parts.password is not None:
        raise QuestionRefused("ExternalURL: carries a user name or a password, which every worker would read")
    if parts.scheme == "http" and not is_loopback(host):
        raise QuestionRefused(
            f"ExternalURL: {address!r} is http; https is expected, except on this machine (127.0.0.1)"
        )


def is_address(host: str) -> bool:
    """Say whether a host is an IP address in its usual form.

    >>> [is_address(host) for host in ("10.0.0.5", "::1", "10.5", "0x7f000001")]
    [True, True, False, False]
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Say whether a browser takes a host for this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "127.0.0.1.example.org")]
    [True, True, True, False]
    """
    return host.endswith(".localhost") or is_loopback_host(host)


def _xml(question: Question) -> str:
    if isinstance(question, HTMLQuestion):
        name, namespace = "HTMLQuestion", HTML_NAMESPACE
        inside = question.html.replace("]]>", "]]]]><![CDATA[>")
        content = f"<HTMLContent><![CDATA[{inside}]]></HTMLContent>"
    else:
        name, namespace = "ExternalQuestion", EXTERNAL_NAMESPACE
        content = f"<ExternalURL>{escape_text(question.url)}</ExternalURL>"
    return f'<{name} xmlns="{namespace}">{content}<FrameHeight>{question.frame_height}</FrameHeight></{name}>'


def _two_children(root: Element, expected: str, namespace: str, content: str) -> tuple[str, int]:
    """Return the text of the content element and the frame's height."""
    name = split_tag(root)[1]
    if namespace != expected:
        raise QuestionRefused(f"{name}: namespace {namespace[:120]!r}, {expected!r} was expected")
    found = [split_tag(child) for child in root]
    if found != [(expected, content), (expected, "FrameHeight")]:
        names = ", ".join(child[:60] for _, child in found) or "nothing"
        raise QuestionRefused(f"{name}: holds {names}; {content} and then FrameHeight were expected")
    height = (root[1].text or "").strip()
    if not HEIGHT.fullmatch(height):
        raise QuestionRefused(
            f"FrameHeight: {height[:40]!r}, a whole number of pixels was expected (0 fills the window)"
        )
    return root[0].text or "", int(height)
