"""Corrections for many tests: published examples, properties, another library, calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, preference_tests
from analysis.report.markdown import render_markdown
from analysis.statistics.corrections import adjust, benjamini_hochberg, benjamini_yekutieli, holm, reaches, stars
from tests.analysis.made_answers import build_document, preferences, run
from tests.analysis.peers import multipletests

P_VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30)


@given(st.permutations([0.01, 0.04, 0.03, 0.005]))
def test_holm_does_not_depend_on_order(p: list[float]) -> None:
    expected = {0.01: 0.03, 0.04: 0.06, 0.03: 0.06, 0.005: 0.02}
    assert list(holm(p).p_adjusted) == pytest.approx([expected[x] for x in p])


@settings(max_examples=40)
@given(P_VALUES)
def test_holm_equals_statsmodels(p: list[float]) -> None:
    rejected, adjusted = multipletests(p, alpha=0.05, method="holm")
    assert list(holm(p).p_adjusted) == pytest.approx(adjusted.tolist(), rel=1e-12)
    assert list(holm(p).p_adjusted) == [min(x, 1.0) for x in list(holm(p).p_adjusted)]
    clear = np.abs(adjusted - 0.05) > 1e-12
    assert np.array(holm(p).rejected)[clear].tolist() == rejected[clear].tolist()


def test_a_value_at_the_level_is_rejected() -> None:
    assert holm([0.025, 0.9]).rejected.tolist() == [True, False]


@pytest.mark.parametrize("wrong", [[float("nan")], [1.1], [-0.1, 0.5]])
def test_what_is_no_p_value_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        holm(wrong)


def test_stars_are_strict() -> None:
    assert [stars(p) for p in (0.0099, 0.01, 0.0499, 0.05, 0.0999, 0.1)] == ["***", "**", "**", "*", "*", ""]


def test_familywise_error_stays_below_the_level() -> None:
    """Six pairs, 20 annotators without any preference, 300 studies: at most fwer + 3 standard errors."""
    rng = np.random.default_rng(8)
    pairs = [(x, y) for place, x in enumerate("abcd") for y in "abcd"[place + 1 :]]
    studies = 300
    rows = []
    group = []
    for study in range(studies):
        answers = rng.normal(0.5, 0.2, size=(20, len(pairs))).clip(0, 1)
        for annotator in range(20):
            name = f"{study}.{annotator}"
            rows += [(name, x, y, answers[annotator, place]) for place, (x, y) in enumerate(pairs)]
            group += [f"study {study}"] * len(pairs)
    found = preference_tests(preferences(rows, group=group), plan=Plan(fwer=0.1))
    assert len(found) == studies * len(pairs)
    wrong = len({row.group for row in found if row.verdict != "indifferent"})
    assert wrong / studies <= 0.1 + 3 * (0.1 * 0.9 / studies) ** 0.5
    assert wrong > 0  # the correction is not so strict that nothing can happen


def test_the_worked_example_of_benjamini_and_hochberg() -> None:
    """Fifteen p-values of section 3.2 of the paper of 1995: at .05 Holm rejects three, their procedure four."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert sum(bool(one) for one in adjust(p, correction="holm").rejected) == 3
    assert sum(bool(one) for one in adjust(p, correction="bh").rejected) == 4


@settings(max_examples=40)
@given(st.lists(st.none() | st.floats(0, 1, allow_subnormal=False), max_size=20))
def test_who_has_no_test_is_no_member(p: list[float | None]) -> None:
    for correction, theirs in (("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")):
        found = adjust(p, correction=correction)  # type: ignore[arg-type]
        tested = [one for one in p if one is not None]
        assert found.n_tests == len(tested)
        assert [one is None for one in found.p_adjusted] == [one is None for one in p]
        if tested:
            expected = multipletests(tested, method=theirs)[1].tolist()
            assert [one for one in found.p_adjusted if one is not None] == pytest.approx(expected, rel=1e-12)


@settings(max_examples=40)
@given(st.lists(st.none() | st.floats(0, 1, allow_subnormal=False), max_size=20))
def test_the_lines_of_a_report_and_the_library_agree(p: list[float | None]) -> None:
    """A report corrects by its own lines, as statsmodels takes 0.7 s to load; the Python functions by statsmodels."""
    for correction, library in (("bh", benjamini_hochberg), ("by", benjamini_yekutieli)):
        own, theirs = adjust(p, correction=correction), library(p)  # type: ignore[arg-type]
        assert (own.n_tests, own.rate, own.correction) == (theirs.n_tests, theirs.rate, theirs.correction)
        ours, others = ([-1 if one is None else one for one in found.p_adjusted] for found in (own, theirs))
        assert ours == pytest.approx(others, rel=1e-12)


@settings(max_examples=40)
@given(P_VALUES)
def test_benjamini_hochberg_finds_all_that_holm_finds(p: list[float]) -> None:
    strict, loose = (adjust(p, correction=correction).rejected for correction in ("holm", "bh"))  # type: ignore[arg-type]
    assert all(also for found, also in zip(strict, loose, strict=True) if found)


def test_equality_is_decided_once_and_in_the_digits_printed() -> None:
    third = 0.05 / 3
    assert 3 * 0.1 > 0.3  # the last bit of a product
    assert adjust([0.1, 0.5, 0.9], rate=0.3).rejected[0]
    for correction in ("holm", "bh"):
        assert adjust([third, None, 0.9, 0.9], correction=correction).rejected[0]  # type: ignore[arg-type]
    assert not reaches(0.0500001, 0.05)
    with pytest.raises(ValueError, match='"holm", "bh" or "by"'):
        adjust([0.1], correction="bonferroni")  # type: ignore[arg-type]


def test_false_discoveries_stay_below_the_rate() -> None:
    """Half of 20 hypotheses false, 400 studies: the mean share of false findings is at most rate · 10/20."""
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(400):
        z = rng.standard_normal(20)
        z[:10] += 2.5
        found = adjust([float(one) for one in _two_sided(z)], correction="bh", rate=0.2).rejected
        shares.append(sum(map(bool, found[10:])) / max(1, sum(map(bool, found))))
    assert 0.05 < np.mean(shares) <= 0.1 + 3 * np.std(shares) / 20


def _two_sided(z: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return 2 * ndtr(-np.abs(z))


def _three_pairs(plan: Plan) -> dict:
    rng = np.random.default_rng(0)
    rows = []
    for annotator in range(20):
        for (x, y), mean in {("a", "b"): 0.61, ("a", "c"): 0.6, ("b", "c"): 0.58}.items():
            rows.append((str(annotator), x, y, round(float(np.clip(rng.normal(mean, 0.15), 0, 1)), 2)))
        rows.append((str(annotator), "c", "d", 0.5))
    return run(preferences=preferences(rows), plan=plan)


def test_correction_of_the_plan() -> None:
    """The plan decides the correction and the results name the family."""
    strict, loose = _three_pairs(Plan()), _three_pairs(Plan(correction="bh"))
    for results, correction in ((strict, "holm"), (loose, "bh")):
        rows = results["preferences"]
        expected = adjust([row["p_value"] for row in rows], correction=correction)  # type: ignore[arg-type]
        assert [row["p_adjusted"] for row in rows] == [
            None if one is None else pytest.approx(one) for one in expected.p_adjusted
        ]
        (family,) = results["families"]
        assert (family["correction"], family["rate"], family["n_tests"]) == (correction, 0.05, 3)
        (gone,) = family["untestable"]
        assert (gone["system_x"], gone["system_y"]) == ("c", "d")
        assert "no variation" in gone["reason"]
        assert results["settings"]["correction"] == correction
    values = [[row["p_adjusted"] for row in results["preferences"]] for results in (strict, loose)]
    assert values[0] != values[1]


def test_the_report_says_which_error_is_bounded() -> None:
    strict, loose = (render_markdown(build_document(_three_pairs(plan))) for plan in (Plan(), Plan(correction="bh")))
    assert "false discovery rate" in loose
    assert "familywise" not in loose.casefold()
    assert "Holm" not in loose
    assert "familywise" in strict.casefold()
    assert "discovery" not in strict.casefold()
