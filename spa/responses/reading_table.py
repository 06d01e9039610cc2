"""Evidence of reading as a tidy table: how each output was seen on each page, unblinded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spa.forms.effort import count_words
from spa.forms.form import Exhibit, Form, Page
from spa.responses.payloads import Payload, fields_of
from spa.responses.reading_evidence import READING, PageExposure, parse_exposure


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
            yield _row(page, exposure, exhibit, systems, positions)


def _row(
    page: Page,
    exposure: PageExposure,
    exhibit: Exhibit | None,
    systems: Mapping[str, str],
    positions: Mapping[str, int],
) -> tuple[object, ...]:
    about = page.page_id, page.kind, exposure.seconds
    if exhibit is None or exhibit.label is None:
        return (*about, *(None,) * 9)
    label, words = exhibit.label, None if exhibit.image else count_words(exhibit.text)
    shown = exhibit.item_id, systems[label], exhibit.sample, label, positions.get(label), words
    seen = exposure.outputs.get(exhibit.exhibit_id)
    return (*about, *shown, *((None, 0.0, 0.0) if seen is None else (seen.first_seen, seen.seconds, seen.scrolled)))
