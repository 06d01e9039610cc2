"""Markdown of outputs read as chats read it: CommonMark with what models write beside it.

Tables, strikethrough, task lists, formulas and ``<br>``. What others would drop or take for marks stays text: cells
beyond a header, footnotes, definitions that nothing refers to, prices, ``x[i](j)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from spa.media.emphasis import between_characters

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

DEEPEST = 100  # blocks within blocks
USED, UNCLOSED = "used", "unclosed"  # of the parser's environment: labels, and closings that do not follow in a text
JOINED = "\ue000"  # stands for a line end within a formula, so that no block begins there
MOST_LINES = 60  # of a formula

_FENCE = re.compile(r"(?:\s*>)*\s*(?:[-*+]\s+|\d+[.)]\s+)*(`{3,}|~{3,})")
_LINES = r"\\begin\{((?:align(?:ed)?|equation|gather|multline|eqnarray)\*?)\}"
_OPENING = re.compile(rf"(?<!\\)(?:\\\\)*(\\\[|\$\$|{_LINES})")
_LINES_OF_FORMULA = re.compile(_LINES)
_DOLLARS = re.compile(r"\$(?![\s$,;:!?)])((?:\\.|[^$\\\n])+?)(?<![\s\\])\$(?![\d$])")
_IN_WORDS = re.compile(r"\\(?:text\w*|math\w+|operatorname|mbox)\s*\{[^{}]*\}|\\[A-Za-z]+|\\.")
_PROSE = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,}[ ,;:]+[A-Za-z]{2,}")
_PRICE = re.compile(
    r"[\d.,]+(?:[A-Za-z]{4,}|\s*[-/–—+]\s*[A-Za-z]{3,}|\s+(?:[A-Za-z]{3,}|(?:a|an|and|or|to|per|is|vs|in|of)\b))[^=<>^_\\]*"
    r"|[\d.,]+[-–—]"
)
_LINE_END = re.compile(r"<br ?/?>\n?", re.IGNORECASE)
_ADDRESS = re.compile(r"[/.#:?]")  # x[i](j) is none
_OUTER_PIPES = re.compile(r"^\||(?<!\\)\|$")
_LABEL = r"\[((?:\\.|[^\[\]\\])+)\]"
_DEFINITION = re.compile(rf"{_LABEL}:")
_USED = re.compile(rf"{_LABEL}(?!:)")
_NAMED = re.compile(rf"(?<=\]){_LABEL}|{_LABEL}(?=:)")


def read_markdown(source: str) -> tuple[list[Token], dict[str, Any]]:
    """Return the tokens of a source, and the definitions that its references were read by."""
    environment = dict[str, Any]()
    return markdown_reader().parse(_joined(source), environment), environment.get("references", {})


def labels_within(source: str) -> Iterator[str]:
    """Yield what stands in the brackets of references and definitions."""
    return (label for found in _NAMED.findall(source) for label in found)


def _joined(source: str) -> str:
    """Put a mark of one character in the place of line ends within formulas, where a block could begin otherwise."""
    if JOINED in source or not any(sign in source for sign in ("\\[", "$$", "\\begin{")):
        return source
    lines, written = source.splitlines(keepends=True), list[str]()
    fence: str | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        marked = _FENCE.match(line)
        if marked is not None and (fence is None or marked[1].startswith(fence)):
            fence = marked[1] if fence is None else None
        last = None if fence is not None or marked is not None else _last_line(lines, at)
        if last is not None:
            joined = "".join(lines[at : last + 1])
            end = joined[len(joined.rstrip("\r\n")) :]
            line = joined[: len(joined) - len(end)].replace("\r\n", "\n").replace("\n", JOINED) + end
            at = last
        written.append(line)
        at += 1
    return "".join(written)


def _last_line(lines: Sequence[str], first: int) -> int | None:
    """Return the line on which a formula ends that begins on a line and not ends there."""
    place = 0
    line = lines[first]
    while (found := _OPENING.search(line, place)) is not None:
        closing = "\\]" if found[1] == "\\[" else rf"\end{{{found[2]}}}" if found[2] else "$$"
        end = line.find(closing, found.end())
        if end < 0:
            if line.count("`", 0, found.start()) % 2:
                return None
            for at in range(first + 1, min(len(lines), first + MOST_LINES)):
                if _FENCE.match(lines[at]):
                    return None
                if closing in lines[at]:
                    return at
            return None
        place = end + len(closing)
    return None


@cache
def markdown_reader() -> MarkdownIt:
    """Return the parser of outputs."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import reference
    from markdown_it.rules_inline import image

    options = {
        "html": False,
        "breaks": True,
        "maxNesting": DEEPEST,
        "tasklists": True,
        "strikethrough_single_tilde": True,
    }
    reader = between_characters(MarkdownIt("commonmark", options).enable(["table", "strikethrough"]))
    reader.inline.ruler.before("escape", "formula", _formula)
    reader.inline.ruler.before("html_inline", "line_end", _line_end)

    def used_reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """Leave footnotes, and a definition that nothing refers to, in the text."""
        line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
        found = _DEFINITION.match(line)
        if found is not None:
            if USED not in state.env:
                state.env[USED] = {normal_label(label) for label in _USED.findall(state.src)}
            if found[1].startswith("^") or normal_label(found[1]) not in state.env[USED]:
                return False
        return reference(state, start, end, silent)

    def picture(state: StateInline, silent: bool) -> bool:
        """Keep how the source writes a picture."""
        start = state.pos
        found = image(state, silent)
        if found and not silent:
            state.tokens[-1].meta = {"source": state.src[start : state.pos]}
        return found

    reader.inline.ruler.at("image", picture)
    reader.block.ruler.at("reference", used_reference)
    reader.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    may_be_followed = reader.validateLink
    reader.validateLink = lambda url: _ADDRESS.search(url) is not None and may_be_followed(url)  # type: ignore[method-assign]
    return reader


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Keep those cells of a row that stand beyond its table's header."""
    from markdown_it.rules_block.table import escapedSplit, getLine, table

    first = len(state.tokens)
    found = table(state, start, end, silent)
    read, state.tokens[first:] = state.tokens[first:], []
    cells, line = 0, start
    for token in read:
        if token.type == "inline":
            cells, line = cells + 1, (token.map or [line])[0]
        elif token.type == "tr_close":
            for content in escapedSplit(_OUTER_PIPES.sub("", getLine(state, line).strip()))[cells:]:
                state.push("td_open", "td", 1)
                cell = state.push("inline", "", 0)
                cell.content, cell.map, cell.children = content.strip(), [line, line + 1], []
                state.push("td_close", "td", -1)
            cells = 0
        state.tokens.append(token)
    return found


def _line_end(state: StateInline, silent: bool) -> bool:
    """Read ``<br>``, which models write where a line ends within a cell of a table, as chats do."""
    found = _LINE_END.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0).meta = {"written": found[0]}
    state.pos = found.end()
    return True


def _formula(state: StateInline, silent: bool) -> bool:
    """Read a formula in dollars or LaTeX's brackets; prices and single dollars stay text."""
    source, start = state.src, state.pos
    if source[start] not in "$\\":
        return False
    for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)")):
        if source.startswith(opening, start):
            end = _end(state, closing, start + 2)
            content = source[start + 2 : max(end, 0)]
            if end < 0 or not content.strip() or (opening == "\\(" and "\n" in content):
                return False
            return _push(state, silent, content, end + 2, display=opening != "\\(")
    if source[start] == "\\":
        lines = _LINES_OF_FORMULA.match(source, start)
        closing = "" if lines is None else rf"\end{{{lines[1]}}}"
        end = _end(state, closing, start) + len(closing) if closing else 0
        return end > len(closing) and _push(state, silent, source[start:end], end, display=True)
    found = _DOLLARS.match(source, start)
    before = source[start - 1 : start]
    if found is None or (before.isascii() and before.isalnum()) or _is_prose(found[1]):
        return False
    if source[found.end() : found.end() + 1].isalpha() and source[found.end() - 2] in "/:.,;=_-":  # $HOME/$USER
        return False
    return _push(state, silent, found[1], found.end(), display=False)


def _end(state: StateInline, closing: str, start: int) -> int:
    """Return where a formula ends; -1 where it does not, which is looked for once in a text."""
    unclosed = state.env.setdefault(UNCLOSED, {})
    if unclosed.get(closing) is state.src:
        return -1
    end = state.src.find(closing, start)
    if end < 0:
        unclosed[closing] = state.src
    return end


def _push(state: StateInline, silent: bool, content: str, end: int, *, display: bool) -> bool:
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = content
        token.meta = {"display": display}
    state.pos = end
    return True


def _is_prose(content: str) -> bool:
    """Whether what stands between two dollars is text about money rather than a formula.

    >>> [_is_prose(text) for text in ("5 and ", "x + y", "5/month or 10", "2x", "3 + 4")]
    [True, False, True, False, False]
    """
    plain = _IN_WORDS.sub(" ", content)
    return _PROSE.search(plain) is not None or _PRICE.fullmatch(plain.strip()) is not None


def normal_label(label: str) -> str:
    """Return a label as definitions are found by it."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)
