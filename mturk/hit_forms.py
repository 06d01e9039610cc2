"""A form as the page of a HIT, and reading its submission: untrusted XML, validated by the study's own rules."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from spa.forms.html import Posting, render_whole
from spa.importers.mturk.answers import AnswerRefused, answer_pairs, read_answers
from spa.importers.mturk.safe_xml import XMLRefused, without_forbidden
from spa.records.form import ConfirmationTarget, Form, Page, ScreeningTarget
from spa.records.submission import Missing, Response
from spa.records.texts import Texts
from spa.responses.answers import parse_answers, unknown_keys
from spa.responses.outcomes import COMPLETED, NO_CONSENT, SCREENED_OUT, Outcome
from spa.responses.reading_evidence import READING, minimum_seconds, parse_exposure, write_exposure
from spa.widgets import fields_of
from spa.widgets.payload import NO_ANSWER, payload_from_pairs, verbatim

FORM_FIELD = "spa_form"  # which assignment of the study the form is of; sent beside the answers
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")  # fields that belong to the protocol
ENTRY_PATH = "/hit"  # of the survey server
UNREADABLE = "hit"  # the page of XML that cannot be read; no page of a form is called so
OURS = {*RESERVED, FORM_FIELD, READING}  # fields that are no answers
MOST_NAMED = 3  # unusable answers that a problem names
LONGEST = 120  # characters of one reason


def render_hit_page(
    form: Form,
    texts: Texts,
    *,
    origins: tuple[str, ...],
    seconds_per_100_words: float = 0.0,
    share_played: float = 1.0,
) -> str:
    """Render a whole form as one HTML page that posts its answers, without characters that XML forbids.

    Parameters
    ----------
    form, texts
        The form that the survey server and LLMs get, and the texts of its language.
    origins : tuple of str
        Sites that the page may post to; the frame's URL chooses among them.
    seconds_per_100_words : float
        Minimum time on screen of each output, as on the survey server; 0: reading is not measured.
    share_played : float
        Minimum share of each clip that is played, likewise.
    """
    posting = Posting(script=_script(), origins=origins, fields={"assignmentId": "", FORM_FIELD: form.assignment_id})
    least = None
    if seconds_per_100_words:
        least = dict(ChainMap(*(minimum_seconds(page, seconds_per_100_words, share_played) for page in form.pages)))
    return without_forbidden(render_whole(form, texts, posting=posting, minimum_seconds=least))


@cache
def _script() -> str:
    return (files("mturk") / "pages" / "hit.js").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionReading:
    """The answers of one submission, and its problem if there is one."""

    answers: tuple[Response | Missing, ...]
    outcome: Outcome
    problem: str | None
    pages: Mapping[str, str]  # page id -> what was sent for it, as from the survey server; of unreadable XML itself


def read_submission(form: Form, answer: str) -> SubmissionReading:
    """Read ``Assignment.Answer`` of a HIT that contained a form, by the same rules as all answers.

    An answer that cannot be read is missing, with the reason; the caller keeps the XML.
    """
    questions = tuple(form.questions("people"))
    try:
        payload = payload_from_pairs(answer_pairs(read_answers(answer)))
    except (AnswerRefused, XMLRefused) as error:
        reason = f"the submission cannot be read: {error}"
        lost = tuple(Missing(question_id=q.question_id, target=q.target, reason=reason, raw=None) for q in questions)
        return SubmissionReading(answers=lost, outcome=COMPLETED, problem=reason, pages={UNREADABLE: answer})
    answers = parse_answers(questions, payload)
    problem = _problem(form, payload, answers)
    evidence: dict[str, dict[str, str]] = {}
    try:
        evidence = _split_evidence(form, payload.get(READING))
    except ValueError:
        problem = problem or "evidence of reading that the form's page does not send"
    pages = {page.page_id: _fields_of(page, payload) | evidence.get(page.page_id, {}) for page in form.pages}
    return SubmissionReading(
        answers=answers,
        outcome=_outcome(answers),
        problem=problem,
        pages={page_id: json.dumps(fields) for page_id, fields in pages.items()},
    )


def _fields_of(page: Page, payload: Mapping[str, object]) -> dict[str, str]:
    names = (name for question in page.questions for name in fields_of(question).values())
    return {name: verbatim(payload[name]) for name in names if name in payload}


def _split_evidence(form: Form, evidence: object) -> dict[str, dict[str, str]]:
    """Split the reading evidence of the HIT's single page by the pages of the form.

    Raises
    ------
    ValueError
        If it is no evidence, or names an output that is not on the form.
    """
    if evidence is None:
        return {}
    whole = replace(form.pages[0], blocks=tuple(block for page in form.pages for block in page.blocks))
    exposure = parse_exposure(verbatim(evidence), whole)
    split = {}
    for page in form.pages:
        new = {exhibit.exhibit_id for exhibit in page.new_measured}
        if new:
            own = replace(
                exposure,
                outputs={name: output for name, output in exposure.outputs.items() if name in new},
                played={name: parts for name, parts in exposure.played.items() if name in new},
                unplayable=exposure.unplayable & new,
            )
            split[page.page_id] = {READING: write_exposure(own)}
    return split


def _outcome(answers: tuple[Response | Missing, ...]) -> Outcome:
    for answer in answers:
        target = answer.target
        if isinstance(target, ConfirmationTarget) and target.confirmation == "consent" and isinstance(answer, Missing):
            return NO_CONSENT
    for answer in answers:
        if not isinstance(answer, Response) or not isinstance(answer.target, ScreeningTarget):
            continue
        if answer.value not in answer.target.eligible:
            return SCREENED_OUT
    return COMPLETED


def _problem(form: Form, payload: Mapping[str, object], answers: tuple[Response | Missing, ...]) -> str | None:
    """Return why a person should look before it is paid; ``None`` if every question has a usable answer."""
    of = payload.get(FORM_FIELD)
    if of is not None and of != form.assignment_id:
        return f"the answers are to another form than that of {form.assignment_id}"
    lost = [answer for answer in answers if isinstance(answer, Missing)]
    if lost:
        reasons = "; ".join(f"{one.question_id}: {_short(one.reason)}" for one in lost[:MOST_NAMED])
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        empty = sum(one.reason == NO_ANSWER for one in lost)
        return f"{len(lost)} of {len(answers)} answers unusable, {empty} of them empty: {reasons}{more}"
    foreign = [name for name in unknown_keys(form.questions("people"), payload) if name not in OURS]
    if foreign:
        return f"{len(foreign)} fields that the form does not have, such as {_short(foreign[0])!r}"
    return None


def _short(text: str) -> str:
    plain = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return plain if len(plain) <= LONGEST else plain[:LONGEST] + "..."
