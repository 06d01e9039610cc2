"""Files beside a study that other commands wrote and that its report takes up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from analysis.statistics.record import Record
from spa.errors import AnalysisError

if TYPE_CHECKING:
    from spa.study.study import Study

METRICS, CONTAMINATION, EXPLANATIONS = "metrics.csv", "contamination.json", "explanations.json"
Kind = TypeVar("Kind", bound=Record)


def file_beside(study: Study, name: str) -> Path | None:
    """Return a file in the study's folder, where there is one."""
    path = None if study.folder is None else study.folder / name
    return path if path is not None and path.exists() else None


def record_text(record: Record) -> str:
    """Return what :func:`read_record` reads."""
    from pydantic_core import to_json

    return to_json(record, indent=1, inf_nan_mode="constants").decode() + "\n"


def read_record(path: Path, kind: type[Kind]) -> Kind:
    """Read a record of the report from a file.

    Raises
    ------
    AnalysisError
        If the file cannot be read, or holds something else.
    """
    from pydantic import TypeAdapter, ValidationError

    command = f"spa {path.stem}"
    try:
        return TypeAdapter(kind).validate_json(json.dumps(json.loads(path.read_bytes()), allow_nan=False), strict=True)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise AnalysisError(f"{path}: expected what {command} writes; {place}: {first['msg']}; run it anew") from error
    except ValueError as error:
        raise AnalysisError(f"{path}: expected what {command} writes, got no JSON ({error}); run it anew") from error
