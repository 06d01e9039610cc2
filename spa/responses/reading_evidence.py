"""Evidence of reading: what the page's script measured of each output, validated when it arrives.

It arrives in one field beside a page's answers and is stored with them. Browsers without script send none and are
served outputs one by one instead, see :mod:`spa.responses.reading_steps`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

from spa.files import json_object, unique_keys
from spa.forms.texts import READING_TEXTS
from spa.media import least_seconds_of, words_of
from spa.records.form import Exhibit, Form, Page
from spa.records.study import Study
from spa.records.texts import Texts
from spa.responses.payloads import Payload, fields_of

READING = "reading"  # the field; no question is called so
LONGEST = 50_000  # characters; an output takes about 30
MOST_SECONDS = 90 * 24 * 3600.0  # how long a link is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputExposure:
    """How one output was seen on one page."""

    first_seen: float  # on the clock of the page, which runs while the page is on screen; seconds
    seconds: float  # on screen
    scrolled: float  # share of its height that was on screen at any time, from its top


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


def unseen_outputs(page: Page, exposure: PageExposure, per_100_words: float) -> tuple[Exhibit, ...]:
    """Return the outputs that were not on screen, or for less than their minimum."""
    least = minimum_seconds(page, per_100_words)
    seen = {name for name, output in exposure.outputs.items() if output.seconds >= least.get(name, 0.0)}
    unseen = least.keys() - seen
    return tuple(dict.fromkeys(each for each in page.new_outputs if each.exhibit_id in unseen))


def with_evidence(payloads: tuple[Payload, ...]) -> dict[str, str]:
    """Return the evidence sent last for each page, by page id; pages sent without are absent."""
    fields = {payload.page_id: fields_of(payload.body) for payload in payloads}
    return {page_id: sent[READING] for page_id, sent in fields.items() if isinstance(sent.get(READING), str)}


def exposure_rows(
    form: Form, evidence: Mapping[str, str], systems: Mapping[str, str], positions: Mapping[str, int]
) -> Iterator[tuple[object, ...]]:
    """Yield the columns of table ``READING`` for each output on the pages with evidence that can be read.

    ``evidence`` is what :func:`with_evidence` returned; ``systems`` and ``positions`` give system id and column by
    label.
    """
    for page in form.pages:
        if page.page_id not in evidence:
            continue
        try:
            exposure = parse_exposure(evidence[page.page_id], page)
        except ValueError:  # refused when it came
            continue
        for exhibit in page.outputs or (None,):
            yield _exposure_row(page, exposure, exhibit, systems, positions)


def _exposure_row(
    page: Page,
    exposure: PageExposure,
    exhibit: Exhibit | None,
    systems: Mapping[str, str],
    positions: Mapping[str, int],
) -> tuple[object, ...]:
    about = page.page_id, page.kind, exposure.seconds
    if exhibit is None or exhibit.label is None:
        return (*about, *(None,) * 10)
    label, words = exhibit.label, words_of(exhibit)
    shown = exhibit.item_id, systems[label], exhibit.sample, label, positions.get(label), words
    seen = exposure.outputs.get(exhibit.exhibit_id)
    measured = (None, 0.0, 0.0) if seen is None else (seen.first_seen, seen.seconds, seen.scrolled)
    return (*about, *shown, *measured, exhibit.turn)


def _number(value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"expected numbers from 0 to {most:g}")
    return float(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected JSON, got {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_refuse_constant)
