"""Reads a served page in tests: its words without chrome, its elements, its fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "img", "br", "hr"}


@dataclass
class Element:
    """One start tag with what it contains as text."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    chrome: bool = False
    inside: list[Element] = field(default_factory=list)  # ancestors


class ReadPage(HTMLParser):
    """All elements of a page in order; ``words`` is the visible text that is not chrome, white space collapsed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.said: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {[element.tag for element in self.open]}"

    @property
    def words(self) -> str:
        """Return what is said, without chrome and white space."""
        return squeezed("".join(self.said))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"attribute twice in <{tag}>: {names}"
        chrome = "data-chrome" in names or any(element.chrome for element in self.open)
        element = Element(tag, dict(attrs), chrome=chrome, inside=list(self.open))
        self.elements.append(element)
        self.said.append(" ")
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which must be this one."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()
        self.said.append(" ")

    def handle_data(self, data: str) -> None:
        """Note a stretch of text."""
        for element in self.open:
            element.text += data
        if not any(element.chrome or element.tag in ("style", "script", "head") for element in self.open):
            self.said.append(data)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements of a kind with these attributes."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def fields(self) -> list[Element]:
        """Return the inputs that the page's form sends; those with another form owner are not sent."""
        return [
            element
            for element in self.all("input")
            if "name" in element.attributes and "form" not in element.attributes
        ]


def squeezed(text: str) -> str:
    """Leave white space out altogether: line breaks between elements are no words."""
    return "".join(text.split())
