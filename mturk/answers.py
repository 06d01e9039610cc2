"""Writing the fields of a form that a worker sent as QuestionFormAnswers XML."""

from __future__ import annotations

from collections.abc import Iterable

from spa.importers.mturk.answers import ANSWERS_NAMESPACE, JOINER, LARGEST_ANSWER, AnswerRefused, check_names
from spa.importers.mturk.safe_xml import escape_text, utf8_size, without_forbidden

DROPPED = frozenset({"assignmentId", "hitId"})  # fields of the form that are no answers


class NothingAnswered(AnswerRefused):
    """A form that has no field beside ``assignmentId``."""


def render_answers(fields: Iterable[tuple[str, str]]) -> str:
    """Render the fields of a submitted form, as (name, value) in the order sent, as XML for requesters.

    ``assignmentId`` and ``hitId`` are left out. The values of a field sent more than once are joined by ``|``. A
    character that XML cannot contain becomes U+FFFD, so that the other answers are not lost.

    Raises
    ------
    NothingAnswered
        No field is left.
    AnswerRefused
        There are too many fields, a field has no name or a long one, or the XML is too large.

    Examples
    --------
    >>> from spa.importers.mturk.answers import read_answers
    >>> xml = render_answers([("assignmentId", "3A"), ("box", "1"), ("why", "a < b"), ("box", "2")])
    >>> [(field.name, field.value) for field in read_answers(xml)]
    [('box', '1|2'), ('why', 'a < b')]
    """
    gathered: dict[str, list[str]] = {}
    for name, value in fields:
        if name not in DROPPED:
            gathered.setdefault(without_forbidden(name), []).append(without_forbidden(value))
    if not gathered:
        raise NothingAnswered("form: no field beside assignmentId; at least one answer is expected")
    check_names(gathered)
    answers = "".join(
        f"<Answer><QuestionIdentifier>{escape_text(name)}</QuestionIdentifier>"
        f"<FreeText>{escape_text(JOINER.join(values))}</FreeText></Answer>"
        for name, values in gathered.items()
    )
    xml = (
        f'<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="{ANSWERS_NAMESPACE}">'
        f"{answers}</QuestionFormAnswers>"
    )
    size = utf8_size(xml)
    if size > LARGEST_ANSWER:
        raise AnswerRefused(f"form: its answers make {size:,} bytes of XML, at most {LARGEST_ANSWER:,} are taken")
    return xml
