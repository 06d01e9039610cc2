"""Studies in which a rater answers all forms and people a part: rows, order, and what may not be an audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Plan
from analysis.audit.audit_rows import audit_rows
from analysis.audit.audited_mean import audited_mean
from spa.commands.build import build
from spa.errors import StudyError
from spa.responses.rehearsal import draw_rehearsal
from spa.responses.store import Store
from spa.study.load import load_study
from tests.analysis.made_answers import check, choices, preferences, ratings

FORMS, ASKED = 60, 20
OPEN = Plan(consistency_tau=None)


def rows_of(kind: str, frame: pl.DataFrame) -> list[Any]:
    from analysis.answers.input import prepare_input

    prepared = prepare_input(check(llms=("judge",), **{kind: frame}), OPEN)
    return list(audit_rows(prepared.kept, prepared.orders, prepared.plan, rater="judge"))


def test_audits_of_every_kind_have_a_value_a_form() -> None:
    """Preferences, shares won and differences: the estimate of the same forms' values, whatever the kind."""
    rng = np.random.default_rng(1)
    llm = rng.choice([0.25, 0.5, 0.75], FORMS)
    people = np.clip(llm + rng.choice([-0.25, 0.0, 0.25], FORMS), 0, 1)
    forms = [f"f{form}" for form in range(FORMS)]
    said = [(f"p{form}", people[form]) for form in range(ASKED)] + [("judge", one) for one in llm]
    where = [*forms[:ASKED], *forms]
    stated = preferences([(who, "x", "y", value) for who, value in said], assignment_id=where)
    won = [(who, value) for who, value in said for _ in range(4)]
    picked = choices(
        [
            (who, f"i{turn % 4}", "x", "y", "x" if turn % 4 < 4 * value else "y")
            for turn, (who, value) in enumerate(won)
        ],
        assignment_id=[form for form in where for _ in range(4)],
    )
    rated = ratings(
        [(who, "i", system, 3 + (4 * value if system == "x" else 0)) for who, value in said for system in ("x", "y")],
        assignment_id=[form for form in where for _ in range(2)],
    )
    expected = audited_mean(
        np.where(np.arange(FORMS) < ASKED, people, np.nan), llm, np.full(FORMS, ASKED / FORMS), confidence=0.95
    )
    for kind, frame, scale in (("preferences", stated, 1), ("choices", picked, 1), ("ratings", rated, 4)):
        (row,) = rows_of(kind, frame)
        assert (row.n_forms, row.n, row.system_x, row.system_y) == (FORMS, ASKED, "x", "y")
        assert row.estimate == pytest.approx(scale * expected.estimate)
        assert row.ci_high == pytest.approx(scale * (expected.ci_high or 0))
        assert row.people_mean == pytest.approx(scale * people[:ASKED].mean())
        assert 0 < row.saved < 1
        (other,) = rows_of(kind, frame.sample(fraction=1, shuffle=True, seed=2))
        assert other.estimate == pytest.approx(row.estimate)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from spa.commands.init import init

    folder = tmp_path_factory.mktemp("audit") / "study"
    assert CliRunner().invoke(init, [str(folder), "--example", "audit"]).exit_code == 0
    return folder / "study.toml"


def test_people_are_given_the_first_forms_of_an_audit(study: Path, tmp_path: Path) -> None:
    """160 forms for raters, places and links for 40 people; building again changes nothing; so in the rehearsal."""
    target = tmp_path / "audit.sqlite"
    for _ in range(2):
        assert CliRunner().invoke(build, [str(study), "--store", str(target)]).exit_code == 0
    with Store.open(target) as store:
        assert (len(store.assignments), store.assignments.for_people) == (160, 40)
        assert len(store.tokens(personal=True)) == 40
        draw_rehearsal(store, tmp_path / "rehearsal.sqlite")
    with Store.open(tmp_path / "rehearsal.sqlite") as drawn:
        assert (len(drawn.assignments), drawn.assignments.for_people) == (160, 40)
    refused = CliRunner().invoke(build, [str(study), "--store", str(target), "--annotators", "50"])
    assert "[audit] forms" in refused.output


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("forms = 160", "forms = 40", "more forms than people answer"),
        ('rater = "simulated-rater"', 'rater = "gpt"', '"simulated-rater"'),
        ("annotators = 40", "annotators = 40\nsessions = 2", "sessions = 1"),
        ("[audit]", '[stopping]\nrule = "when_decided"\n\n[audit]', 'rule = "fixed"'),
    ],
)
def test_what_is_no_audit_is_refused(study: Path, old: str, new: str, wrong: str) -> None:
    changed = study.with_name("changed.toml")
    changed.write_text(study.read_text().replace(old, new, 1))
    with pytest.raises(StudyError, match=r"\[audit\]") as refused:
        load_study(changed)
    assert wrong in str(refused.value)
