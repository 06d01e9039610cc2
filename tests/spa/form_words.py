"""Every text that a form says: what web page, HIT and prompt are compared with."""

from __future__ import annotations

from collections.abc import Iterator

from spa.forms.form_text import page_text, pages_for
from spa.records.form import Audience, Form


def form_text(form: Form, audience: Audience) -> Iterator[str]:
    """Yield every text that a form says to people ("people": all pages) or to everybody, in order.

    Exhibits that a page repeats are said again, captions and all. Not said, because it is not of the form: the
    form's own title (the instructions page carries it), buttons, progress, the sign behind a number box.
    """
    for page in pages_for(form, audience):
        for part in page_text(page):
            if part.text:
                yield part.text
