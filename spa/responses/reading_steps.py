"""Reading without script: outputs are served one a step, and a signed field says which and when.

The field goes along with each post of a page. A step is served only after the ones before it were on their way to the
reader for their minimum, so that nobody has all outputs by leaving the evidence of the script out.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor
from types import MappingProxyType

from spa.records.form import Exhibit, ExhibitsBlock, Page, TextBlock
from spa.responses.reading_evidence import LONGEST, OutputExposure, PageExposure, clips_to_play, minimum_seconds

SERVED = "served"  # the field; no question is called so
_SHAPE = re.compile(r"(?:[\w-]{1,40}@\d{1,12}\.\d\d )*[0-9a-f]+", re.ASCII)

Sign = Callable[[str], str]  # a keyed hash


def signed_text(submission_id: str, page_id: str, listed: str) -> str:
    """Return what is signed: the outputs of one page of one visit."""
    return f"served/{submission_id}/{page_id}/{listed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedOutput:
    """An output that was served on a step of its own."""

    exhibit_id: str
    served_at: float  # seconds since 1970


def serve_output(served: Sequence[ServedOutput], exhibit: Exhibit, *, now: float) -> tuple[ServedOutput, ...]:
    """Return what was served, with one output more."""
    return *served, ServedOutput(exhibit_id=exhibit.exhibit_id, served_at=floor(now * 100) / 100)


def write_served(served: Sequence[ServedOutput], sign: Sign) -> str:
    """Write the field: each output with its time, and the signature."""
    listed = "".join(f"{output.exhibit_id}@{output.served_at:.2f} " for output in served)
    return listed + sign(listed)


def parse_served(text: str, sign: Sign) -> tuple[ServedOutput, ...]:
    """Read what :func:`write_served` wrote.

    Raise ValueError if it is anything else, or was signed for another page or visit.
    """
    if len(text) > LONGEST or not _SHAPE.fullmatch(text):
        raise ValueError("expected outputs with times and a signature")
    listed, _, signature = text.rpartition(" ")
    listed = f"{listed} " if listed else ""
    if not hmac.compare_digest(sign(listed), signature):
        raise ValueError("expected the signature of this page and visit")
    parts = (entry.partition("@") for entry in listed.split())
    return tuple(ServedOutput(exhibit_id=name, served_at=float(time)) for name, _, time in parts)


def unserved_outputs(
    page: Page, served: Sequence[ServedOutput], per_100_words: float, *, share_played: float = 1.0, until: float
) -> tuple[Exhibit, ...]:
    """Return the new outputs of a page that were not served, or for less than their minimum.

    Each is with the reader until the next one is served, the last ``until`` the page was sent (seconds since 1970);
    ``per_100_words`` is the least time for 100 words, in seconds. Whether a clip was played is known by script alone.
    """
    least = minimum_seconds(page, per_100_words, share_played)
    seen = {name for name, _, seconds in _with_reader(served, until) if seconds >= least.get(name, 0.0)}
    seen -= clips_to_play(page, least)
    return tuple(dict.fromkeys(each for each in page.new_measured if each.exhibit_id not in seen))


def served_exposure(page: Page, served: Sequence[ServedOutput], *, until: float) -> PageExposure:
    """Return how the outputs of a page were seen that were served one by one, the last ``until`` the page was sent."""
    shown = {exhibit.exhibit_id for exhibit in page.measured}
    since = served[0].served_at if served else until
    outputs: dict[str, OutputExposure] = {}
    for name, at, seconds in _with_reader(served, until):
        if name in shown:
            before = outputs.get(name)
            first, spent = (at - since, 0.0) if before is None else (before.first_seen, before.seconds)
            outputs[name] = OutputExposure(
                first_seen=round(first, 2), seconds=round(spent + max(seconds, 0.0), 2), scrolled=None
            )
    return PageExposure(seconds=round(max(until - since, 0.0), 2), outputs=MappingProxyType(outputs))


def _with_reader(served: Sequence[ServedOutput], until: float) -> Iterator[tuple[str, float, float]]:
    """Yield each output that was served, when, and for how many seconds it was with the reader."""
    ends = [*(output.served_at for output in served[1:]), until]
    for output, end in zip(served, ends, strict=False):
        yield output.exhibit_id, output.served_at, end - output.served_at


def step_page(page: Page, exhibit: Exhibit) -> Page:
    """Return a page that shows one of its outputs alone, below the texts that introduce it and its item text."""
    shown = next(block for block in page.blocks if isinstance(block, ExhibitsBlock) and exhibit in block.exhibits)
    before = page.blocks[: page.blocks.index(shown)]
    texts = tuple(block for block in before if isinstance(block, TextBlock))
    return replace(page, blocks=(*texts, replace(shown, exhibits=(exhibit,), repeated=False)))
