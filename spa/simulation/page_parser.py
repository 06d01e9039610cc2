"""What a browser without script finds on a served page: the form with its fields, or the completion code."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

UNSENT = ("submit", "button", "reset", "image", "file")


@dataclass(frozen=True, slots=True)
class ServedForm:
    """A ``<form>`` as it was served."""

    action: str
    assignment_id: str
    page_id: str
    hidden: dict[str, str] = field(default_factory=dict)
    offered: dict[str, list[str] | None] = field(default_factory=dict)  # field -> its values; None: free entry


@dataclass(slots=True)
class ServedPage:
    """What one page holds."""

    form: ServedForm | None = None
    completion_code: str | None = None
    onward: str | None = None  # where a link leads that ends the visit


def read_page(html: str) -> ServedPage:
    """Read the questionnaire's form or the completion code from a page.

    >>> read_page('<code data-completion-code>AB12</code>').completion_code
    'AB12'
    """
    reader = PageReader()
    reader.feed(html)
    reader.close()
    return reader.page


class PageReader(HTMLParser):
    """Collects the fields of the form that carries ``data-assignment``."""

    def __init__(self) -> None:
        super().__init__()
        self.page = ServedPage()
        self._in_form = False
        self._in_code = False
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, a field or the beginning of the code."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and "data-assignment" in given:
            self._in_form = True
            self.page.form = ServedForm(given.get("action", ""), given["data-assignment"], given.get("data-page", ""))
        elif tag == "code" and "data-completion-code" in given:
            self._in_code = True
            self.page.completion_code = ""
        elif tag == "a" and "data-onward" in given:
            self.page.onward = given.get("href")
        elif self._in_form and self.page.form is not None and "form" not in given and "disabled" not in given:
            self._note_field(tag, given, self.page.form)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Treat ``<input/>`` as ``<input>``."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Leave the form, the list or the code."""
        if tag == "form":
            self._in_form = False
        elif tag == "select":
            self._select = None
        elif tag == "code":
            self._in_code = False

    def handle_data(self, data: str) -> None:
        """Collect the code."""
        if self._in_code and self.page.completion_code is not None:
            self.page.completion_code += data.strip()

    def _note_field(self, tag: str, given: dict[str, str], form: ServedForm) -> None:
        name, kind = given.get("name", ""), given.get("type", "text").lower()
        if tag == "option" and self._select is not None:
            values = form.offered[self._select]
            if values is not None and given.get("value"):
                values.append(given["value"])
        if not name:
            return
        if tag == "select":
            self._select = name
            form.offered[name] = []
        elif tag == "textarea":
            form.offered[name] = None
        elif tag == "input" and kind == "hidden":
            form.hidden[name] = given.get("value", "")
        elif tag == "input" and kind in ("radio", "checkbox"):
            values = form.offered.setdefault(name, [])
            if values is not None:
                values.append(given.get("value", "on"))
        elif tag == "input" and kind not in UNSENT:
            form.offered[name] = None
