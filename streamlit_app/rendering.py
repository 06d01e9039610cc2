"""What is shown on the pages: everything from outside stays text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import streamlit as st

from spa.forms.assets import common_style, inline_fonts
from spa.media import all_media, data_url, medium_of
from spa.records.clean_text import cleaned
from spa.records.form import Exhibit, Segment

if TYPE_CHECKING:
    from analysis.printing.document import Block, Section
    from analysis.records.results import Results
    from spa.records.materials import Material

SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")  # what Markdown, or Streamlit, reads as more than text
LIGHT_INK, DARK_INK = "#31333f", "#fafafa"  # of text on the page's ground
FIGURE_WIDTH = 760  # pixels at the most
LONG_ID = re.compile(r"(?<=>)[0-9a-f]{12,}(?=<)")
FRAME_POLICY = "default-src 'none'; style-src 'unsafe-inline'; font-src data:; img-src data:; form-action 'none'"
FRAME_STYLE = 'body{margin:0;font:1rem/1.5 "Source Sans",system-ui,sans-serif}'
LINE = 60  # characters of a line of an output
TALLEST_FRAME = 640  # pixels; what is longer scrolls
PAGES_KEY = "pages"  # of the session: the pages by their title


def plain(text: object) -> str:
    r"""Return text such that Markdown shows it as it is.

    >>> print(plain("*a* <b> :red[c] $x$"))
    \*a\* \<b\> \:red\[c\] \$x\$
    """
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def without_empty(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return rows of a table without the columns that hold nothing; a cell without a value is blank.

    >>> without_empty([{"a": 1, "b": None, "c": None}, {"a": 2, "b": "x", "c": None}])
    [{'a': 1, 'b': ''}, {'a': 2, 'b': 'x'}]
    """
    kept = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    words = {name for name in kept if any(isinstance(row[name], str) for row in rows)}
    return [{name: "" if row[name] is None and name in words else row[name] for name in kept} for row in rows]


def link_to(title: str, text: str, icon: str | None = None, *, help: str | None = None) -> None:
    """Show text that links to a page, and the page's title behind it, in the same session; ``help`` on hover."""
    st.page_link(st.session_state[PAGES_KEY][title], label=f"{plain(text)} :blue[{title}]", icon=icon, help=help)


def show_metrics(shown: Mapping[str, str]) -> None:
    """Show numbers side by side under their titles."""
    with st.container(horizontal=True, gap="medium"):
        for title, value in shown.items():
            st.metric(title, value, width="content")


def show_statuses(answered: str, statuses: Sequence[str], own: Mapping[str, str] | None = None) -> None:
    """Show how many questions two people answered, and how those stand."""
    titles = {"Agreed": "agreed", "In conflict": "conflict", "Decided by a third": "adjudicated"}
    counts = {title: f"{statuses.count(status):,}" for title, status in titles.items()}
    show_metrics({**(own or {}), answered: f"{len(statuses):,}", **counts})


def show_headline(results: Results | None) -> None:
    """Show the four lines that the report opens with."""
    if results is not None and results.headline is not None:
        lines = ((title if title.endswith("?") else f"{title}:", text) for title, text in results.headline.lines())
        st.markdown("  \n".join(f"**{title}** {plain(text)}" for title, text in lines))


def show_counts(rows: Sequence[Mapping[str, object]]) -> None:
    """Show a few rows as a plain table, for which no library has to be loaded."""
    kept = without_empty(rows)
    head = "".join(_cell("th", name, kept[0][name]) for name in kept[0])
    body = "".join(f"<tr>{''.join(_cell('td', value, value) for value in row.values())}</tr>" for row in kept)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    st.html(f'<div class="spa-report"><div class="scroll">{table}</div></div>')


def show_text(text: str) -> None:
    """Show long text letter by letter, in a box of its own; a browser takes seconds to colour it as code."""
    st.html(f'<div class="spa-report"><pre class="long" tabindex="0"><code>{escape(text)}</code></pre></div>')


def show_material(container: Any, shown: Material) -> None:
    """Show an output, or what systems were given, in a container: the Streamlit module or a column."""
    files = medium_of(shown).files
    if files is None:
        show_shown(container, shown_text(shown))
    elif shown.shown_file is not None:
        files.on_dashboard(container, shown.shown_file)


def shown_text(shown: Material) -> str:
    """Return a text as HTML, as raters see it; ``show_shown`` shows it."""
    text = cleaned(shown.text or "")
    exhibit = Exhibit(
        exhibit_id="",
        caption="",
        label=None,
        item_id="",
        medium=shown.medium,
        segments=(Segment(text=text),),
        within=shown.within,
    )
    return str(medium_of(shown).shown(exhibit, data_url))


def show_shown(container: Any, html: str, *, kind: str = "") -> None:
    """Show HTML made of outputs, in a frame where it needs fonts: st.html takes MathML out and says nothing."""
    class_ = kind and f" {kind}"
    whole = f'<div class="spa-report{class_}">{html}</div>'
    if fonts := inline_fonts(html):
        container.iframe(framed(whole, fonts), height=_height(html))
    else:
        container.html(whole)


def _height(html: str) -> int:
    """Return about how many pixels HTML needs: what measures a frame is an inline script, which no policy allows."""
    return min(TALLEST_FRAME, 60 + max(_pixels(one) for one in html.split("<article")))  # they stand side by side


def _pixels(html: str) -> int:
    texts = [re.sub(r"<[^>]*>", "", block) for block in re.split(r"</(?:p|li|tr|h\d|pre)>|<br", html)]
    code = sum(block.count("\n") for block in re.findall(r"<pre.*?</pre>", html, re.DOTALL))
    lines: int = code + sum(-(-len(text.strip()) // LINE) for text in texts)
    return 30 * lines + 50 * html.count('<math display="block"') + 300 * html.count("<img")


def framed(html: str, fonts: str) -> str:
    """Return the document of a frame: it may use its own style and fonts, and load or run nothing."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{FRAME_POLICY}">'
    style = f"<style>{common_style()}{_style()}{FRAME_STYLE}{fonts}</style>"
    return f'<!doctype html><html><head><meta charset="utf-8">{policy}{style}</head><body>{html}</body></html>'


@cache
def _style() -> str:
    """Return the style of the pages, and that of the media for what raters see."""
    own = (files("streamlit_app") / "sections.css").read_text(encoding="utf-8")
    media = [path.read_text(encoding="utf-8") for one in all_media() for path in one.collected if path.suffix == ".css"]
    return own + re.sub(r"@font-face \{[^}]*\}\n", "", "".join(media))  # fonts are not served here


def _cell(tag: str, shown: object, value: object) -> str:
    """Return a cell, to the right where the value of its column is a number."""
    number = isinstance(value, int | float)
    text = f"{shown:,}" if number and shown is value else escape("" if shown is None else str(shown))
    return f'<{tag} class="number">{text}</{tag}>' if number else f"<{tag}>{text}</{tag}>"


def show_sections(sections: Mapping[str, Section]) -> bool:
    """Show sections of the report under their titles and return whether there was any."""
    from analysis.printing.document import legends, whole

    for section in map(whole, sections.values()):
        st.subheader(plain(section.title), anchor=section.id)
        show_blocks(section.blocks, legends((section,)))
    return bool(sections)


def show_blocks(blocks: Sequence[Block], notes: Mapping[str, tuple[str, ...]]) -> None:
    """Show blocks of a report in their order; ``notes`` are what is read under each table."""
    from analysis.printing.document import Figure, Fold
    from analysis.report.html import render_blocks

    waiting: list[Block] = []

    def flush() -> None:
        if waiting:
            st.html(f'<div class="spa-report">{with_short_names(render_blocks(waiting, notes))}</div>')
            waiting.clear()

    for block in blocks:
        if not isinstance(block, Figure | Fold):
            waiting.append(block)
            continue
        flush()
        if isinstance(block, Figure):
            show_figure(block.svg, block.caption)
        else:
            with st.expander(plain(block.summary)):
                show_blocks(block.blocks, notes)
    flush()


def with_short_names(html: str) -> str:
    """Return HTML in which long ids of annotators, alone in a cell, are short and whole on hover.

    >>> with_short_names("<td>8ce3872243bfa2ce7677</td><td>Ada</td>")
    '<td><abbr title="8ce3872243bfa2ce7677">8ce387</abbr></td><td>Ada</td>'
    """
    from analysis.monitoring.short_names import short_names

    names = short_names(LONG_ID.findall(html))
    return LONG_ID.sub(lambda found: f'<abbr title="{found[0]}">{names[found[0]]}</abbr>', html)


def show_figure(svg: str, caption: str = "") -> None:
    """Show a figure of the analysis as a picture, its ink that of the page."""
    if svg:
        ink = DARK_INK if st.context.theme.type == "dark" else LIGHT_INK
        st.image(svg.replace("currentColor", ink), width=min(FIGURE_WIDTH, _width(svg)))
    if caption:
        st.caption(plain(caption))


def _width(svg: str) -> int:
    """Return the width that a figure was drawn for, so that its words are as large as those of the page."""
    drawn = re.search(r'<svg[^>]* width="(\d+)', svg)
    return int(drawn[1]) if drawn else FIGURE_WIDTH


def style() -> None:
    """Give the report's parts their look, light or dark as the page is."""
    st.html(f"<style>{_style()}</style>")
