"""Evidence of reading: what the page's script measured of each output, validated when it arrives.

It arrives in one field beside a page's answers and is stored with them. Browsers without script send none and are
served outputs one by one instead, see :mod:`spa.responses.reading_steps`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import NoReturn

from spa.files import json_object, unique_keys
from spa.forms.texts import READING_TEXTS
from spa.media import least_seconds_of
from spa.records.form import Exhibit, Page
from spa.records.study import Study
from spa.records.texts import Texts

READING = "reading"  # the field; no question is called so
LONGEST = 50_000  # characters; an output takes about 30
MOST_SECONDS = 90 * 24 * 3600.0  # how long a link is remembered
SLACK = 1.0  # seconds by which the script's clock and the server's may differ


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputExposure:
    """How one output was seen on one page."""

    first_seen: float  # on the clock of the page, which runs while the page is on screen; seconds
    seconds: float  # on screen
    scrolled: float | None  # share of its height that was on screen at any time, from its top; None: not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class PageExposure:
    """How one page was seen, summed over its visits."""

    seconds: float  # on screen
    outputs: Mapping[str, OutputExposure]  # by exhibit id; those never on screen are absent


def parse_exposure(text: str, page: Page) -> PageExposure:
    """Parse the field sent with a page: ``{"seconds": s, "outputs": {exhibit_id: [first_seen, seconds, scrolled]}}``.

    Raise ValueError if it is anything else, names an output that is not on the page, or holds a number out of bounds.
    """
    exposure = _parsed(text)
    if not exposure.outputs.keys() <= {exhibit.exhibit_id for exhibit in page.outputs}:
        raise ValueError("expected outputs of the page only")
    return exposure


def _parsed(text: str) -> PageExposure:
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters, got {len(text)}")
    found = json_object(text, _DECODER)
    if set(found) != {"seconds", "outputs"} or not isinstance(found["outputs"], dict):
        raise ValueError("expected an object with seconds and outputs")
    seconds = _number(found["seconds"], MOST_SECONDS)
    outputs = {}
    for exhibit_id, values in found["outputs"].items():
        if not isinstance(values, list) or len(values) != 3:
            raise ValueError("expected three numbers for each output of the page")
        first_seen, on_screen, scrolled = values
        outputs[exhibit_id] = OutputExposure(
            first_seen=_number(first_seen, seconds),
            seconds=_number(on_screen, seconds),
            scrolled=_number(scrolled, 1.0),
        )
    return PageExposure(seconds=seconds, outputs=MappingProxyType(outputs))


def minimum_seconds(page: Page, per_100_words: float) -> dict[str, float]:
    """Return how long each output new on a page must be on screen, in seconds by exhibit id; none where 0."""
    if not per_100_words:
        return {}
    return {one.exhibit_id: least_seconds_of(one, per_100_words) for one in page.new_outputs}


def required_seconds(study: Study, texts: Texts) -> float:
    """Return the least time on screen for 100 words; 0 if nothing is measured, or the language lacks its texts."""
    return study.people.seconds_per_100_words if texts.has(*READING_TEXTS) else 0.0


def unseen_outputs(
    page: Page, exposure: PageExposure, per_100_words: float, *, at_most: float = inf
) -> tuple[Exhibit, ...]:
    """Return the outputs that were not on screen, or for less than their minimum.

    Nobody reads two texts at once: outputs that are on screen together share the time of the page (``at_most`` so many
    seconds of it), in the page's order, so that a wide screen asks for no less time than a narrow one.
    """
    least = minimum_seconds(page, per_100_words)
    left, unseen = min(exposure.seconds, at_most), []
    for exhibit in dict.fromkeys(page.new_outputs):
        if exhibit.exhibit_id not in least:
            continue
        needed, seen = least[exhibit.exhibit_id], exposure.outputs.get(exhibit.exhibit_id)
        if seen is None or seen.seconds < needed or round(left - needed, 2) < 0:
            unseen.append(exhibit)
        else:
            left -= needed
    return tuple(unseen)


def clocked_seconds(sent: Iterable[tuple[str, float, float]], begun: float) -> dict[str, float]:
    """Return the most that each page of a visit can have been on screen by the server's clock.

    Parameters
    ----------
    sent : iterable of tuple
        Page id, when it was sent (seconds since 1970), and how many seconds its script says that it was on screen: one
        page at a time is on screen, so what a page took is gone for those sent after it.
    begun : float
        When the visit began.

    Returns
    -------
    dict of str to float
        Seconds by page id. Pages sent at the moment at which the visit began are absent: they were filled in elsewhere,
        as those of a HIT, where this clock tells nothing.
    """
    most, spent = {}, 0.0
    for page_id, at, said in sorted(sent, key=lambda one: one[1]):
        if at > begun:
            most[page_id] = max(at - begun - spent, 0.0) + SLACK
            spent += min(said, most[page_id])
    return most


def _number(value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"expected numbers from 0 to {most:g}")
    return float(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected JSON, got {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_refuse_constant)
