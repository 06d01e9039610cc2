"""Markdown of outputs as HTML: hostile text, so nothing in it loads, runs, is followed or styles itself.

Single line ends are kept. Beside the HTML stand the text that people read and what of the source they do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape, unescape
from time import thread_time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from markupsafe import Markup

from spa.media.direction import Direction, direction_of
from spa.media.formulas import formula
from spa.media.markdown_reader import JOINED, labels_within, normal_label, read_markdown
from spa.media.markup_signs import is_code
from spa.media.pictures import OPENING, Picture

if TYPE_CHECKING:
    from markdown_it.token import Token

MOST_COLOURED = 20_000  # characters of code
MOST_SECONDS = 0.1  # of the processor, to colour a block of code
LANGUAGES = frozenset(
    "bash c c++ cpp csharp css diff go haskell html http ini java javascript js json jsx julia kotlin latex lua "
    "makefile markdown matlab objective-c ocaml perl php plaintext powershell py python python3 r ruby rust scala sh "
    "shell sql swift text toml ts tsx typescript xml yaml".split()
)
COLOURS = (  # of code: types of Pygments, and their class
    ("Token.Keyword", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "m"),
    ("Token.Comment", "c"),
    ("Token.Name.Function", "n"),
    ("Token.Name.Class", "n"),
)
WIDE = 24  # characters of a formula from which on it scrolls where it is wider than the line
NARROW = 36  # characters of a line of code, or of the longest words of a table's columns, that a phone shows whole
NAMED = 60  # characters of what scrolls that name it
ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}
SIMPLE = frozenset(("strong", "em", "s"))  # elements within a line

_WORDS = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^>]*>")
_CODE = re.compile(r"(<pre .*?</pre>)", re.DOTALL)
_LONG_LINE = re.compile(r"[^\n]{1000}|\s{200}")  # which lexers read again and again
_ENTITY = re.compile(r"&#?\w+;")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedMarkdown:
    """Markdown as people see it.

    ``text`` is the text content of ``html``; ``direction`` that of most letters outside code and formulas; ``hidden``
    what the source says beside, such as addresses; ``formulas`` those that are shown as source, with the reason;
    ``pictures`` stand where ``html`` has their words alone.
    """

    html: Markup
    text: str
    direction: Direction
    hidden: str = ""
    formulas: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()

    def lost(self, source: str) -> tuple[str, ...]:
        """Return the words of the source that are neither shown nor hidden for a reason."""
        left = Counter(_WORDS.findall(source))
        for number, part in enumerate(_CODE.split(self.html)):  # elements part words where marks do, but in code
            left -= Counter(_WORDS.findall(unescape(_TAG.sub("" if number % 2 else " ", part))))
        left -= Counter(_WORDS.findall(self.hidden)) + Counter(_WORDS.findall(" ".join(_ENTITY.findall(source))))
        return tuple(left)


@lru_cache(1024)  # an output stands on several pages, and on everybody's
def rendered(source: str) -> RenderedMarkdown:
    """Render the Markdown of an output; a program that stands there without fences is one block of code.

    >>> print(rendered("It is **5** $").html, end="")
    <p dir="ltr">It is <strong>5</strong> $</p>
    """
    if is_code(source):
        block = Markup(f"{_block(source)}{_escaped(source)}</code></pre>\n")
        return RenderedMarkdown(html=block, text=f"{source}\n", direction="ltr")
    writer = _Writer()
    tokens, references = read_markdown(source)
    writer.blocks(tokens)
    for found in references.values():
        writer.hidden += (found["href"], unquote(found["href"]), found["title"])
    if references:
        writer.hidden += (label for label in labels_within(source) if normal_label(label) in references)
    html = "".join(writer.parts)
    text = unescape(_TAG.sub("", html))
    return RenderedMarkdown(
        html=Markup(html),
        text=text,
        direction=direction_of("".join(writer.prose)),
        hidden=" ".join(writer.hidden),
        formulas=tuple(writer.formulas),
        pictures=tuple(writer.pictures),
    )


class _Writer:
    """Writes tokens as HTML, and keeps what is to be said of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.hidden: list[str] = []  # of the source: addresses, languages of code, formulas
        self.prose: list[str] = []  # text without code and formulas
        self.formulas: list[str] = []
        self.pictures: list[Picture] = []
        self._wide: list[int] = []  # levels of the tables that are open, and scroll

    def blocks(self, tokens: Sequence[Token]) -> None:
        for at, token in enumerate(tokens):
            if token.type == "inline":
                self.prose.append(_plain(token.children or ()))
                self._inline(token.children or ())
            elif token.type in ("fence", "code_block"):
                self._code(token)
            elif token.type == "hr":
                self.parts.append("<hr>\n")
            elif token.nesting == 1:
                self._open(token, tokens, at)
            elif token.nesting == -1 and not token.hidden:
                self.parts.append(f"</{_tag_of(token)}>{_after(token)}")
                if token.type == "table_close" and self._wide[-1:] == [token.level]:
                    self.parts.append("</div>\n")
                    self._wide.pop()
            elif token.nesting == -1:
                self.parts.append("\n")  # between the paragraphs of a tight list

    def _open(self, token: Token, tokens: Sequence[Token], at: int) -> None:
        if token.hidden:
            return
        attributes = ""
        if token.tag in ("p", "li", "th", "td") or token.type == "heading_open":
            attributes += _direction(_own_text(tokens, at))
        if token.type == "heading_open":
            attributes += f' class="{token.tag}"'
        aligned = ALIGNED.get(str(token.attrGet("style") or ""))
        if aligned is not None:
            attributes += f' class="{aligned}"'
        if token.type == "ordered_list_open":
            _number(tokens, at)
        if token.type == "table_open":
            columns = _columns(tokens, at)
            if sum(max(map(len, " ".join(cells).split()), default=0) + 2 for cells in columns) > NARROW:
                self.parts.append(_scrolling("div", " ".join(" | ".join(cells[0] for cells in columns).split())))
                self._wide.append(token.level)
        attributes += "".join(f' {key}="{int(token.attrs[key])}"' for key in ("start", "value") if key in token.attrs)
        self.parts.append(f"<{_tag_of(token)}{attributes}>{_after(token) if token.tag not in _WITH_TEXT else ''}")
        if token.type == "list_item_open":
            self.hidden.append(token.info)
            if token.meta and "checked" in token.meta:
                self.parts.append("\N{BALLOT BOX WITH CHECK} " if token.meta["checked"] else "\N{BALLOT BOX} ")
                self.hidden.append("x X")

    def _code(self, token: Token) -> None:
        language = token.info.strip().split(" ")[0].lower()
        self.hidden.append(token.info)
        self.parts.append(f"{_block(token.content, language)}{_coloured(token.content, language)}</code></pre>\n")

    def _inline(self, tokens: Sequence[Token]) -> None:
        for at, token in enumerate(tokens):
            name = token.type.removesuffix("_open").removesuffix("_close")
            if token.type == "text":
                self.parts.append(_escaped(token.content.replace(JOINED, "\n")))
            elif token.type in ("softbreak", "hardbreak"):
                self.hidden.append(token.meta.get("written", ""))
                self.parts.append("\n" if _is_line(tokens[at - 1]) else "<br>\n")
            elif token.type == "code_inline":
                self.parts.append(f'<code dir="ltr">{_escaped(token.content.replace(JOINED, " "))}</code>')
            elif token.type == "formula":
                self._formula(token)
            elif token.type == "image":
                self._picture(token)
            elif name == "link":
                self._link(token)
            elif name in SIMPLE:
                self.parts.append(f"<{'/' if token.nesting == -1 else ''}{name}>")
            else:
                self.parts.append(_escaped(token.content))

    def _formula(self, token: Token) -> None:
        lines = token.content.split(JOINED)
        if all(line.lstrip().startswith(">") for line in lines[1:]):  # within a quotation
            lines = [lines[0], *(line.lstrip()[1:] for line in lines[1:])]
        latex = "\n".join(lines).strip()
        made = formula(latex, display=token.meta["display"])
        may_be = len(latex) > WIDE and made.reason is None
        kind = "wide block" if token.meta["display"] else "wide"
        wide = may_be and (token.meta["display"] or len(_TAG.sub("", made.html)) > WIDE)
        self.parts.append(f'<span class="{kind}">{made.html}</span>' if wide else made.html)
        self.hidden.append(latex)
        if made.reason is not None:
            self.formulas.append(f"{latex}: {made.reason}")

    def _link(self, token: Token) -> None:
        if token.nesting == -1:
            self.parts.append("</span>")
            return
        address = str(token.attrGet("href") or "")
        self.hidden += (unescape(address), unquote(address), str(token.attrGet("title") or ""))
        self.parts.append(f'<span class="link" title="{escape(address)}">')

    def _picture(self, token: Token) -> None:
        address = str(token.attrGet("src") or "")
        self.pictures.append(Picture(address=address, source=token.meta["source"].replace(JOINED, "\n")))
        self.hidden += (address, unquote(address), str(token.attrGet("title") or ""))
        self.parts.append(f"{OPENING}{_escaped(_plain(token.children or ()))}</span>")


_WITH_TEXT = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th"))


def _is_line(token: Token) -> bool:
    """Whether what a token shows ends its line by itself."""
    return token.type == "formula" and bool(token.meta["display"])


def _tag_of(token: Token) -> str:
    """Return the element of a block; headings are below those of the page."""
    return f"h{min(6, int(token.tag[1]) + 3)}" if token.type.startswith("heading") else token.tag


def _after(token: Token) -> str:
    return "\n" if token.block else ""


def _scrolling(element: str, name: str, attributes: str = "") -> str:
    """Return what opens an element that scrolls sideways, by the keyboard, too; a name that a reader is told."""
    shown = escape(name if len(name) <= NAMED else f"{name[:NAMED]}…")
    label = f' role="group" aria-label="{shown}"' if shown.strip() else ""
    named = f' class="scrolls"{attributes}' if element == "div" else attributes
    return f'<{element}{named} tabindex="0"{label}>'


def _block(code: str, language: str = "") -> str:
    """Return what opens a block of code, which scrolls where a line may be wider than a phone."""
    name = " ".join((language, *code.split()))
    wide = max(map(len, code.split("\n")), default=0) > NARROW
    direction = ' dir="ltr"'
    return (_scrolling("pre", name, direction) if wide else f"<pre{direction}>") + "<code>"


def _columns(tokens: Sequence[Token], at: int) -> list[list[str]]:
    """Return the texts of a table's cells by column, the head first."""
    columns: list[list[str]] = []
    place = 0
    for token, following in zip(tokens[at + 1 :], tokens[at + 2 :], strict=False):
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            place = 0
        elif token.type in ("th_open", "td_open"):
            columns += [[] for _ in range(place + 1 - len(columns))]
            columns[place].append(_plain(following.children or ()))
            place += 1
    return columns


def _number(tokens: Sequence[Token], at: int) -> None:
    """Give the items of a list the numbers that its source gives them, but where all have the same."""
    items: list[Token] = []
    for token in tokens[at + 1 :]:
        if token.level <= tokens[at].level:
            break
        if token.type == "list_item_open" and token.level == tokens[at].level + 1:
            items.append(token)
    numbers = [int(item.info) for item in items]
    if len(set(numbers)) == 1:
        return
    for item, number, before in zip(items[1:], numbers[1:], numbers, strict=False):
        if number != before + 1:
            item.attrSet("value", number)


def _own_text(tokens: Sequence[Token], at: int) -> str:
    """Return the text of the first lines within a block, without code and formulas."""
    for place in range(at + 1, len(tokens)):
        token = tokens[place]
        if token.type == "inline":
            return _plain(token.children or ())
        if token.nesting != 1:
            return ""
    return ""


def _plain(tokens: Sequence[Token]) -> str:
    return "".join(_plain(token.children) if token.children else _said(token) for token in tokens)


def _said(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    return token.content if token.type == "text" else ""


def _direction(text: str) -> str:
    found = direction_of(text)
    return "" if found == "auto" else f' dir="{found}"'


def _escaped(text: str) -> str:
    return escape(text, quote=False)


def _coloured(code: str, language: str) -> str:
    """Return code with its parts in classes, where its language is one of the usual."""
    plain = _escaped(code)
    if language not in LANGUAGES or len(code) > MOST_COLOURED or _LONG_LINE.search(code):
        return plain
    lexer = _lexer(language)
    if lexer is None or "\r" in code:
        return plain
    texts, parts = list[str](), list[str]()
    begun = thread_time()
    for _, kind, text in lexer().get_tokens_unprocessed(code):
        if len(parts) % 64 == 63 and thread_time() - begun > MOST_SECONDS:
            return plain
        name = _class_of(kind)
        content = _escaped(text)
        texts.append(text)
        parts.append(content if name is None else f'<span class="{name}">{content}</span>')
    return "".join(parts) if "".join(texts) == code else plain


@cache
def _lexer(language: str) -> Callable[[], Any] | None:
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        found: Callable[[], Any] = find_lexer_class_by_name(language)
    except ClassNotFound:
        return None
    return found


@cache
def _class_of(kind: object) -> str | None:
    return next((found for start, found in COLOURS if str(kind).startswith(start)), None)
