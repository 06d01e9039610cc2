"""Figures: the same bytes, inert names, the numbers of the rows."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from analysis.figures.drawing import SHAPES
from analysis.figures.figures import (
    COLOURS,
    Axis,
    agreement_matrix,
    draw,
    forest_plot,
    means_plot,
    pair_matrix,
    rating_bars,
)
from tests.analysis.sample_results import ARABIC, CHINESE, HOSTILE, TEMPLATE, full_results, many_results, preference

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def forest() -> str:
    return forest_plot(full_results()["preferences"])


def test_the_same_rows_give_the_same_bytes(forest: str):
    assert forest == forest_plot(full_results()["preferences"])


def test_names_are_text_and_nothing_else(forest: str):
    tags = {node.tag.removeprefix(SVG) for node in ElementTree.fromstring(forest).iter()}
    assert tags <= {"svg", "g", "path", "line", "text"}
    assert "<script" not in forest
    shown = " ".join(texts(forest))
    for name in (HOSTILE, TEMPLATE, CHINESE, ARABIC):
        assert name in shown


def test_there_is_nothing_random_and_nothing_from_outside(forest: str):
    assert " id=" not in forest
    assert "style=" not in forest
    assert not re.search(r"href|url\(", forest)


def test_every_number_stands_beside_its_dot(forest: str):
    for row in full_results()["preferences"]:
        assert f"{100 * row['mean']:.1f}%{row['stars']}" in texts(forest)


def test_groups_differ_in_colour_and_in_shape(forest: str):
    for colour in COLOURS[:3]:
        assert colour in forest
    assert len(set(COLOURS)) == len(set(SHAPES)) == 6


def test_text_takes_the_colour_of_its_surroundings(forest: str):
    fills = {node.get("fill") for node in ElementTree.fromstring(forest).iter(f"{SVG}text")}
    assert fills == {"currentColor"}


def test_an_untested_value_is_drawn_hollow():
    row = {**preference("human", "A", "B", 0.7), "ci_low": None, "ci_high": None, "verdict": None}
    filled, hollow = forest_plot([preference("human", "A", "B", 0.7)]), forest_plot([row])
    assert f'fill="{COLOURS[0]}"' in filled
    assert f'fill="{COLOURS[0]}"' not in hollow
    assert f'stroke="{COLOURS[0]}"' in hollow


def test_an_interval_of_a_share_is_drawn_no_further_than_the_scale():
    beyond = {**preference("human", "A", "B", 0.98), "ci_high": 1.04}
    assert forest_plot([beyond]) == forest_plot([{**beyond, "ci_high": 1.0}])
    assert forest_plot([beyond]) != forest_plot([{**beyond, "ci_high": 0.99}])


def test_criteria_become_panels_and_exposures_are_named():
    shown = texts(forest_plot(many_results(3)["preferences"]))
    assert "coherence" in shown
    assert "relevance" in shown
    assert "system-00 over system-01 (4 outputs each)" in shown
    assert "system-00 over system-01 (8 outputs each)" in shown


def test_all_figures_are_equally_wide():
    short = forest_plot([preference("human", "A", "B", 0.7)])
    long = forest_plot([preference("human", "A" * 300, "\u7cfb" * 300, 0.7), preference("g" * 90, "A", "B", 0.1)])
    widths = {float(str(ElementTree.fromstring(svg).get("width"))) for svg in (short, long)}
    assert max(widths) - min(widths) <= 12


def test_means_stand_on_their_own_scale():
    svg = means_plot(full_results()["ratings"]["means"])
    assert "2.40" in texts(svg)
    assert "mean rating" in texts(svg)


def test_control_characters_do_not_end_the_program():
    assert "a\ufffdb" in " ".join(texts(forest_plot([preference("human", "a\x07b", "c", 0.6)])))


def test_no_rows_no_figure():
    assert forest_plot([]) == means_plot([]) == draw([], Axis(low=0, high=1, title=""), "") == ""


def test_a_matrix_shows_each_pair_from_both_sides():
    rows = [
        {"system_x": "x", "system_y": "y", "mean": 0.7, "stars": "**"},
        {"system_x": "y", "system_y": "z", "mean": None, "stars": None},
    ]
    shown = texts(pair_matrix(rows, system_names={"x": HOSTILE}))
    assert shown.count("70%") == shown.count("30%") == 1
    assert shown.count("**") == 2
    assert shown.count("\u2013") == 2
    assert any(name.startswith(HOSTILE[:5]) for name in shown)
    assert pair_matrix([]) == ""


def test_all_pairs_stand_in_the_order_of_the_study():
    rows = [{"system_x": "x", "system_y": "z", "mean": 0.5}, {"system_x": "y", "system_y": "x", "mean": 0.5}]
    names = [word for word in texts(pair_matrix(rows, systems=["w", "z", "y"])) if word in {"w", "x", "y", "z"}]
    assert names == ["z", "y", "x"] * 2


def test_agreement_stands_on_both_sides_of_the_diagonal():
    rows = [{"annotator_x": "a", "annotator_y": "b", "krippendorff_alpha": -0.25, "cohen_kappa": 0.5}]
    assert texts(agreement_matrix(rows)).count("\u22120.25") == 2
    assert texts(agreement_matrix(rows, value="cohen_kappa")).count("0.50") == 2


def test_ratings_lie_around_the_middle_of_the_scale():
    shares = {1: 0.25, 3: 0.25, 5: 0.5}
    counts = [{"system": "x", "score": score, "n": 4 * share, "share": share} for score, share in shares.items()]
    shown = texts(rating_bars([*counts, {"system": "y", "score": 3, "n": 1, "share": 1.0}]))
    assert (shown.count("25%"), shown.count("50%"), shown.count("100%")) == (2, 1, 1)
    assert rating_bars([]) == ""


def test_a_group_that_gave_part_of_the_scale_is_drawn_on_the_whole_of_it():
    counts = [{"system": "x", "score": 4, "n": 1, "share": 1.0}]
    alone, within = texts(rating_bars(counts)), texts(rating_bars(counts, scores=[1, 2, 3, 4, 5]))
    assert [label for label in alone if label in "12345"] == ["4"]
    assert [label for label in within if label in "12345"] == ["1", "2", "3", "4", "5"]
