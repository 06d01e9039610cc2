"""Evidence of reading: what the page's script measured of each output, validated when it arrives.

It arrives in one field beside a page's answers and is stored with them. Browsers without script send none and are
served outputs one by one instead, see :mod:`spa.responses.reading_steps`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from itertools import chain
from math import inf
from types import MappingProxyType
from typing import NoReturn

from spa.files import json_object, unique_keys
from spa.forms.texts import PLAYING_TEXTS, READING_TEXTS
from spa.media import least_seconds_of, length_of
from spa.records.form import Exhibit, Page
from spa.records.study import Study
from spa.records.texts import Texts

READING = "reading"  # the field; no question is called so
LONGEST = 50_000  # characters; an output takes about 30
MOST_SECONDS = 90 * 24 * 3600.0  # how long a link is remembered
SLACK = 1.0  # seconds by which the script's clock and the server's may differ
CUT = 0.3  # seconds by which a browser may end a clip before the last of its samples; at most a tenth of it
MOST_PARTS = 40  # of a clip that were played apart

Parts = tuple[tuple[float, float], ...]  # of a clip: start and end, seconds from its beginning


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
    played: Mapping[str, Parts] = field(default_factory=dict)  # by exhibit id: at normal speed, to be heard and seen
    unplayable: frozenset[str] = frozenset()  # exhibit ids of which somebody said that they do not play

    def seconds_of(self, exhibit: Exhibit) -> float | None:
        """Return for how long an output was on screen, of a clip how much of it was played; ``None`` for never."""
        length = length_of(exhibit)
        if length is not None:
            return seconds_played(self.played.get(exhibit.exhibit_id, ()), length)
        seen = self.outputs.get(exhibit.exhibit_id)
        return None if seen is None else seen.seconds


def seconds_played(parts: Parts, length: float) -> float:
    """Return how many seconds of a clip some parts of it cover, each second counted once.

    >>> seconds_played(((0.0, 2.0), (1.0, 3.0), (8.0, 12.0)), 10.0)
    5.0
    """
    covered = until = 0.0
    for start, end in sorted(parts):
        covered += max(min(end, length) - max(start, until), 0.0)
        until = max(until, end)
    return round(covered, 2)


def parse_exposure(text: str, page: Page) -> PageExposure:
    """Parse the field sent with a page: ``{"seconds": s, "outputs": {exhibit_id: [first_seen, seconds, scrolled]}}``.

    Pages with clips add ``"played": {exhibit_id: [start, end, start, end, ...]}``, seconds within the clip, and
    ``"unplayable": [exhibit_id, ...]``.

    Raise ValueError if it is anything else, names an output that is not on the page, or holds a number out of bounds.
    """
    exposure = _parsed(text)
    if not exposure.outputs.keys() <= {exhibit.exhibit_id for exhibit in page.measured}:
        raise ValueError("expected outputs of the page only")
    if exposure.played or exposure.unplayable:
        clips = {exhibit.exhibit_id for exhibit in page.measured if length_of(exhibit) is not None}
        if not exposure.played.keys() | exposure.unplayable <= clips:
            raise ValueError("expected clips of the page only")
    return exposure


def joined_exposure(*exposures: PageExposure) -> PageExposure:
    """Return how a page was seen in several tabs or on several devices, of which nobody knows whether at once.

    Of each output that is the longer time on screen, and all that was played of it.

    >>> short, long = (PageExposure(seconds=s, outputs={"a": OutputExposure(first_seen=1, seconds=s, scrolled=1 / s)})
    ...     for s in (2.0, 4.0))
    >>> joined_exposure(short, long).outputs["a"]
    OutputExposure(first_seen=1, seconds=4.0, scrolled=0.5)
    """
    outputs: dict[str, OutputExposure] = {}
    played: dict[str, Parts] = {}
    for exposure in exposures:
        for name, seen in exposure.outputs.items():
            before = outputs.get(name, seen)
            outputs[name] = OutputExposure(
                first_seen=min(before.first_seen, seen.first_seen),
                seconds=max(before.seconds, seen.seconds),
                scrolled=max(before.scrolled or 0.0, seen.scrolled or 0.0),
            )
        for name, parts in exposure.played.items():
            played[name] = _covered((*played.get(name, ()), *parts))
    return PageExposure(
        seconds=max(exposure.seconds for exposure in exposures),
        outputs=outputs,
        played=played,
        unplayable=frozenset().union(*(exposure.unplayable for exposure in exposures)),
    )


def _covered(parts: Parts) -> Parts:
    """Return parts without those that others cover; at most as many as are sent."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(sorted(found, key=lambda part: part[0] - part[1])[:MOST_PARTS])


def write_exposure(exposure: PageExposure) -> str:
    """Write the field that :func:`parse_exposure` reads."""
    found: dict[str, object] = {
        "seconds": exposure.seconds,
        "outputs": {name: astuple(output) for name, output in exposure.outputs.items()},
    }
    if exposure.played:
        found["played"] = {name: [*chain.from_iterable(parts)] for name, parts in exposure.played.items()}
    if exposure.unplayable:
        found["unplayable"] = sorted(exposure.unplayable)
    return json.dumps(found)


def _parsed(text: str) -> PageExposure:
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters, got {len(text)}")
    found = json_object(text, _DECODER)
    if not {"seconds", "outputs"} <= set(found) <= {"seconds", "outputs", "played", "unplayable"}:
        raise ValueError("expected an object with seconds and outputs")
    if not isinstance(found["outputs"], dict) or not isinstance(found.get("played", {}), dict):
        raise ValueError("expected an object by output")
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
    return PageExposure(
        seconds=seconds,
        outputs=MappingProxyType(outputs),
        played=MappingProxyType({name: _parts(values) for name, values in found.get("played", {}).items()}),
        unplayable=_names(found.get("unplayable", [])),
    )


def _parts(values: object) -> Parts:
    if not isinstance(values, list) or len(values) % 2 or len(values) > 2 * MOST_PARTS:
        raise ValueError(f"expected the starts and ends of at most {MOST_PARTS} parts")
    numbers = [_number(value, MOST_SECONDS) for value in values]
    parts = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if any(end < start for start, end in parts):
        raise ValueError("expected parts that end after their start")
    return parts


def _names(values: object) -> frozenset[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("expected a list of outputs")
    return frozenset(values)


def minimum_seconds(page: Page, per_100_words: float, share_played: float = 1.0) -> dict[str, float]:
    """Return how long each output new on a page must be on screen, in seconds by exhibit id; none where 0.

    Of a clip it is how much must be played: a share of its length, less what browsers may cut off at its end.
    """
    if not per_100_words:
        return {}
    least = {}
    for one in page.new_measured:
        length = length_of(one)
        if length is None:
            least[one.exhibit_id] = least_seconds_of(one, per_100_words)
        elif share_played:
            least[one.exhibit_id] = round(max(share_played * length - min(CUT, length / 10), 0.0), 2)
    return least


def clips_to_play(page: Page, least: Mapping[str, float]) -> frozenset[str]:
    """Return the ids of the outputs that must be played, of those with a least time: they need the page's script."""
    return frozenset(one.exhibit_id for one in page.new_measured if one.exhibit_id in least and length_of(one))


def required_seconds(study: Study, texts: Texts) -> float:
    """Return the least time on screen for 100 words; 0 if nothing is measured, or the language lacks its texts."""
    return study.people.seconds_per_100_words if texts.has(*READING_TEXTS) else 0.0


def share_to_play(study: Study, texts: Texts) -> float:
    """Return the least share of a clip that is played; 0 if it is not asked for, or the language lacks its texts."""
    return study.people.share_played if texts.has(*PLAYING_TEXTS) else 0.0


def unseen_outputs(
    page: Page, exposure: PageExposure, per_100_words: float, *, share_played: float = 1.0, at_most: float = inf
) -> tuple[Exhibit, ...]:
    """Return the outputs that were not on screen, or for less than their minimum.

    Nobody reads two texts at once, nor hears two clips: outputs that are on screen together share the time of the page
    (``at_most`` so many seconds of it), in the page's order, so that a wide screen asks for no less time than a narrow
    one. A clip of which somebody said that it does not play is not asked for.
    """
    least = minimum_seconds(page, per_100_words, share_played)
    left, unseen = min(exposure.seconds, at_most), []
    for exhibit in dict.fromkeys(page.new_measured):
        if exhibit.exhibit_id not in least or exhibit.exhibit_id in exposure.unplayable:
            continue
        needed, seen = least[exhibit.exhibit_id], exposure.seconds_of(exhibit)
        if seen is None or seen < needed or round(left - needed, 2) < 0:
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
