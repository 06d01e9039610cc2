"""How fast assignments are drawn and forms are built, and in how much memory.

The study is of the size of the GPT-3 stories of Ethayarajh & Jurafsky (2022): five systems, 750 items,
five texts of each system an annotator.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from time import perf_counter

from spa.forms.build import build_form
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.sampling import sample_assignments, study_rng
from tests.benchmarks.measure import Figure
from tests.strategies import outputs_of, small_study


def assignments_per_second(count: int = 10_000) -> Figure:
    """Draw assignments one after another, keeping none."""
    study, outputs = _story_study()
    return _measure("assignments", count, lambda several: _draw(study, outputs, several))


def forms_per_second(count: int = 200) -> Figure:
    """Build forms and render their prompts, keeping none."""
    study, outputs = _story_study()
    return _measure("forms with prompts", count, lambda several: _build(study, outputs, several))


def _story_study() -> tuple[Study, Outputs]:
    study = small_study(
        systems=[{"id": f"zz{number}"} for number in range(5)],
        spa={"exposure": 5, "comparisons": "chain"},
        likert={},
    )
    return study, outputs_of(study, items=750, texts=("A sentence of a story, neither long nor short. " * 20,))


def _draw(study: Study, outputs: Outputs, count: int) -> None:
    for _ in sample_assignments(study, outputs, count=count, rng=study_rng(study.seed)):
        pass


def _build(study: Study, outputs: Outputs, count: int) -> None:
    texts = load_texts(study.language, study.texts)
    for assignment, key in sample_assignments(study, outputs, count=count, rng=study_rng(study.seed)):
        render_prompt(build_form(study, outputs, assignment, key, texts))


def _measure(name: str, count: int, work: Callable[[int], None]) -> Figure:
    work(2)  # what is loaded once is not part of it
    started = perf_counter()
    work(count)
    seconds = perf_counter() - started
    tracemalloc.start()  # apart from the timing, which it slows down several times
    work(max(2, count // 10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    note = f"{count:,} of 5 systems x 750 items, exposure 5"
    return Figure(name=name, value=count / seconds, unit="1/s", peak_mib=peak / 2**20, note=note)
