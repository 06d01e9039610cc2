"""Who sees what, from a file: what was drawn, written and read back gives the same forms; what is wrong is one line."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.elicitation.assignment_json import assignment_to_json
from spa.records.assignment import Assignment, BlindingKey, key_to_json
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.page_rows import pages_csv
from spa.study.sampling import sample_assignments, study_rng
from tests.strategies import studies

Drawn = tuple[Assignment, BlindingKey]


def drawn(study: Study, outputs: Outputs, count: int = 4, seed: int | None = None) -> list[Drawn]:
    rng = study_rng(study.seed if seed is None else seed)
    return list(sample_assignments(study, outputs, count=count, rng=rng))


def from_file(study: Study, path: Path, text: str | None = None, forms: int = 4) -> Study:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    people = study.people.model_copy(update={"annotators": forms})
    design = study.design.model_copy(update={"assignments": path})
    return study.model_copy(update={"people": people, "design": design})


def as_stored(draws: list[Drawn]) -> list[tuple[str, str]]:
    return [(assignment_to_json(assignment), key_to_json(key)) for assignment, key in draws]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=studies(), samples=st.integers(1, 2))
def test_what_is_written_gives_the_same_forms(tmp_path: Path, case: tuple[Study, Outputs], samples: int) -> None:
    """Any study's draw, written and read back under another seed, is the same to the byte."""
    study, outputs = case
    draws = drawn(study, outputs)
    read = from_file(study, tmp_path / "pages.csv", pages_csv(study, draws))
    assert as_stored(drawn(read, outputs, seed=study.seed + 1)) == as_stored(draws)
