"""What a reader must know before using the numbers, warnings of one kind in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analysis.printing.document import Block, Bullets, Fold, Paragraph, Section
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.words import listed, plural, sentence
from analysis.records.overview import WarningRow
from analysis.records.results import Results

MOST_NAMED = 3  # groups named in one line
VARIES = re.compile(r"\d+(?:\.\d+)?(?![\w%])|preferences|ratings|choices")
PLURAL = re.compile(r"s\b")


def warnings(results: Results) -> Section | None:
    """List all main caveats where the first page has not room for them, then the warnings by kind.

    The appendix has each warning.
    """
    names = Names(results)
    merged, kinds = warning_lines(results), _by_kind(results)
    n = sum(map(len, kinds))
    blocks = [*_all_caveats(results)]
    blocks += [Bullets(items=merged)] if merged else []
    if not blocks:
        return None
    each: tuple[Block, ...] = ()
    if len(merged) < n:
        lines = tuple(_addressed([group], about, names) for own in kinds for group, about in own)
        each = (Fold(summary="The same, group by group", blocks=(Bullets(items=lines),)),)
    return Section(id="warnings", title="Warnings", blocks=tuple(blocks), appendix=each)


def warning_lines(results: Results) -> tuple[str, ...]:
    """Return the lines of the section, one a kind of warning."""
    return tuple(_merged(one, Names(results)) for one in _by_kind(results))


def _by_kind(results: Results) -> list[list[tuple[str, str]]]:
    """Return the warnings (group, rest of the text), those that say the same together."""
    rows = list(dict.fromkeys(_parts(row) for row in results.warning_rows))
    texts = rows or [("", " ".join(text.split())) for text in results.warnings]  # of a file that is older than rows
    return [*grouped(texts, lambda text: (PLURAL.sub("", VARIES.sub("#", text[1])), bool(text[0]))).values()]


def _all_caveats(results: Results) -> list[Block]:
    found = results.headline
    if found is None or not found.more_problems:
        return []
    every = (*found.problems, *found.more_problems)
    return [
        Paragraph(text=f"All {len(every)} main caveats, the most severe first:"),
        Bullets(items=tuple(problem.text for problem in every)),
        Paragraph(text="What else to keep in mind:"),
    ]


def _parts(row: WarningRow) -> tuple[str, str]:
    """Return the id of the group that a warning is about, if any, and what follows it in the text."""
    return row.group or "", " ".join(row.about.split())


def _merged(own: Sequence[tuple[str, str]], names: Names) -> str:
    """Return one line for warnings that differ in their group, numbers and kinds of answers only."""
    found = [VARIES.findall(about) for _, about in own]
    ranges = [_range(values) for values in zip(*found, strict=True)]
    most = max(own, key=lambda one: [float(value) for value in VARIES.findall(one[1]) if value[0].isdigit()])
    text = VARIES.sub(lambda _: ranges.pop(0), most[1])
    return _addressed(list(dict.fromkeys(group for group, _ in own)), text, names)


def _range(values: Sequence[str]) -> str:
    """Return "3 to 28" of numbers, "preferences and ratings" of words."""
    unlike = list(dict.fromkeys(values))
    if len(unlike) == 1:
        return unlike[0]
    if not unlike[0][0].isdigit():
        return listed(unlike)
    return f"{min(unlike, key=float)} to {max(unlike, key=float)}"


def _addressed(groups: Sequence[str], about: str, names: Names) -> str:
    """Return a warning that begins with the shown names of its groups instead of an id."""
    if groups == [""]:
        return about
    shown = [names.group(group) for group in groups]
    if len(shown) > MOST_NAMED:
        rest = plural(len(shown) - 2, "more group")
        return f"{sentence(listed([*shown[:2], rest]))}{about}"
    first = listed(shown)
    return f"{first if names.kind(groups[0]) == 'llm' else sentence(first)}{about}"
