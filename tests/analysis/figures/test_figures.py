"""Figures: the same bytes, inert names, the numbers of the rows."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from analysis.figures.drawing import COLOURS, INK, SHAPES, system_colours, wrap_text
from analysis.figures.figures import (
    Axis,
    Point,
    agreement_matrix,
    draw,
    forest_plot,
    lines_plot,
    means_plot,
    pair_matrix,
    rating_bars,
)
from analysis.figures.plain_text import clean, shown_name
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
        assert f"{100 * row['mean']:.1f}%" in texts(forest)


def marks_of(svg: str) -> list[tuple[str | None, str | None]]:
    """Return colour and outline of each filled mark, those of the key included."""
    drawn = ElementTree.fromstring(svg).iter(f"{SVG}path")
    return [(node.get("fill"), node.get("d")) for node in drawn if node.get("fill") in COLOURS]


def test_figure_colour_and_shape_of_a_group():
    """A colour and a shape stand for a group whatever the system."""
    rows = [{"system": system, "group": group, "mean": 3.0} for system in "AB" for group in ("human", "gpt")]
    own = {"human": COLOURS[4], "gpt": COLOURS[5]}
    key, dots = (found := marks_of(means_plot(rows, colours=own)))[:2], found[2:]
    assert [colour for colour, _ in dots] == [COLOURS[4], COLOURS[5]] * 2
    assert dots == [*key, *key]
    assert key[0][1] != key[1][1]
    assert len(set(SHAPES)) == len(SHAPES)
    pairs = [preference(group, "A", "B", mean) for group in ("human", "gpt") for mean in (0.7, 0.3, 0.5)]
    assert len(set(marks_of(forest_plot(pairs)))) == 2


def test_figure_colour_of_further_groups():
    """A group without a colour of its own takes one that is left."""
    rows = [{"system": "A", "group": group, "mean": 3.0} for group in ("human", "gpt")]
    assert [colour for colour, _ in marks_of(means_plot(rows, colours={"gpt": COLOURS[0]}))[:2]] == list(COLOURS[1::-1])


def test_several_groups_are_named_once_above_the_drawing():
    rows = [preference(group, "A", y, 0.7) for y in "BCD" for group in ("human", "gpt")]
    assert texts(forest_plot(rows))[:3] == ["human", "gpt", "A over B"]
    assert "human" not in texts(forest_plot(rows[::2]))


def test_of_more_systems_than_colours_none_has_one_of_its_own():
    assert list(system_colours("ABCDEFGH").values()) == list(COLOURS)
    assert set(system_colours("ABCDEFGHI").values()) == {INK}


# Machado, Oliveira & Fernandes (2009), table 1, severity 1: protanopia, deuteranopia, tritanopia
SEEN = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
)


def lab(colour: str, seen: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return CIELAB (D65) of a colour as somebody sees it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    r, g, b = (min(max(sum(map(operator.mul, row, linear)), 0.0), 1.0) for row in seen)
    xyz = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b
    x, y, z = (
        part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116
        for part in (*xyz, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("seen", SEEN)
def test_colours_are_told_apart_by_the_colour_blind(seen: Sequence[Sequence[float]]):
    assert min(math.dist(lab(a, seen), lab(b, seen)) for a, b in combinations(COLOURS, 2)) > 15


@pytest.mark.parametrize("name", ["a long name of several words " * 3, "x" * 79, "\u7cfb" * 60, ARABIC * 8])
def test_no_name_is_cut(name: str):
    shown = shown_name(name)
    rating = {"system": name, "group": name, "mean": 3.0, "score": 1, "share": 1.0}
    pair = {"annotator_x": name, "annotator_y": "b", "krippendorff_alpha": 0.5}
    for svg in (
        forest_plot([preference(name, name, "b", 0.6), preference("g", name, "b", 0.6)]),
        means_plot([rating, {**rating, "group": "g"}]),
        lines_plot([Point(line=shown, x=0, y=0)], x_title="", y_title="", alternative=""),
        rating_bars([rating]),
        agreement_matrix([pair]),
    ):
        letters = re.sub(r"[\s\u2068\u2069]", "", "".join(texts(svg)))
        assert re.sub(r"[\s\u2068\u2069]", "", shown) in letters


def test_a_line_of_a_name_closes_what_it_opens():
    for width in range(20, 200, 7):
        for line in wrap_text(f"{shown_name(ARABIC * 3)} over {shown_name(ARABIC + ' b')}", width):
            assert line.count("\u2068") == line.count("\u2069")


def test_text_takes_the_colour_of_its_surroundings(forest: str):
    fills = {node.get("fill") for node in ElementTree.fromstring(forest).iter(f"{SVG}text")}
    assert fills == {"currentColor"}


def test_an_untested_value_is_drawn_hollow():
    row = {**preference("human", "A", "B", 0.7), "ci_low": None, "ci_high": None, "verdict": None}
    filled, hollow = forest_plot([preference("human", "A", "B", 0.7)]), forest_plot([row])
    assert f'fill="{COLOURS[0]}"' in filled
    assert f'fill="{COLOURS[0]}"' not in hollow
    assert f'stroke="{COLOURS[0]}"' in hollow


def test_figure_clips_intervals_of_shares():
    """An interval of a share is drawn no further than the scale."""
    beyond = {**preference("human", "A", "B", 0.98), "ci_high": 1.04}
    assert forest_plot([beyond]) == forest_plot([{**beyond, "ci_high": 1.0}])
    assert forest_plot([beyond]) != forest_plot([{**beyond, "ci_high": 0.99}])


def test_a_share_stands_where_the_axis_says() -> None:
    row = {**preference("human", "A", "B", 0.7), "ci_low": 0.6, "ci_high": 0.9}
    svg = forest_plot([row])
    assert svg.count("translate(217,") == 1  # 70% of 310 pixels
    assert re.search(r"M186,[\d.]+L279,", svg)
    ends = {node.text: float(str(node.get("x"))) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert (ends["0%"], ends["50%"], ends["100%"]) == (0, 155, 310)


def test_labels_of_an_axis_do_not_touch() -> None:
    rows = [{"system": str(place), "group": "g", "mean": place, "ci_low": 1, "ci_high": 72} for place in range(1, 73)]
    svg = means_plot(rows, title="place")
    labels = [node for node in ElementTree.fromstring(svg).iter(f"{SVG}text") if node.get("font-size") == "11px"]
    places = [float(str(node.get("x"))) for node in labels]
    assert len(labels) > 4
    assert min(b - a for a, b in pairwise(places)) > 20


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
    assert "**" not in " ".join(shown)
    assert shown.count("\u2013") == 2
    assert f"1  {HOSTILE}" in shown
    assert pair_matrix([]) == ""


def test_all_pairs_stand_in_the_order_of_the_study():
    rows = [{"system_x": "x", "system_y": "z", "mean": 0.5}, {"system_x": "y", "system_y": "x", "mean": 0.5}]
    words = texts(pair_matrix(rows, systems=["w", "z", "y"]))
    assert [word for word in words if word[-1:] in set("wxyz")] == ["1  z", "2  y", "3  x"]
    assert [word for word in words if word in {"1", "2", "3"}] == ["1", "2", "3"]


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


def test_figure_draws_whole_scale():
    """A group that gave part of the scale is drawn on the whole of it."""
    counts = [{"system": "x", "score": 4, "n": 1, "share": 1.0}]
    alone, within = texts(rating_bars(counts)), texts(rating_bars(counts, scores=[1, 2, 3, 4, 5]))
    assert [label for label in alone if label in "12345"] == ["4"]
    assert [label for label in within if label in "12345"] == ["1", "2", "3", "4", "5"]


def test_figure_lines_set_apart():
    """What is set apart stays so and nothing else turns a line."""
    apart = shown_name(ARABIC)
    assert apart == f"\u2068{ARABIC}\u2069" == shown_name(apart)
    assert clean(f"people prefer {apart} most") == f"people prefer {apart} most"
    assert clean(f"\u2068{ARABIC} | \u202eb") == f"\ufffd{ARABIC} | \ufffdb"
    assert clean("\u2068a\u2067b\u2069\u2069") == "\ufffda\ufffdb\ufffd\ufffd"
