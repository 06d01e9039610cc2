"""Studies in which a rater answers all forms and people a part: rows, order, and what may not be an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Plan
from analysis.answers.live_rows import AuditedStudy, LiveGroup, LivePairRow
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


def rows_of(kind: str, frame: pl.DataFrame, plan: Plan = OPEN, audited: AuditedStudy | None = None) -> list[Any]:
    from analysis.answers.input import prepare_input

    llms = tuple(sorted({"judge", "judge2"} & set(frame["annotator_id"])))
    prepared = prepare_input(check(llms=llms, **{kind: frame}), plan)
    return list(audit_rows(prepared.kept, prepared.orders, prepared.plan, rater="judge", audited=audited))


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


def decided(pairs: Sequence[dict[str, Any]], answers: str, **more: Any) -> AuditedStudy:
    """Return an audit that ends when decided, with what it says of pairs."""
    group = LiveGroup(group="human", units=ASKED, excluded=0, enough=True, all_decided=True)
    about = {"group": "human", "exposure": None, "mean_asked": None, "expected_more": None, "n_asked": ASKED}
    rows = [LivePairRow(**about | {"decided_after": 9 if one["decision"] else None, **one}) for one in pairs]
    chances = {f"f{form}": 0.5 for form in range(FORMS)}
    about_all = {"chances": chances, "drawn": tuple(chances)[:ASKED], "by_doubt": False, "people": group}
    known = {"error_rate": 0.05, "scale_width": None, **about_all, **more}
    return AuditedStudy(answers=answers, pairs=tuple(rows), **known)


def test_decisions_of_audits_keep_their_side_and_scale() -> None:
    """A pair noted the other way round: its side is turned, on the scale of the ratings; what is low there is good."""
    rng = np.random.default_rng(2)
    said = [(who, f"f{form}") for form in range(FORMS) for who in ("judge", *([f"p{form}"] if form < ASKED else []))]
    rows = [(who, "i", system, int(rng.integers(1, 6))) for who, _ in said for system in ("x", "y")]
    where = [form for _, form in said for _ in range(2)]
    both = pl.concat([ratings(rows, assignment_id=where, criterion=name) for name in ("overall", "errors")])
    pair = {"system_x": "y", "system_y": "x", "n": 9, "low": 0.2, "mean": 0.3, "high": 0.6}
    noted = decided([{**pair, "criterion": name, "decision": "y"} for name in ("overall", "errors")], "ratings")
    plan = replace(OPEN, lower_is_better=frozenset({"errors"}))
    scaled = replace(noted, scale_width=4.0)
    found = {row.criterion: row for row in rows_of("ratings", both, plan, scaled)}
    for name, bounds in {"overall": (-0.8, 1.6, 2.4), "errors": (-2.4, -1.6, 0.8)}.items():
        row = found[name]
        assert (row.system_x, row.decision, row.decided_after, row.n) == ("x", "x", 9, 9)
        assert (row.ci_low, row.estimate, row.ci_high) == pytest.approx(bounds)


def test_decisions_of_audits_are_those_of_their_exposure() -> None:
    rows = [(who, "x", "y", 0.25 + (form % 3) / 4) for form in range(FORMS) for who in ("judge", f"p{form}")]
    where = [f"f{form}" for form in range(FORMS) for _ in range(2)]
    both = pl.concat([preferences(rows, assignment_id=where, exposure=str(seen)) for seen in (1, 3)])
    pair = {"criterion": "overall", "system_x": "x", "system_y": "y", "n": 9, "low": 0.2, "mean": 0.3, "high": 0.4}
    noted = [{**pair, "exposure": 1, "decision": None}, {**pair, "exposure": 3, "decision": "y"}]
    found = rows_of("preferences", both, OPEN, decided(noted, "preferences"))
    assert [(row.exposure, row.decision) for row in found] == [(1, "open"), (3, "y")]


def test_audits_weight_what_was_drawn_by_who_counts() -> None:
    """Forms never drawn or passed over are no part; who was left out makes the others stand for more."""
    rng = np.random.default_rng(5)
    values = {who: rng.choice([0.25, 0.5, 0.75], FORMS) for who in ("judge", "judge2", "p")}
    said = [(who, form) for form in range(FORMS) for who in ("judge", "judge2", *(["p"] if form < 15 else []))]
    rows = [(f"p{form}" if who == "p" else who, "x", "y", values[who][form]) for who, form in said]
    frame = preferences(rows, assignment_id=[f"f{form}" for _, form in said])
    chances = {f"f{form}": 0.4 + form % 2 / 5 for form in range(40)}
    noted = decided([], "preferences", error_rate=None, chances=chances)
    (row,) = rows_of("preferences", frame, OPEN, noted)  # of 20 who were given one 15 count; nothing of another rater
    people = np.where(np.arange(40) < 15, values["p"][:40], np.nan)
    wanted = audited_mean(people, values["judge"][:40], np.array([*chances.values()]) * 15 / 20)
    assert (row.group, row.n_forms, row.n) == ("judge", 40, 15)
    assert (row.estimate, row.ci_high) == pytest.approx((wanted.estimate, wanted.ci_high))


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
