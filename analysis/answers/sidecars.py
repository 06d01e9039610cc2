"""Sidecars: files beside a study that other commands wrote and that its report takes up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from analysis.statistics.reasons import folded
from analysis.statistics.record import Record, plain, rounded
from spa.errors import AnalysisError, unreadable

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace
    from spa.records.study import Study

METRICS, CONTAMINATION, EXPLANATIONS = "metrics.csv", "contamination.json", "explanations.json"
EXPLANATIONS_REHEARSED = "explanations.rehearsal.json"  # what a rehearsal says is taken up by its own report alone
Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What a command wrote beside the study, not yet read."""

    path: Path
    content: bytes


def explanations_name(workspace: Workspace) -> str:
    """Return the name of what ``spa explanations`` writes of the answers of a study, or of its rehearsal."""
    return EXPLANATIONS_REHEARSED if workspace.chosen.is_rehearsal else EXPLANATIONS


def sidecar_path(study: Study, name: str) -> Path | None:
    """Return a file in the study's folder, where there is one."""
    path = None if study.folder is None else study.folder / name
    return path if path is not None and path.exists() else None


def sidecar_paths(study: Study, name: str) -> list[Path]:
    """Return a file in the study's folder and those of further models, such as name-model.json, by name."""
    stem, suffix = name.split(".")
    found = [] if study.folder is None else sorted(study.folder.glob(f"{stem}-*.{suffix}"))
    first = sidecar_path(study, name)
    return found if first is None else [first, *found]


def read_sidecar_of(study: Study, name: str) -> Sidecar | None:
    """Return the content of a file in the study's folder, where there is one."""
    path = sidecar_path(study, name)
    return None if path is None else read_sidecar(path)


def read_sidecar(path: Path) -> Sidecar:
    """Return the content of a file that another command wrote."""
    try:
        return Sidecar(path=path, content=path.read_bytes())
    except OSError as error:
        raise AnalysisError(unreadable(path, error)) from error


def metric_files(metrics: Path | None) -> dict[str, Path]:
    """Return a table of metrics with that of whole systems beside it, where ``spa metrics`` wrote one."""
    if metrics is None:
        return {}
    corpus = metrics.with_name(f"corpus_{metrics.name}")
    return {"metrics": metrics} | ({"corpus_metrics": corpus} if corpus.exists() else {})


def record_text(record: Record) -> str:
    """Return what :func:`read_record` reads."""
    from pydantic_core import to_json

    return to_json(plain(record), indent=1).decode() + "\n"


def read_record(file: Sidecar, kind: type[Kind]) -> Kind:
    """Read a record of the report from a file.

    Raises
    ------
    AnalysisError
        If the file holds something else.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        content = json.dumps(folded(json.loads(file.content)))
        return rounded(TypeAdapter(kind).validate_json(content, strict=True))
    except json.JSONDecodeError as error:
        problem = f"the file: Invalid JSON ({error})"
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        problem = f"{place}: {first['msg']}"
    except ArithmeticError as error:
        problem = str(error)
    command = file.path.stem.partition("-")[0]
    raise AnalysisError(f"{file.path}: expected what spa {command} writes; {problem}; run it anew")
