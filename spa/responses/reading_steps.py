"""Reading without script: outputs are served one a step, and a signed field says which and when.

The field goes along with each post of a page. A step is served only after the ones before it were on their way to the
reader for their minimum, so that nobody has all outputs by leaving the evidence of the script out.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor

from spa.records.form import Exhibit, ExhibitsBlock, Page, TextBlock
from spa.responses.reading_evidence import LONGEST, minimum_seconds

SERVED = "served"  # the field; no question is called so
_SHAPE = re.compile(r"(?:[\w-]{1,40}@\d{1,12}\.\d\d )*[0-9a-f]+", re.ASCII)

Sign = Callable[[str], str]  # a keyed hash


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
    page: Page, served: Sequence[ServedOutput], per_100_words: float, *, until: float
) -> tuple[Exhibit, ...]:
    """Return the new outputs of a page that were not served, or for less than their minimum.

    Each is with the reader until the next one is served, the last ``until`` the page was sent (seconds since 1970);
    ``per_100_words`` is the least time for 100 words, in seconds.
    """
    least = minimum_seconds(page, per_100_words)
    ends = [*(output.served_at for output in served[1:]), until]
    seen = {
        output.exhibit_id
        for output, end in zip(served, ends, strict=False)
        if end - output.served_at >= least.get(output.exhibit_id, 0.0)
    }
    return tuple(dict.fromkeys(each for each in page.new_outputs if each.exhibit_id not in seen))


def step_page(page: Page, exhibit: Exhibit) -> Page:
    """Return a page that shows one of its outputs alone, below the texts that introduce it and its item text."""
    shown = next(block for block in page.blocks if isinstance(block, ExhibitsBlock) and exhibit in block.exhibits)
    before = page.blocks[: page.blocks.index(shown)]
    texts = tuple(block for block in before if isinstance(block, TextBlock))
    return replace(page, blocks=(*texts, replace(shown, exhibits=(exhibit,), repeated=False)))
