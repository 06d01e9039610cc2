"""A form as a HIT: the page itself inside the HIT, or the address of the survey server that hands forms out."""

from __future__ import annotations

from collections import ChainMap
from functools import cache
from importlib.resources import files

from mturk.questions import LARGEST_QUESTION, ExternalQuestion, HTMLQuestion, question_size
from mturk.safe_xml import without_forbidden
from spa.forms.form import Form
from spa.forms.html import PageTexts, Posting, render_whole
from spa.responses.reading_evidence import minimum_seconds

FORM_FIELD = "spa_form"  # which assignment of the study the form is of; sent beside the answers
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")  # fields that belong to the protocol
ENTRY_PATH = "/hit"  # of the survey server


def render_hit_page(
    form: Form, texts: PageTexts, *, origins: tuple[str, ...], seconds_per_100_words: float = 0.0
) -> str:
    """Render a whole form as one page that hands itself in.

    Parameters
    ----------
    form : Form
        The same form that the survey server and LLMs get.
    texts : Texts
        The locale's texts.
    origins : tuple of str
        Sites that the page may post to; the frame's address chooses among them.
    seconds_per_100_words : float
        Least time on screen of each output, as on the survey server; 0: reading is not measured.

    Returns
    -------
    str
        HTML without a character that XML forbids.
    """
    posting = Posting(script=_script(), origins=origins, fields={"assignmentId": "", FORM_FIELD: form.assignment_id})
    least = [minimum_seconds(page, seconds_per_100_words) for page in form.pages] if seconds_per_100_words else None
    merged = None if least is None else dict(ChainMap(*least))
    return without_forbidden(render_whole(form, texts, posting=posting, minimum_seconds=merged))


def html_question(
    form: Form, texts: PageTexts, *, origins: tuple[str, ...], seconds_per_100_words: float = 0.0
) -> HTMLQuestion:
    """Return the question of a HIT that holds the form itself."""
    html = render_hit_page(form, texts, origins=origins, seconds_per_100_words=seconds_per_100_words)
    return HTMLQuestion(html=html, frame_height=0)


def external_question(public_url: str) -> ExternalQuestion:
    """Return the question of a HIT that shows the survey server in a frame."""
    return ExternalQuestion(url=public_url.rstrip("/") + ENTRY_PATH, frame_height=0)


def fits(question: HTMLQuestion) -> bool:
    """Say whether the XML of a question is no larger than the protocol allows."""
    return question_size(question) <= LARGEST_QUESTION


@cache
def _script() -> str:
    return (files("mturk") / "pages" / "hit.js").read_text(encoding="utf-8")
