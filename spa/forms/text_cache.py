"""What the forms of one study say over and over: filled in once, the same record on every form."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

from spa.forms.form import Segment
from spa.forms.texts import Texts
from spa.study.output_files import cleaned
from spa.study.study import Study

KEPT = 4096  # texts, and outputs: those of a large study do not all fit, and need not
T = TypeVar("T")


class TextCache:
    """The texts of one study, and what is made of its labels, pairs and criteria alone.

    ``say`` fills in a text of the table [form] by its name; where outputs are images, their wording comes first.
    ``system`` returns what the system of a label is called on the form, ``clean`` a text by the study's author as
    pages can show it, and ``segments`` the text of an output or item as an exhibit holds it.
    """

    def __init__(self, study: Study, texts: Texts) -> None:
        self.texts = texts
        self.criteria = {criterion.id: criterion for criterion in study.criteria}
        self._images = study.outputs.kind == "image"
        self._values: dict[Hashable, Any] = {}
        self.say = lru_cache(KEPT)(self._say)
        self.system = lru_cache(KEPT)(lambda label: self.say("system_label", label=label))
        self.clean = lru_cache(KEPT)(cleaned)
        self.segments = lru_cache(KEPT)(self._segments)

    def cached(self, about: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for labels, pairs or criteria; it is made where it is not there yet."""
        try:
            return cast(T, self._values[about])
        except KeyError:
            return cast(T, self._values.setdefault(about, make()))

    def _say(self, name: str, **values: str) -> str:
        if self._images and f"form.{name}_image" in self.texts.entries:
            name = f"{name}_image"
        return self.texts.say(f"form.{name}", **values)

    def _segments(self, text: str) -> tuple[Segment, ...]:
        return (Segment(text=cleaned(text)),)
