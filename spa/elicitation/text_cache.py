"""What the forms of one study say over and over: filled in once, the same record on every form."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar

from spa.media import medium_of
from spa.records.clean_text import cleaned
from spa.records.form import Segment
from spa.records.study import Study
from spa.records.texts import Texts

KEPT = 4096  # texts, and outputs: those of a large study do not all fit, and need not
TURN = "_turn"  # end of the names of texts that speak of one turn of an output
T = TypeVar("T")


class TextCache:
    """The texts of one study, and what is made of its labels, pairs and criteria alone.

    ``say`` fills in a text of the table [form] by its name; a wording for the medium of the outputs comes first.
    ``system`` returns what the system of a label is called on the form, ``clean`` a text by the study's author as
    pages can show it, and ``segments`` the text of an output or item as an exhibit holds it.
    """

    def __init__(self, study: Study, texts: Texts) -> None:
        self.texts = texts
        self.criteria = {criterion.id: criterion for criterion in study.criteria}
        self._wording = TURN if study.outputs.unit == "turn" else medium_of(study.outputs.kind).wording
        self.deals_pairs, self.single_outputs = study.deals_pairs, study.single_outputs  # asked of every label
        self._values: dict[Hashable, Any] = {}
        self.say = lru_cache(KEPT)(self._say)
        self.system = lru_cache(KEPT)(lambda label: self.say("system_label", label=label))
        self.clean = lru_cache(KEPT)(cleaned)
        self.segments = lru_cache(KEPT)(self._segments)

    def cached(self, about: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for labels, pairs or criteria; it is made where it is not there yet."""
        found: T | None = self._values.get(about)
        if found is None:
            found = self._values[about] = make()
        return found

    def _say(self, name: str, **values: str) -> str:
        if self._wording and f"form.{name}{self._wording}" in self.texts.entries:
            name += self._wording
        return self.texts.say(f"form.{name}", **values)

    def _segments(self, text: str) -> tuple[Segment, ...]:
        return (Segment(text=cleaned(text)),)
