"""A form as a HIT: the page itself inside the HIT, or the address of the survey server that hands forms out."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mturk.questions import LARGEST_QUESTION, ExternalQuestion, HTMLQuestion, question_size, render_question
from mturk.safe_xml import without_forbidden
from spa.forms.form import Form
from spa.forms.html import PageTexts, Posting, render_whole

FORM_FIELD = "spa_form"  # which assignment of the study the form is of; sent beside the answers
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")  # fields that belong to the protocol
ENTRY_PATH = "/hit"  # of the survey server


def render_hit_page(form: Form, texts: PageTexts, *, origins: tuple[str, ...]) -> str:
    """Render a whole form as one page that hands itself in.

    Parameters
    ----------
    form : Form
        The same form that the survey server and LLMs get.
    texts : Texts
        The locale's texts.
    origins : tuple of str
        Sites that the page may post to; the frame's address chooses among them.

    Returns
    -------
    str
        HTML without a character that XML forbids.
    """
    posting = Posting(script=_script(), origins=origins, fields={"assignmentId": "", FORM_FIELD: form.assignment_id})
    return without_forbidden(render_whole(form, texts, posting=posting))


def html_question(form: Form, texts: PageTexts, *, origins: tuple[str, ...]) -> HTMLQuestion:
    """Return the question of a HIT that holds the form itself."""
    return HTMLQuestion(html=render_hit_page(form, texts, origins=origins), frame_height=0)


def external_question(public_url: str) -> ExternalQuestion:
    """Return the question of a HIT that shows the survey server in a frame."""
    return ExternalQuestion(url=public_url.rstrip("/") + ENTRY_PATH, frame_height=0)


def fits(question: HTMLQuestion) -> bool:
    """Say whether the XML of a question is no larger than the protocol allows."""
    return question_size(question) <= LARGEST_QUESTION


@cache
def _script() -> str:
    return (files("mturk") / "pages" / "hit.js").read_text(encoding="utf-8")


__all__ = ["ENTRY_PATH", "FORM_FIELD", "RESERVED", "external_question", "fits", "html_question", "render_question"]
