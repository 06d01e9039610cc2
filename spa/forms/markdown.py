"""Markdown by a study's author as HTML, without anything that could load or run."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from spa.media.emphasis import between_characters

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_OTHER_BACKSLASH = re.compile(r"\\(?![*_])")
_LINK = re.compile(r"https?://|mailto:", re.IGNORECASE)


@lru_cache(maxsize=1024)  # the instructions are the same on everybody's pages
def render_markdown(markdown: str) -> Markup:
    r"""Render Markdown without raw HTML, images, or links that could run a script.

    The page's title is the first heading, so the highest of these is the second, whatever its author wrote.

    >>> print(render_markdown("# One <b>word</b>"), end="")
    <h2>One &lt;b&gt;word&lt;/b&gt;</h2>
    >>> print(render_markdown("## One\n### Two"), end="")
    <h2>One</h2>
    <h3>Two</h3>
    >>> print(render_markdown("| Points |\n|---:|").splitlines()[3])
    <th class="right">Points</th>
    """
    reader = _reader()
    tokens = reader.parse(markdown)
    highest = min((int(token.tag[1]) for token in tokens if token.type == "heading_open"), default=1)
    for token in chain(tokens, *(token.children or () for token in tokens)):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) - highest + 2)}"
        elif token.type == "link_open":
            token.attrSet("target", "_blank")  # in the same tab, answers not sent yet would be lost
            token.attrSet("rel", "noopener noreferrer")
        elif token.type in ("th_open", "td_open") and "style" in token.attrs:  # which the policy of our pages refuses
            token.attrSet("class", str(token.attrs.pop("style")).removeprefix("text-align:"))
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # escaped by markdown-it


@lru_cache(maxsize=4096)
def render_emphasis(text: str) -> Markup:
    r"""Render the emphasis of one line of Markdown and nothing else; ``\*`` and ``\_`` stand for themselves.

    >>> print(render_emphasis("Does it **fit** <here>, 2 * 3?"))
    Does it <strong>fit</strong> &lt;here&gt;, 2 * 3?
    """
    if "*" not in text and "_" not in text:
        return escape(text)
    return Markup(_emphasis_reader().renderInline(_OTHER_BACKSLASH.sub(r"\\\\", text)))  # escaped by markdown-it


@cache
def _emphasis_reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return between_characters(MarkdownIt("zero").enable(["emphasis", "escape"]))


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    reader.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    return between_characters(reader)
