"""A worker's answers: QuestionFormAnswers XML, parsed safely into the fields of a form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from spa.errors import PlatformError
from spa.importers.mturk.safe_xml import SCHEMAS, parse_xml, split_tag

ANSWERS_NAMESPACE = SCHEMAS + "2005-10-01/QuestionFormAnswers.xsd"
LARGEST_ANSWER = 1_000_000  # bytes of UTF-8, the whole XML
MOST_FIELDS = 2_000
LONGEST_NAME = 500  # characters of a field's name
JOINER = "|"  # between the values of a field that was sent more than once, as result files have it
CONTENT = frozenset(
    {"FreeText", "SelectionIdentifier", "OtherSelectionText", "UploadedFileKey", "UploadedFileSizeInBytes"}
)


class AnswerRefused(PlatformError):
    """A form or its XML that is no valid answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredField:
    """One ``Answer``: text, choices, or an uploaded file."""

    name: str  # QuestionIdentifier
    text: str | None = None  # None where there are choices or a file
    selections: tuple[str, ...] = ()  # choices in the order sent
    other: str | None = None  # text typed beside the choices
    file_key: str | None = None  # of a file that the service stored
    file_bytes: int | None = None

    @property
    def value(self) -> str:
        """The answer as in result files: the text, the choices joined by ``|``, or the file's key."""
        if self.text is not None:
            return self.text
        if self.file_key is not None:
            return self.file_key
        return JOINER.join([*self.selections, *([] if self.other is None else [self.other])])


def read_answers(xml: str) -> tuple[AnsweredField, ...]:
    """Parse ``Assignment.Answer`` into its fields, in order; an empty text has none.

    Fields of the same name are not merged.

    Raises
    ------
    XMLRefused
        The text is not well-formed or not safe XML (a document type, an entity, too large, too deep).
    AnswerRefused
        The XML is no QuestionFormAnswers.
    """
    if not xml.strip():
        return ()
    root = parse_xml(xml, most_bytes=LARGEST_ANSWER, most_elements=1 + 8 * MOST_FIELDS)
    if split_tag(root) != (ANSWERS_NAMESPACE, "QuestionFormAnswers"):
        raise AnswerRefused(
            f"Answer: root element {root.tag[:200]!r}, QuestionFormAnswers of {ANSWERS_NAMESPACE!r} was expected"
        )
    if len(root) > MOST_FIELDS:
        raise AnswerRefused(f"Answer: {len(root):,} answers, at most {MOST_FIELDS:,} are read")
    return tuple(_read_field(child) for child in root)


def answer_pairs(fields: Iterable[AnsweredField]) -> list[tuple[str, str]]:
    """Return name and value of each field, as in a form post."""
    return [(field.name, field.value) for field in fields]


def check_names(names: Iterable[str]) -> None:
    """Refuse too many fields, and empty or long names."""
    listed = list(names)
    if len(listed) > MOST_FIELDS:
        raise AnswerRefused(f"form: {len(listed):,} fields, at most {MOST_FIELDS:,} are taken")
    for name in listed:
        if not name:
            raise AnswerRefused("form: a field without a name")
        if len(name) > LONGEST_NAME:
            raise AnswerRefused(f"form: a field's name has {len(name):,} characters, at most {LONGEST_NAME} are taken")


def _read_field(answer: Element) -> AnsweredField:
    if split_tag(answer) != (ANSWERS_NAMESPACE, "Answer"):
        raise AnswerRefused(f"Answer: element {answer.tag[:200]!r}, Answer was expected")
    parts: dict[str, list[str]] = {}
    for child in answer:
        namespace, name = split_tag(child)
        if namespace != ANSWERS_NAMESPACE or name not in CONTENT | {"QuestionIdentifier"} or len(child):
            raise AnswerRefused(f"Answer: element {child.tag[:200]!r} inside an Answer, which its schema does not have")
        parts.setdefault(name, []).append(child.text or "")
    identifier = _only(parts, "QuestionIdentifier")
    if identifier is None:
        raise AnswerRefused("Answer: no QuestionIdentifier")
    check_names([identifier])
    selections = tuple(parts.get("SelectionIdentifier", ()))
    other, text, key = (_only(parts, part) for part in ("OtherSelectionText", "FreeText", "UploadedFileKey"))
    if sum((text is not None, bool(selections) or other is not None, key is not None)) > 1:
        raise AnswerRefused(f"Answer {identifier[:80]!r}: text, choices and a file exclude one another")
    size = _only(parts, "UploadedFileSizeInBytes")
    return AnsweredField(
        name=identifier,
        text=text,
        selections=selections,
        other=other,
        file_key=key,
        file_bytes=_bytes(identifier, size),
    )


def _only(parts: dict[str, list[str]], name: str) -> str | None:
    values = parts.get(name, [])
    if len(values) > 1:
        raise AnswerRefused(f"Answer: {name} {len(values)} times in one Answer, once was expected")
    return values[0] if values else None


def _bytes(name: str, size: str | None) -> int | None:
    if size is None:
        return None
    if not (size.strip().isascii() and size.strip().isdigit() and len(size.strip()) <= 15):
        raise AnswerRefused(f"Answer {name[:80]!r}: UploadedFileSizeInBytes {size[:40]!r}, a whole number was expected")
    return int(size)
