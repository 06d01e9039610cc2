"""Parsing untrusted XML safely, and escaping text for XML.

Workers control the answers and requesters the questions. Document types, entities and external references are
refused; depth, elements and bytes are limited while parsing.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from spa.errors import PlatformError

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
DEEPEST = 6  # elements inside one another; the three schemas need three
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACEMENT = "\ufffd"
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class XMLRefused(PlatformError):
    """A text is not XML, or XML that is not safe to read."""


class BoundedBuilder(TreeBuilder):
    """Builds the tree and raises as soon as it exceeds its limits."""

    def __init__(self, *, most_elements: int) -> None:
        super().__init__()
        self.left = most_elements
        self.depth = 0

    def start(self, tag: str, attrs: dict[str, str]) -> Element:
        """Open an element within the limits."""
        self.left -= 1
        self.depth += 1
        if self.left < 0:
            raise XMLRefused("XML: more elements than a question or an answer has")
        if self.depth > DEEPEST:
            raise XMLRefused(f"XML: elements more than {DEEPEST} deep")
        return super().start(tag, attrs)

    def end(self, tag: str) -> Element:
        """Close an element."""
        self.depth -= 1
        return super().end(tag)


def parse_xml(text: str, *, most_bytes: int, most_elements: int) -> Element:
    """Parse an untrusted document and return its root, without comments and processing instructions.

    Leading space and a declared encoding are ignored. ``most_bytes`` limits the text in UTF-8.

    Raises
    ------
    XMLRefused
        The text is too large, not well-formed, too deep, or has a document type, an entity or an external reference.

    Examples
    --------
    >>> parse_xml("<a><b>1 &lt; 2</b></a>", most_bytes=100, most_elements=2)[0].text
    '1 < 2'
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    size = utf8_size(text)
    if size > most_bytes:
        raise XMLRefused(f"XML: {size:,} bytes of UTF-8, at most {most_bytes:,} are read")
    builder = BoundedBuilder(most_elements=most_elements)
    parser = DefusedXMLParser(target=builder, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    try:
        parser.feed(text.lstrip("\ufeff \t\r\n"))
        root = parser.close()
    except ParseError as error:
        raise XMLRefused(f"XML: not well-formed ({error})") from error
    except DefusedXmlException as error:
        raise XMLRefused("XML: a document type, an entity or an outside reference; none of them is read") from error
    if not isinstance(root, Element):
        raise XMLRefused("XML: holds no element")
    return root


def utf8_size(text: str) -> int:
    """Return the number of bytes of a text in UTF-8; raise XMLRefused for half of a surrogate pair."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise XMLRefused(f"XML: character {error.start} is half of a surrogate pair") from error


def without_forbidden(text: str) -> str:
    r"""Replace by U+FFFD each character that XML 1.0 cannot contain, not even escaped.

    >>> without_forbidden("a\x00b") == "a\ufffdb"
    True
    """
    return FORBIDDEN.sub(REPLACEMENT, text)


def escape_text(text: str) -> str:
    """Escape a text as the content of an element, so that parsing restores every character.

    >>> escape_text("1 < 2 & ]]>")
    '1 &lt; 2 &amp; ]]&gt;'
    """
    return text.translate(ESCAPES)


def split_tag(element: Element) -> tuple[str, str]:
    """Return the namespace and the name of an element.

    >>> split_tag(Element("{urn:x}Answer")), split_tag(Element("Answer"))
    (('urn:x', 'Answer'), ('', 'Answer'))
    """
    if element.tag.startswith("{"):
        namespace, name = element.tag[1:].split("}", 1)
        return namespace, name
    return "", element.tag
