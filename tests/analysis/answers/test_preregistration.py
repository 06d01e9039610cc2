"""A plan frozen beforehand: kept for good, found out when changed, and told from what was done."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis import Plan
from analysis.answers.preregistration import FACT, deviations, freeze, frozen_plan, planned
from spa import AnalysisError
from spa.cli import main
from spa.responses.store import Store
from tests.spa.rehearsed import built_example

CONTENT = planned(Plan(), fingerprint="f", annotators=30)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "s.sqlite")


def test_a_frozen_plan_stands_and_keeps_its_hash(store: Store) -> None:
    frozen = freeze(store, CONTENT, now=1000.0)
    assert frozen_plan(store) == frozen
    assert freeze(store, CONTENT, now=2000.0).frozen_at == 1000.0
    with pytest.raises(AnalysisError, match="a plan was frozen before"):
        freeze(store, planned(Plan(fwer=0.1), fingerprint="f", annotators=30), now=3000.0)


def test_a_plan_that_was_changed_in_the_store_is_found_out(store: Store) -> None:
    freeze(store, CONTENT, now=1000.0)
    kept = json.loads(store.meta(FACT) or "")
    kept["content"]["plan"]["fwer"] = 0.2
    store.set_meta(FACT, json.dumps(kept))
    with pytest.raises(AnalysisError, match="the frozen plan was changed"):
        frozen_plan(store)


def test_deviations_name_what_was_planned_and_what_was_done(store: Store) -> None:
    frozen = freeze(store, CONTENT, now=1000.0)
    assert deviations(frozen, CONTENT, annotators=30) == []
    other = planned(Plan(fwer=0.1, consistency_tau=Decimal("1.2")), fingerprint="g", annotators=30)
    told = deviations(frozen, other, annotators=25)
    assert told == [
        'consistency_tau: planned "1.1", used "1.2".',
        "fwer: planned 0.05, used 0.1.",
        "The study was changed: its file, a text, an output or an image differs from what was frozen.",
        "annotators: planned 30, 25 handed in a form.",
    ]
    audited = CONTENT | {"audit": {"rater": "judge", "forms": 160}}
    assert deviations(frozen, audited, annotators=30) == [
        "[audit] forms: planned nothing, used 160.",
        '[audit] rater: planned nothing, used "judge".',
    ]
    late = replace(frozen, submissions=3)
    assert deviations(late, CONTENT, annotators=30) == ["The plan was frozen when 3 forms had been handed in already."]


def spa(*arguments: object) -> Result:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_preregistration_in_report_and_datasheet(tmp_path: Path) -> None:
    """The report says what was fixed beforehand and the datasheet too."""
    study = built_example(tmp_path, annotators=4)
    spa("freeze", study, "--out", tmp_path / "frozen.json")
    assert json.loads((tmp_path / "frozen.json").read_text())["submissions"] == 0
    spa("simulate", study, "--annotators", 4)
    spa("report", study, "--out", tmp_path / "report")
    told = (tmp_path / "report" / "report.md").read_text()
    assert "before anybody had handed in a form" in told
    assert "annotators: planned 24, 4 handed in a form." in told.replace("\\", "")
    spa("heds", study, "--out", tmp_path / "heds")
    sheet = json.loads(next((tmp_path / "heds").glob("heds-overall__spa*.json")).read_text())
    assert sheet["heds-sample_evaluators_design-experimental_design-preregistered"] == "1. Yes (please provide link)"
