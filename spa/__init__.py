"""System-level probabilistic assessment: ask people and LLMs which text or image generator is better.

What a Python user needs is imported from here; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.errors import AnalysisError, PlatformError, ResponseError, SpaError, StudyError
    from spa.forms.build import build_form
    from spa.forms.effort import estimate_effort
    from spa.forms.form import Form
    from spa.forms.prompt import render_prompt
    from spa.forms.texts import load_texts
    from spa.responses.answers import answer_schema, parse_answer, parse_answers
    from spa.responses.export import export_tables
    from spa.responses.store import Store
    from spa.responses.submission import Missing, Response, Submission
    from spa.responses.table_files import write_tables
    from spa.responses.tidy_tables import Tables
    from spa.study.assignment import Assignment, BlindingKey
    from spa.study.load import load_study, study_fingerprint
    from spa.study.outputs import load_outputs
    from spa.study.sampling import sample_assignments, study_rng
    from spa.study.study import Study

HOME = {  # where each name lives
    "AnalysisError": "spa.errors",
    "answer_schema": "spa.responses.answers",
    "Assignment": "spa.study.assignment",
    "BlindingKey": "spa.study.assignment",
    "build_form": "spa.forms.build",
    "estimate_effort": "spa.forms.effort",
    "export_tables": "spa.responses.export",
    "Form": "spa.forms.form",
    "load_outputs": "spa.study.outputs",
    "load_study": "spa.study.load",
    "load_texts": "spa.forms.texts",
    "Missing": "spa.responses.submission",
    "parse_answer": "spa.responses.answers",
    "parse_answers": "spa.responses.answers",
    "PlatformError": "spa.errors",
    "render_prompt": "spa.forms.prompt",
    "Response": "spa.responses.submission",
    "ResponseError": "spa.errors",
    "sample_assignments": "spa.study.sampling",
    "SpaError": "spa.errors",
    "Store": "spa.responses.store",
    "Study": "spa.study.study",
    "study_fingerprint": "spa.study.load",
    "study_rng": "spa.study.sampling",
    "StudyError": "spa.errors",
    "Submission": "spa.responses.submission",
    "Tables": "spa.responses.tidy_tables",
    "write_tables": "spa.responses.table_files",
}

__all__ = [  # noqa: RUF022 - as an index is sorted, capitals among the others
    "AnalysisError",
    "answer_schema",
    "Assignment",
    "BlindingKey",
    "build_form",
    "estimate_effort",
    "export_tables",
    "Form",
    "load_outputs",
    "load_study",
    "load_texts",
    "Missing",
    "parse_answer",
    "parse_answers",
    "PlatformError",
    "render_prompt",
    "Response",
    "ResponseError",
    "sample_assignments",
    "SpaError",
    "Store",
    "Study",
    "study_fingerprint",
    "study_rng",
    "StudyError",
    "Submission",
    "Tables",
    "write_tables",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
