"""The table ``reading``: how each output was seen on each page of a person's form, and how that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from spa.media import length_of, minutes_to_read, words_of
from spa.records.form import Exhibit, Form, Page
from spa.responses.payloads import Payload, fields_of
from spa.responses.reading_evidence import READING, PageExposure, clocked_seconds, parse_exposure, seconds_played
from spa.responses.reading_steps import SERVED, parse_served, served_exposure, signed_text

# measured by the page's script, or by the server, which served the outputs one by one; refuted: the script says more
# time than passed on the server's clock
KnownBy = Literal["script", "server", "refuted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownExposure:
    """How a page was seen, and how that is known."""

    exposure: PageExposure
    known_by: KnownBy


def may_be_measured(payloads: tuple[Payload, ...]) -> bool:
    """Tell whether some page of a visit may have evidence, without reading what was sent."""
    return any(f'"{field}"' in payload.body for payload in payloads for field in (READING, SERVED))


def exposures_of(
    form: Form, payloads: tuple[Payload, ...], *, submission_id: str, keyed: Callable[[str], str], clocked: bool
) -> dict[str, KnownExposure]:
    """Return how each page of a visit was seen, by page id; pages without evidence that can be read are absent.

    What was sent last for a page counts. ``keyed`` is the store's keyed hash; a visit that is not ``clocked`` is a
    simulated one, which reads at once.
    """
    last = {payload.page_id: payload for payload in payloads}
    fields = {page_id: fields_of(payload.body) for page_id, payload in last.items()}
    found = {}
    for page in form.pages:
        sent = fields.get(page.page_id, {})
        try:
            if isinstance(sent.get(READING), str):
                found[page.page_id] = KnownExposure(exposure=parse_exposure(sent[READING], page), known_by="script")
            elif isinstance(sent.get(SERVED), str):
                found[page.page_id] = _served(page, sent[SERVED], last[page.page_id].received_at, submission_id, keyed)
        except ValueError:  # refused when it came
            continue
    if not clocked:
        return found
    said = [
        (name, last[name].received_at, one.exposure.seconds) for name, one in found.items() if one.known_by == "script"
    ]
    most = clocked_seconds(said, min(payload.received_at for payload in payloads))
    return {
        name: replace(one, known_by="refuted") if one.exposure.seconds > most.get(name, inf) else one
        for name, one in found.items()
    }


def _served(page: Page, text: str, until: float, submission_id: str, keyed: Callable[[str], str]) -> KnownExposure:
    served = parse_served(text, lambda listed: keyed(signed_text(submission_id, page.page_id, listed)))
    return KnownExposure(exposure=served_exposure(page, served, until=until), known_by="server")


def exposure_rows(
    form: Form, exposures: Mapping[str, KnownExposure], systems: Mapping[str, str], positions: Mapping[str, int]
) -> Iterator[tuple[object, ...]]:
    """Yield the columns ``EXPOSED`` for each output on the pages that were measured.

    ``exposures`` is what :func:`exposures_of` returned; ``systems`` and ``positions`` give system id and column by
    label.
    """
    for page in form.pages:
        known = exposures.get(page.page_id)
        if known is not None:
            for exhibit in page.measured or (None,):
                yield (*_exposure_row(page, known.exposure, exhibit, systems, positions), known.known_by)


def _exposure_row(
    page: Page,
    exposure: PageExposure,
    exhibit: Exhibit | None,
    systems: Mapping[str, str],
    positions: Mapping[str, int],
) -> tuple[object, ...]:
    about = page.page_id, page.kind, exposure.seconds
    if exhibit is None:
        return (*about, *(None,) * 15)
    label, words = exhibit.label, words_of(exhibit)
    clip = exhibit.item_id if label is None else None
    shown: tuple[object, ...] = (None,) * 6
    if label is not None:
        shown = exhibit.item_id, systems[label], exhibit.sample, label, positions.get(label), words
    seen = exposure.outputs.get(exhibit.exhibit_id)
    measured = (None, 0.0, 0.0) if seen is None else (seen.first_seen, seen.seconds, seen.scrolled)
    usual = None if words is None else round(60 * minutes_to_read(exhibit), 2)
    return (*about, *shown, *measured, exhibit.turn, usual, *_clip_cells(exhibit, exposure), clip)


def _clip_cells(exhibit: Exhibit, exposure: PageExposure) -> tuple[object, ...]:
    """Return how long a clip is, how much of it was played, and whether somebody said that it does not play."""
    length = length_of(exhibit)
    if length is None:
        return None, None, None
    parts = exposure.played.get(exhibit.exhibit_id, ())
    return round(length, 2), seconds_played(parts, length), int(exhibit.exhibit_id in exposure.unplayable)
