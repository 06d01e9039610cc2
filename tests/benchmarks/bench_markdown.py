"""What showing Markdown costs beside the bare parser, on answers of chats.

Each answer is put together from other ones and has lines of its own, so that none is found in the cache of answers.
Formulas are the same in several of them, as those of real answers are in part; a second figure converts each anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from time import process_time

from markdown_it import MarkdownIt

from spa.media.formulas import formula
from spa.media.markdown_html import rendered
from tests.benchmarks.measure import Figure
from tests.spa.media import chat_answers, chat_answers_elsewhere, chat_answers_in_prose

LENGTH = 5_000  # characters


def answers(number: int) -> list[str]:
    """Return answers of about 5,000 characters, no two alike."""
    parts = (*chat_answers.ANSWERS, *chat_answers_in_prose.ANSWERS, *chat_answers_elsewhere.ANSWERS)
    following = cycle([one.source for one in parts if one.name != "half_finished"])
    return ["\n\n".join(_whole(at, following)) for at in range(number)]


def _whole(at: int, following: Iterator[str]) -> Iterator[str]:
    length, lines = 0, count()
    while length < LENGTH:
        part = f"Answer {at}, part {next(lines)}.\n\n{next(following)}"
        length += len(part)
        yield part


def markdown_beside_the_bare_parser(number: int = 200) -> Figure:
    """Measure the time of the processor as a multiple of markdown-it-py's own, the best of three."""
    return _beside("Markdown beside markdown-it-py", number, lambda source: rendered(source))


def new_formulas_beside_the_bare_parser(number: int = 200) -> Figure:
    """Measure the same where no formula was seen in an answer before."""

    def anew(source: str) -> None:
        formula.cache_clear()
        rendered(source)

    return _beside("Markdown with new formulas", number, anew)


def _beside(name: str, number: int, work: Callable[[str], object]) -> Figure:
    sources = answers(number)
    bare = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for source in sources[:20]:  # what is loaded once is not part of it
        bare.render(source)
        rendered(source)
    own, other = [], []
    for _ in range(3):
        rendered.cache_clear()
        other.append(_seconds(bare.render, sources))
        own.append(_seconds(work, sources))
    note = f"{number:,} answers of {LENGTH:,} characters, {min(own) / number * 1000:.1f} ms each"
    return Figure(name=name, value=min(own) / min(other), unit="x", note=note)


def formulas_per_second(number: int = 300) -> Figure:
    """Convert formulas no two of which are alike."""
    made = [rf"x_{{{at}}} = \frac{{-b \pm \sqrt{{b^2 - 4ac}}}}{{2a}}" for at in range(number)]
    formula("x", display=True)
    seconds = _seconds(lambda latex: formula(latex, display=True), made)
    return Figure(name="formulas", value=number / seconds, unit="1/s", note="each a fraction with a root")


def _seconds(work: Callable[[str], object], sources: Sequence[str]) -> float:
    begun = process_time()
    for source in sources:
        work(source)
    return process_time() - begun
