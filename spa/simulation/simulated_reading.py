"""How a simulated annotator reads: the evidence that the script of the pages would send."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spa.forms.effort import count_words
from spa.forms.form import Exhibit, Form, Page
from spa.responses.reading_evidence import IMAGE_SECONDS, minimum_seconds

RACING_WORDS_PER_MINUTE = 1500.0  # nobody reads so fast
NOISE = 0.3  # standard deviation of the log pace from one output to the next
SKIPPED = 0.5  # share of the outputs that whoever skips outputs leaves at their first lines
QUESTION_SECONDS = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingHabit:
    """How one annotator reads."""

    words_per_minute: float
    skips: bool
    races: bool
    rng: np.random.Generator

    def evidence(self, form: Form, seconds_per_100_words: float) -> dict[str, str]:
        """Return what the script sends with each page, by page id.

        Outputs of one row stand side by side and are on screen together, for as long as all of them are read
        and at least until the page may be left. What earlier pages showed is not looked at again.
        """
        return {page.page_id: self._page(page, minimum_seconds(page, seconds_per_100_words)) for page in form.pages}

    def _page(self, page: Page, least: Mapping[str, float]) -> str:
        seconds = 0.0
        outputs: dict[str, list[float]] = {}
        for row in _rows(page):
            skipped = [self.skips and self.rng.random() < SKIPPED for _ in row]
            paces = [0.0 if skip else self._seconds(one) for one, skip in zip(row, skipped, strict=True)]
            passed = round(max(sum(paces), *(least.get(one.exhibit_id, 0.0) for one in row)), 2)
            for one, skip in zip(row, skipped, strict=True):
                if passed:
                    outputs[one.exhibit_id] = [round(seconds, 2), passed, 0.3 if skip else 1.0]
            seconds += passed
        seconds += QUESTION_SECONDS * len(page.questions)
        return json.dumps({"seconds": round(seconds, 2), "outputs": outputs})

    def _seconds(self, exhibit: Exhibit) -> float:
        noise = float(np.exp(NOISE * self.rng.standard_normal()))
        if exhibit.image:
            return IMAGE_SECONDS * (1 if self.races else 5 * noise)
        speed = RACING_WORDS_PER_MINUTE if self.races else self.words_per_minute
        return count_words(exhibit.text) * 60 / speed * noise


def _rows(page: Page) -> Iterator[tuple[Exhibit, ...]]:
    """Yield the outputs new on a page row by row, each output once."""
    new, done = {one.exhibit_id for one in page.new_outputs}, set[str]()
    for block in page.exhibits:
        row = tuple(one for one in block.exhibits if one.exhibit_id in new - done)
        done |= {one.exhibit_id for one in row}
        if row:
            yield row
