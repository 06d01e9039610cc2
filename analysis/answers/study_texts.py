"""The texts of a study that no system wrote, and controls of which it is known whether a model has seen them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from spa.records.outputs import Outputs
    from spa.records.study import Study

Source = Literal["items", "human outputs", "reference outputs", "controls, seen", "controls, unseen"]
SEEN: Source = "controls, seen"
UNSEEN: Source = "controls, unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyText:
    """One text; controls are numbered by their row."""

    source: Source
    item_id: str
    system: str | None = None
    sample: int | None = None
    text: str


def study_texts(study: Study, outputs: Outputs) -> list[StudyText]:
    """Return the items' texts and the outputs of systems declared human or reference, each text once.

    Outputs of other systems are left out: a model finds what models write probable whether it was trained on it or not.
    """
    roles: dict[str, Source] = {
        system.id: "human outputs" if system.role == "human" else "reference outputs"
        for system in study.systems
        if system.role != "system"
    }
    found = [StudyText(source="items", item_id=item.item_id, text=item.text) for item in outputs.items if item.text]
    for one in outputs.all():
        if one.system in roles and one.text is not None:
            source = roles[one.system]
            found.append(
                StudyText(source=source, item_id=one.item_id, system=one.system, sample=one.sample, text=one.text)
            )
    return list({(one.source, one.text): one for one in reversed(found)}.values())[::-1]


def hash_of(texts: Iterable[StudyText]) -> str:
    """Return the SHA-256 (hexadecimal) of the study's texts, without controls."""
    own = [astuple(one) for one in texts if one.source not in (SEEN, UNSEEN)]
    return sha256(json.dumps(own).encode()).hexdigest()
