"""Read a rendered page back, as a browser would: tags, texts and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Page(HTMLParser):
    """A parsed page. Raises ``ValueError`` where a tag is closed that is not open."""

    text: str = ""
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    headings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the parser."""
        HTMLParser.__init__(self, convert_charrefs=True)
        self._open: list[str] = []
        self._rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and open what it opens."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self._rows = self.tables.setdefault(dict(attrs)["data-name"] or "", [])
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._rows[-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag without content."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the tag opened last."""
        if not self._open or self._open.pop() != tag:
            raise ValueError(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        """Add text to where it stands."""
        if self._open and self._open[-1] == "style":
            return
        self.text += data
        inside = set(self._open)
        if inside & {"td", "th"}:
            self._rows[-1][-1] += data if self._open[-1] != "small" else f" | {data}"
        if inside & {"h1", "h2", "h3"}:
            self.headings[-1] += data


def read_page(html: str) -> Page:
    """Parse a page to its end; all tags must be closed."""
    page = Page()
    page.feed(html)
    page.close()
    if page._open:
        raise ValueError(f"left open: {page._open}")
    return page
