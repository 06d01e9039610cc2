"""In a live study the decision is the verdict everywhere; tests of a fixed number are one table of the appendix."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest

from analysis.answers.live_rows import LiveGroup, LivePairRow, LiveStudy, LiveSystemRow
from analysis.answers.plan import Expectation, Plan
from analysis.heds.answers import _aggregated
from analysis.printing.turning import turned
from analysis.records.results import Results
from analysis.report import render_report
from analysis.report.sections import shown_results
from analysis.results.files import from_plain, to_json
from analysis.results.headline import headline_of
from analysis.results.verdicts import as_decided, verdict_of, with_decisions
from analysis.statistics.record import Source
from spa.live import Decision
from tests.analysis.live.test_live_report import results_of
from tests.analysis.live_study import STUDY, answer, answer_by_llm, build
from tests.analysis.made_answers import choices, preferences, ratings, run

SYSTEMS = {"alpha": 0.0, "beta": 0.02, "gamma": 0.3}
PAIRS = list(combinations(SYSTEMS, 2))
SOURCES: tuple[Source, ...] = ("preferences", "ratings", "choices")
GROUPS = ("human", "gpt")
Key: TypeAlias = tuple[str, str, str]  # group, system_x, system_y
EXPECTED = (Expectation(system_x="gamma", system_y="alpha", expected="x"),)
DECISIONS: tuple[Decision | None, ...] = ("x", "y", "equal", "futile", None)
OTHERS: dict[Key, Decision | None] = {("gpt", "alpha", "gamma"): "y", ("human", "alpha", "beta"): "x"}
CAVEAT = "Tests of a fixed number of annotators"
OF_A_TEST = re.compile(  # what only a test of a fixed number says of answers
    r"\bp\s*(=|<|&lt;|\\<|≤|&le;)|adjusted p\b|t\(\d+\)|\bevidence\b(?! for)|\*\*\*|undecided|no clear"
    r"|(?<!not )clearly (better|ahead)|preferred$|rated better|chosen more often",
    flags=re.IGNORECASE,
)


@cache
def fixed() -> Results:
    """Return what people and an LLM answered in all three ways on two criteria, as a study of fixed size has it."""
    rng = np.random.default_rng(11)
    preferred, rated, chosen = [], [], []
    who = [(f"p{number}", "human", "") for number in range(14)] + [("gpt", "llm", f"f{number}") for number in range(14)]
    for annotator, _, form in who:
        noise = dict(zip(SYSTEMS, rng.normal(0, 0.08, len(SYSTEMS)), strict=True))
        for x, y in PAIRS:
            shift = SYSTEMS[x] - SYSTEMS[y] + noise[x] - noise[y]
            preferred.append((annotator, x, y, round(float(np.clip(0.5 + shift, 0, 1)), 3), form))
            item = f"i{rng.integers(40)}-{annotator}{form}"
            chosen.append((annotator, item, x, y, "x" if shift + rng.normal(0, 0.3) > 0 else "y", form))
        for system, utility in SYSTEMS.items():
            rated += [
                (annotator, f"i{item}", system, int(np.clip(round(3 + 4 * utility + rng.normal(0, 0.8)), 1, 5)), form)
                for item in range(2)
            ]
    made: dict[str, pl.DataFrame] = {}
    for name, table, rows in (
        ("preferences", preferences, preferred),
        ("ratings", ratings, rated),
        ("choices", choices, chosen),
    ):
        frame = table([row[:-1] for row in rows], assignment_id=[row[-1] or row[0] for row in rows])
        both = [frame.with_columns(criterion=pl.lit(one)) for one in ("overall", "wit")]
        made[name] = pl.concat(both)
    plan = Plan(expected=EXPECTED, unit="annotator", pairs=tuple(PAIRS))
    return from_plain(run(plan=plan, llms=("gpt",), **made))


def live_of(source: Source, decisions: dict[Key, Decision | None]) -> LiveStudy:
    """Return a live study that decided (group, x, y) so on the overall criterion, by one source."""
    rows = [
        LivePairRow(
            group=group, criterion="overall", exposure=None, system_x=x, system_y=y, n=12, mean=0.46, low=0.41,
            high=0.59, decision=decisions.get((group, x, y)), decided_after=12, expected_more=None, n_asked=14,
            mean_asked=0.46,
        )
        for group in GROUPS
        for x, y in PAIRS
    ]  # fmt: skip
    return LiveStudy(
        answers=source, criteria=("overall",), error_rate=0.05, effect=0.1, margin=0.1, least=10, most=40,
        scale_width=4.0 if source == "ratings" else None, pairs=tuple(rows),
        groups=tuple(LiveGroup(group=one, units=14, excluded=0, enough=True, all_decided=True) for one in GROUPS),
    )  # fmt: skip


def live_results(source: Source, decisions: dict[Key, Decision | None]) -> Results:
    return replace(fixed(), live=live_of(source, decisions), headline=None, warnings=(), warning_rows=())


def without_the_table(page: str) -> str:
    """Return a page without the section of tests of a fixed number, conventions, terms and marks of Markdown."""
    page = re.sub(r"<style.*?</style>|<script.*?</script>", "", page, flags=re.DOTALL)
    page = re.sub(r'(?s)<section[^>]*id="(fixed-tests|terms|settings|columns)".*?</section>', "", page)
    page = re.sub(r'(?s)<a id="(fixed-tests|terms|settings|columns)"></a>.*?(?=<a id="[a-z-]+"></a>\n|\Z)', "", page)
    return page.replace("\\", "")


@pytest.mark.parametrize("source", SOURCES)
def test_no_test_of_a_fixed_number_stands_outside_its_table(source: Source) -> None:
    """Every test of gamma is clear; the live study has decided nothing, and gives one pair up."""
    assert all(row.verdict in ("x", "y") for row in fixed().preferences if "gamma" in (row.system_x, row.system_y))
    files = render_report(live_results(source, {("human", "alpha", "beta"): "futile"}))
    pages = {name: text for name, text in files.items() if name.endswith((".html", ".md"))}
    assert len(pages) == 5  # report and appendix, each twice, and the methods
    for name, text in pages.items():
        left = without_the_table(text)
        found = [left[max(0, one.start() - 60) : one.end() + 40] for one in OF_A_TEST.finditer(left)]
        assert not found, (name, found)
        better = re.findall(r"(?<!chance that )(?:alpha|beta|gamma) (?:is )?better\b", left)
        assert better == ["gamma better"] * name.startswith("appendix"), name  # what was expected
    assert pages["appendix.md"].count(f"## {CAVEAT}") == 1
    assert CAVEAT not in pages["report.md"].replace(f"[{CAVEAT}]", "")
    before, _, table = pages["appendix.md"].partition(f"## {CAVEAT}")[2].partition("<a id=")
    assert len(re.findall(r"^\| (?!Pair|:)", table.partition("\n<sub>")[0], flags=re.M)) == len(
        [*fixed().preferences, *fixed().ratings.pairs, *fixed().choices.pairs]
    )
    assert "do not hold in a study that was looked at" in before


def test_a_study_of_fixed_size_is_as_it_was() -> None:
    assert as_decided(fixed()) is fixed()
    assert with_decisions(fixed()) is fixed()
    assert {row.decision for row in (*fixed().preferences, *fixed().ratings.pairs, *fixed().choices.pairs)} == {None}
    page = render_report(fixed())["appendix.md"]
    assert CAVEAT not in page
    assert "adjusted p" in page


@cache
def figures_of_open(source: Source) -> dict[str, str]:
    return render_report(live_results(source, OTHERS))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("decision", DECISIONS)
def test_one_decision_turns_every_place(source: Source, decision: Decision | None) -> None:
    """What people decided of alpha and gamma is said alike by table, side by side, expectation, headline and figure."""
    decided: dict[Key, Decision | None] = {("human", x, "gamma"): decision for x in ("alpha", "beta")}
    results = live_results(source, {**OTHERS, **decided})
    verdict = {"x": "x", "y": "y", "equal": "indifferent"}.get(decision or "")
    known = with_decisions(results)
    rows: dict[Source, Any] = {
        "preferences": known.preferences, "ratings": known.ratings.pairs, "choices": known.choices.pairs
    }  # fmt: skip
    (row,) = [
        one
        for one in rows[source]
        if (one.group, one.criterion, one.system_x, one.system_y) == ("human", "overall", "alpha", "gamma")
    ]
    assert row.decision == (decision or "open")
    assert verdict_of(row) == verdict
    tested = row.p_value is not None  # without a p-value the key verdict is null, as in any study
    assert (row.verdict, row.reason is None) == ((verdict, verdict is not None) if tested else (None, False))
    beside = [one for name in SOURCES for one in rows[name] if name != source or one.criterion == "wit"]
    assert {one.decision for one in beside} == {"not_deciding"}
    assert {verdict_of(one) for one in beside} == {None}

    shown = shown_results(results)
    expected = {(one.source, one.group): one for one in shown.expected}
    assert expected[source, "human"].found == {"x": "y", "y": "x"}.get(verdict or "", verdict)
    assert expected[source, "human"].recovered is (decision == "y")
    assert expected[source, "gpt"].recovered
    assert all(one.found is None and one.reason for key, one in expected.items() if key[0] != source)
    differ = [one for one in shown.disagreements if {one.system_x, one.system_y} == {"alpha", "gamma"}]
    assert len(differ) == (verdict in ("x", "indifferent"))
    assert all(one.p_adjusted is None for entry in differ for one in entry.verdicts)

    files = render_report(results)
    page = "".join(files[name] for name in ("report.md", "appendix.md")).replace("\\", "")
    word = {"x": "alpha is better", "y": "gamma is better", "equal": "equal within the margin"}.get(
        decision or "", "open" if decision is None else "futile: a decision was unlikely"
    )
    joined = "−" if source == "ratings" else "over"
    table = re.findall(
        rf"^\| (?:alpha {joined} gamma|gamma {joined} alpha) \| people \|.*\| ([^|]+) \|$", page, flags=re.M
    )
    assert word in table, table
    side = re.findall(r"^\| (?:alpha and gamma|gamma and alpha) \| .*$", page.partition("Side by side")[2], flags=re.M)
    better = {"x": "alpha better", "y": "gamma better", "equal": "~ equal"}.get(decision or "")
    assert (better or word) in side[0]
    claim = headline_of(as_decided(results)).claims[0]
    named = {"x": "alpha", "y": "gamma"}.get(decision or "")
    assert (claim.winner == named) or (claim.strength != "clear" and claim.winner is None), claim
    if named is None:
        assert claim.winner is None
    if source != "ratings":
        hollow, drawn = (one["figures/answer.svg"].count('fill="none"') for one in (files, figures_of_open(source)))
        assert (hollow < drawn) == (decision in ("x", "y", "equal"))


def test_intervals_and_means_are_those_that_decided() -> None:
    for source in SOURCES:
        found = as_decided(live_results(source, {}))
        row: Any = (
            next(one for one in getattr(found, source) if one)
            if source == "preferences"
            else (found.ratings.pairs if source == "ratings" else found.choices.pairs)[0]
        )
        assert (row.group, row.criterion, row.n) == ("human", "overall", 12)
        expected = (-0.16 * 2, -0.72, 0.72) if source == "ratings" else (0.46, 0.41, 0.59)
        value = {"preferences": "mean", "ratings": "mean_difference", "choices": "win_rate"}[source]
        assert (getattr(row, value), row.ci_low, row.ci_high) == pytest.approx(expected)
    other = [row for row in found.preferences if row.n]
    assert {(row.ci_low, row.p_value, row.stars) for row in other} == {(None, None, "")}


def test_live_low_ratings_keep_sign() -> None:
    """The live mean of .46 says that the first is worse; of a lower-is-better criterion its raw rating is higher."""
    lower = replace(fixed().settings, lower_is_better=("overall",))
    (first, *_) = as_decided(replace(live_results("ratings", {}), settings=lower)).ratings.pairs
    assert (first.mean_difference, first.ci_low, first.ci_high) == pytest.approx((0.32, -0.72, 0.72))


def test_a_decision_turns_with_its_pair() -> None:
    row = replace(fixed().preferences[0], decision="x")
    assert turned(row).decision == "y"
    assert turned(turned(row)) == row
    assert turned(replace(row, decision="futile")).decision == "futile"


def test_ranked_systems_are_apart_where_their_bounds_are() -> None:
    """Of the best few or an order, a pair is decided where the bounds, which hold together, leave no other order."""
    bounds = {"alpha": (0.1, 0.4), "beta": (0.3, 0.5), "gamma": (0.6, 0.8)}
    systems = tuple(
        LiveSystemRow(
            group="human", system=name, n=20, score=sum(ends) / 2, low=ends[0], high=ends[1], leads=name == "gamma"
        )
        for name, ends in bounds.items()
    )
    live = replace(live_of("choices", {}), pairs=(), systems=systems, top=1, epsilon=0.05)
    results = replace(live_results("choices", {}), live=live)
    found = {
        (row.system_x, row.system_y): row.decision
        for row in with_decisions(results).choices.pairs
        if (row.group, row.criterion) == ("human", "overall")
    }
    assert found == {("alpha", "beta"): "not_deciding", ("alpha", "gamma"): "y", ("beta", "gamma"): "y"}
    headline = headline_of(as_decided(results))
    assert (headline.claims[0].winner, headline.claims[0].strength) == ("gamma", "clear")
    assert headline.winner == "People choose gamma most, the best system of 3."
    two = headline_of(as_decided(replace(results, live=replace(live, top=2))))
    assert (two.claims[0].winner, two.claims[0].strength) == (None, "no_leader")
    order = headline_of(as_decided(replace(results, live=replace(live, top=None, order=True))))
    assert order.winner == "People choose gamma most, the first of the order that was found."
    assert (
        "none before one that wins 5 points more), with an error rate of at most 5%: gamma, beta and alpha"
        in order.certainty
    )
    groups = tuple(replace(one, all_decided=False) for one in live.groups)
    not_found = replace(results, live=replace(live, groups=groups))
    assert (
        headline_of(as_decided(not_found)).winner == "By the choices of people, the best system of 3 cannot be named."
    )
    assert "not found after 14 people" in render_report(not_found)["report.md"]
    assert "adjusted p" not in headline.certainty
    left = without_the_table(render_report(results, full=True)["report.md"]).replace("clearly ahead of", "")
    found_words = [left[max(0, one.start() - 60) : one.end() + 40] for one in OF_A_TEST.finditer(left)]
    assert not found_words


def test_the_datasheet_names_what_decides() -> None:
    """The answers that decide are decided at every look; others are averaged and not tested."""
    results = live_results("preferences", {})
    assert "anytime-valid decisions at 0.05" in _aggregated("spa", results)
    assert "no test" in _aggregated("likert", results)
    assert "t-test" not in _aggregated("spa", results) + _aggregated("likert", results)
    assert "t-test against 50%, Holm" in _aggregated("spa", fixed())


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study on two criteria, one of which decides, that people stopped answering too early, and an LLM's."""
    text = STUDY.replace("people =", 'criteria = [{id = "wit", name = "wit"}]\nlikert.outputs = 2\npeople =')
    text = text.replace("[spa]", '[analysis]\nexpected = ["gamma > alpha"]\nunit = "annotator"\n\n[spa]')
    path = build(tmp_path_factory.mktemp("opened"), text)
    answer_by_llm(path, 14)
    answer(path, until=lambda people: people == 11)
    return path


def test_what_is_written_holds_the_decision_of_each_pair(opened: Path) -> None:
    """The tests find gamma better; the live study is open, and so are expectation, headline and table."""
    results = results_of(opened)
    assert results.live is not None
    written = json.loads(to_json(results))
    decisions = {
        (row["group"], row["criterion"], row["system_x"], row["system_y"]): row["decision"]
        for row in written["live"]["pairs"]
    }
    assert decisions["human", "overall", "alpha", "gamma"] is None
    for row in written["preferences"]:
        key = row["group"], row["criterion"], row["system_x"], row["system_y"]
        assert row["decision"] == ((decisions[key] or "open") if key in decisions else "not_deciding")
    assert {row["decision"] for row in written["ratings"]["pairs"]} == {"not_deciding"}
    clear = [row for row in written["preferences"] if row["group"] == "human" and row["p_adjusted"] < 0.05]
    assert clear  # numbers of a fixed study stay where they were; the verdict is that of the live study
    assert {(row["verdict"], row["reason_code"]) for row in clear} == {(None, "live_open"), (None, "live_not_deciding")}
    assert {row["found"] for row in written["expected"]} == {None}
    assert {row["reason_code"] for row in written["expected"]} == {"live_open", "live_not_deciding"}
    assert written["disagreements"] == []
    assert written["headline"]["claims"][0]["winner"] is None
    verdict = next(row for row in written["conventions"] if row["term"] == "verdict")
    assert "decision of this live study" in verdict["explanation"]
    assert not any("could not be run" in line for line in written["warnings"])
    again = from_plain(written)
    assert with_decisions(again) == again
    pages = [
        {name: text for name, text in render_report(one).items() if name.endswith(".md")} for one in (results, again)
    ]
    assert pages[0] == pages[1]
