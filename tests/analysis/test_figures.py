"""Figures: the same bytes, inert names, the numbers of the rows."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from analysis.figures import COLOURS, SHAPES, Axis, draw, forest_plot, means_plot
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
