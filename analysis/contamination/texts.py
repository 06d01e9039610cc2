"""The texts to score: those of the study that no system wrote, and controls of which it is known whether seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spa.errors import AnalysisError

if TYPE_CHECKING:
    from spa.study.outputs import Outputs
    from spa.study.study import Study

Source = Literal["items", "human outputs", "reference outputs", "controls, seen", "controls, unseen"]
SEEN: Source = "controls, seen"
UNSEEN: Source = "controls, unseen"
SAYS = {"true": SEEN, "1": SEEN, "yes": SEEN, "false": UNSEEN, "0": UNSEEN, "no": UNSEEN}


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

    Raises
    ------
    AnalysisError
        If there is none.
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
    if not found:
        raise AnalysisError(
            f'study {study.id!r}: expected texts of items, or a system with role = "human" or "reference", got none; '
            "outputs of systems are never scored"
        )
    return list({(one.source, one.text): one for one in reversed(found)}.values())[::-1]


def hash_of(texts: Iterable[StudyText]) -> str:
    """Return the SHA-256 (hexadecimal) of the study's texts, without controls."""
    own = [astuple(one) for one in texts if one.source not in (SEEN, UNSEEN)]
    return sha256(json.dumps(own).encode()).hexdigest()


def read_controls(path: Path) -> list[StudyText]:
    """Read labelled texts: a CSV, JSONL or Parquet file with the columns ``text`` and ``seen`` (true or false).

    Raises
    ------
    AnalysisError
        If the file cannot be read, or a row lacks one of them.
    """
    from analysis.answers.reading import read_raw

    table = read_raw(path, {}, frozenset({"text", "seen"}))
    missing = [name for name in ("text", "seen") if name not in table.frame.columns]
    if missing:
        raise AnalysisError(f"{path}: expected the columns text and seen, got no {missing[0]}; add it")
    return list(_controls(path, table.first_row, table.frame.select("text", "seen").iter_rows()))


def _controls(path: Path, first: int, rows: Iterator[tuple[str | None, str | None]]) -> Iterator[StudyText]:
    for number, (text, seen) in enumerate(rows, start=first):
        if not text:
            raise AnalysisError(f"{path} row {number}: expected a text, got nothing; remove the row")
        source = SAYS.get((seen or "").strip().lower())
        if source is None:
            raise AnalysisError(f"{path} row {number}: expected seen to be true or false, got {seen!r}; correct it")
        yield StudyText(source=source, item_id=str(number), text=text)
