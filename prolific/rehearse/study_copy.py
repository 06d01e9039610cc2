"""The copy of a study that is rehearsed: so many annotators, files by their full names, and a table [prolific]."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from spa.errors import StudyError
from spa.study.load import load_study

DESCRIPTION = "<p>You read texts and say which you prefer.</p>"
PAY, MINUTES = "2.00", 10.0
ELSEWHERE = ("only_groups", "exclude_groups", "exclude_studies")  # things that are on the real platform only
FAMILY_STORE = "family.sqlite"  # beside the copy


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCopy:
    """What is rehearsed, and how it is not what the study file says: filled in, or left out."""

    text: str
    project: str
    currency: str
    filled_in: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return what the copy hashes to."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def copy_study(study_path: Path, *, annotators: int | None, seed: int) -> StudyCopy:
    """Return the copy of a study that is to be rehearsed with another number of ``annotators``, or the study's own.

    ``seed`` names the project where the study has none. Raise StudyError if the study cannot be used, or its quotas
    allow no other number.
    """
    study = load_study(study_path)  # refuses what cannot be read, in the user's own file
    document: dict[str, Any] = tomllib.loads(study_path.read_text("utf-8"))
    folder = study_path.resolve().parent
    document["outputs"]["files"] = [str((folder / file).resolve()) for file in document["outputs"]["files"]]
    _name_files(document, folder)
    people: dict[str, Any] = document.setdefault("people", {})
    filled_in = []
    if annotators is not None and annotators != study.people.annotators:
        if study.people.groups:
            raise StudyError(f"{study_path}: [[people.groups]] say how many come; leave --annotators out")
        people["annotators"] = annotators
    if annotators is not None and "most" in document.get("stopping", {}):
        document["stopping"]["most"] = annotators
    if "family_store" in people:  # a rehearsal takes nobody's turn in a real study
        people["family_store"] = FAMILY_STORE
    people.pop("completion_url", None)
    prolific: dict[str, Any] = document.setdefault("prolific", {})
    if annotators is not None:
        prolific.pop("places", None)
    if not prolific:
        filled_in.append("[prolific]: missing table; it needs at least project and description")
        prolific["description"] = DESCRIPTION
    left_out = [name for name in ELSEWHERE if prolific.pop(name, None)]
    if left_out:
        names = ", ".join(left_out)
        filled_in.append(f"[prolific] {names}: not rehearsed; the emulator has no such groups and studies")
    if "project" not in prolific:
        prolific["project"] = hashlib.sha256(f"project {seed}".encode()).hexdigest()[:24]
    if study.people.pay is None and "reward" not in prolific:
        filled_in.append(f"[people] pay: the study says nothing; rehearsed with {PAY} {study.people.currency}")
        people["pay"] = PAY
    if study.people.minutes is None and "minutes" not in prolific:
        filled_in.append(f"[people] minutes: the study says nothing; rehearsed with {MINUTES:g}")
        people["minutes"] = MINUTES
    return StudyCopy(
        text=tomlkit.dumps(document),
        project=str(prolific["project"]),
        currency=study.people.currency,
        filled_in=tuple(filled_in),
    )


def _name_files(value: Any, folder: Path) -> None:
    """Give files beside the study file their full names, wherever a table names one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "file" and isinstance(inner, str):
                value[name] = str((folder / inner).resolve())
            else:
                _name_files(inner, folder)
    elif isinstance(value, list):
        for inner in value:
            _name_files(inner, folder)
