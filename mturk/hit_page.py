"""A form as the page of a HIT, and the names that it shares with the survey server."""

from __future__ import annotations

from collections import ChainMap
from functools import cache
from importlib.resources import files

from mturk.safe_xml import without_forbidden
from spa.forms.form import Form
from spa.forms.html import Posting, render_whole
from spa.forms.texts import Texts
from spa.responses.reading_evidence import minimum_seconds

FORM_FIELD = "spa_form"  # which assignment of the study the form is of; sent beside the answers
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")  # fields that belong to the protocol
ENTRY_PATH = "/hit"  # of the survey server


def render_hit_page(form: Form, texts: Texts, *, origins: tuple[str, ...], seconds_per_100_words: float = 0.0) -> str:
    """Render a whole form as one HTML page that posts its answers, without characters that XML forbids.

    Parameters
    ----------
    form, texts
        The form that the survey server and LLMs get, and the texts of its language.
    origins : tuple of str
        Sites that the page may post to; the frame's URL chooses among them.
    seconds_per_100_words : float
        Minimum time on screen of each output, as on the survey server; 0: reading is not measured.
    """
    posting = Posting(script=_script(), origins=origins, fields={"assignmentId": "", FORM_FIELD: form.assignment_id})
    least = None
    if seconds_per_100_words:
        least = dict(ChainMap(*(minimum_seconds(page, seconds_per_100_words) for page in form.pages)))
    return without_forbidden(render_whole(form, texts, posting=posting, minimum_seconds=least))


@cache
def _script() -> str:
    return (files("mturk") / "pages" / "hit.js").read_text(encoding="utf-8")
