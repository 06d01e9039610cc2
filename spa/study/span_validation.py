"""Checks of [spans], once each table of the study file can be read."""

from __future__ import annotations

from collections.abc import Iterator

from spa.study.problems import StudyProblem, find, repeated
from spa.study.study import Study


def span_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about [spans]."""
    section = study.spans
    if section is None:
        return
    yield from repeated("[spans] severities", section.severities)
    yield from repeated("[spans] categories", section.categories)
    if section.weights is not None and len(section.weights) != len(section.severities):
        got = f"{len(section.weights)} for {len(section.severities)}"
        yield find("[spans] weights", "one for each severity", got, "add or remove some")
    if study.outputs.kind == "image":
        yield find("[spans]", "text outputs, to mark words in", "images", "remove it", "outputs")
    for criterion in study.criteria:
        if criterion.mark_differences and criterion.id in study.criteria_of("spans"):
            expected = "false for a criterion of [spans], whose marks are the annotator's"
            yield find(f"[[criteria]] {criterion.id}, mark_differences", expected, "true", "remove it", "spans")
