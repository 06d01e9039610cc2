"""Pictures that the source of a text names: shown where the text shows them, and sent to models where it names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from markupsafe import Markup

from spa.media.medium import Doubt

if TYPE_CHECKING:
    from spa.records.form import Exhibit

OPENING = '<span class="picture">'  # of what is shown for a picture; its alternative text follows
# its words stand below it, so that people read what models do
SHOWN = Markup('<span class="shown picture"><img src="{}" alt="">')
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//|#|$")
_DESTINATION = re.compile(r"(?<=\]\()\s*(?:<[^<>\n]*>|[^\s]*?)(?=\s|\)$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of a text: the address that is given for it, and how the source writes all of it."""

    address: str
    source: str

    @property
    def path(self) -> str | None:
        """The path of its file, relative to the table; ``None`` where it lies elsewhere, and is never loaded.

        >>> [Picture(address=one, source="").path for one in ("a%20b.png", "https://a.org/b.png", "//a.org/b.png", "")]
        ['a b.png', None, None, None]
        """
        return None if _ELSEWHERE.match(self.address) else unquote(self.address)


def named(address: str, words: str = "") -> str:
    """Return how Markdown names a picture by its path, or by its address elsewhere.

    >>> named("a b/(c).png"), named("https://a.org/b%20c.png", "a [b]")
    ('![](<a b/(c).png>)', '![a (b)](<https://a.org/b%20c.png>)')
    """
    beside = Picture(address=address, source="").path is not None
    written = address.replace("\\", "/").replace("%", "%25") if beside else address
    for sign, code in (("<", "%3C"), (">", "%3E"), ("\n", "%0A"), ("\r", "%0D")):
        written = written.replace(sign, code)
    shown = " ".join(words.translate({ord("["): "(", ord("]"): ")", ord("\\"): "/"}).split())
    return f"![{shown}](<{written}>)"


def files_of(pictures: Iterable[Picture]) -> Iterator[tuple[str, str]]:
    """Yield the address and the path of each picture that lies beside the table."""
    for picture in pictures:
        if (path := picture.path) is not None:
            yield picture.address, path


def doubts_about(pictures: Iterable[Picture]) -> Iterator[Doubt]:
    """Say that some pictures lie elsewhere."""
    if any(picture.path is None for picture in pictures):
        what = "have pictures of which people see the words alone"
        do = "put their files beside the table and name these, or leave the items out where pictures matter"
        yield Doubt(does=what, do=do)


def with_pictures(
    html: str, pictures: Sequence[Picture], inner: Mapping[str, Exhibit], address: Callable[[Exhibit], str]
) -> str:
    """Return HTML with those pictures that are ``inner`` exhibits, each before its alternative text."""
    if not inner:
        return html
    before, *after = html.split(OPENING)
    parts = [before]
    for picture, rest in zip(pictures, after, strict=True):
        shown = inner.get(picture.address)
        parts += (OPENING if shown is None else SHOWN.format(address(shown)), rest)
    return "".join(parts)


def with_files(text: str, pictures: Iterable[Picture], inner: Mapping[str, Exhibit]) -> tuple[str | Exhibit, ...]:
    """Return what is said, and each inner exhibit once, where it is first named.

    Its number stands in the place of its address, which may name a system.
    """
    if not inner:
        return (text,)
    parts: list[str | Exhibit] = []
    sent, place = set[str](), 0
    for picture in pictures:
        shown = inner.get(picture.address)
        if shown is None:
            continue
        at = text.find(picture.source, place)
        if at >= 0:
            parts.append(text[place:at] + _DESTINATION.sub(shown.exhibit_id, picture.source, count=1))
            place = at + len(picture.source)
            if shown.exhibit_id not in sent:
                parts.append(shown)
                sent.add(shown.exhibit_id)
    parts.append(text[place:])
    parts += [shown for shown in inner.values() if shown.exhibit_id not in sent]  # named where marks part the source
    return tuple(_renamed(part, inner) if isinstance(part, str) else part for part in parts if part)


def _renamed(text: str, inner: Mapping[str, Exhibit]) -> str:
    """Return a text with the numbers of exhibits in definitions of links."""
    for address, shown in inner.items():
        for written in {address, unquote(address)}:
            text = re.sub(rf"(\]:\s*)<?{re.escape(written)}>?(?=\s|$)", rf"\g<1>{shown.exhibit_id}", text)
    return text
