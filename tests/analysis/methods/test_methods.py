"""The methods section: every number from results.json, no sentence without its fact, no wrong sentence."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analysis.answers.study_facts import facts_of
from analysis.methods import Methods, Sentence, methods
from analysis.methods.bibliography import PAPERS, bibliography
from analysis.results.files import from_plain
from analysis.statistics.record import plain
from spa import build_form, load_outputs, load_study, load_texts, sample_assignments, study_rng
from tests.analysis import live_study
from tests.analysis.made_answers import render_report, validate
from tests.analysis.methods.many_results import CONDUCT, MADE, Results, made
from tests.analysis.sample_results import empty_results
from tests.spa.rehearsed import spa

pytestmark = pytest.mark.one_process("methods")  # which makes each of the results once
PEOPLE = {
    "group": "human",
    "annotator_kind": "human",
    "annotators": 6,
    "assignments": 6,
    "excluded_annotators": 0,
    "excluded_assignments": 0,
    "form": None,
}
NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?")
NAMES = re.compile(r"SHA-256|CR2|H\.264|MP4|16-bit")  # whose digits are no facts
COUNTED = (
    ("group",),
    ("annotator_kind",),
    ("rule",),
    ("group", "rule"),
    ("group", "rule", "assignment_id"),
)  # rows of one list


def written(results: Results) -> Methods:
    return methods(from_plain(results))


def sentences(results: Results) -> Iterator[Sentence]:
    for paragraph in written(results).paragraphs:
        yield from paragraph.sentences


def text_of(results: Results, title: str = "") -> str:
    found = (one for one in written(results).paragraphs if title in ("", one.title))
    return " ".join(f"{each.text}." for one in found for each in one.sentences)


def values_at(found: object, path: list[str]) -> list[Any]:
    """Return what stands at a path, of a list in each of its rows."""
    if isinstance(found, list) and path:
        return [value for row in found for value in values_at(row, path)]
    if not path:
        return [found]
    assert isinstance(found, dict)
    return values_at(found[path[0]], path[1:]) if path[0] in found else []


def leaves(found: object) -> Iterator[Any]:
    if isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from leaves(one)
    elif found is not None:
        yield found


def numbers_of(results: Results, sentence: Sentence) -> set[str]:
    """Return every number that a sentence may show: values of its facts, as they are or in percent, and counts."""
    shown: set[str] = set()
    counts: list[int] = []
    every: set[str] = set()
    for fact in sentence.facts:
        values = values_at(results, fact.split("."))
        for value in leaves(values):
            if isinstance(value, str):
                shown |= {*NUMBER.findall(value), *NUMBER.findall(money(value))}
                every.add(value)
            elif not isinstance(value, bool):
                shown |= {f"{value:g}", f"{value:,}", f"{100 * value:.4g}", *NUMBER.findall(day(value))}
        for rows in (value for value in values if isinstance(value, list)):
            counts += [len(rows), *counts_of(rows)]
        numbers = [value for value in values if isinstance(value, int)]
        counts += [
            sum(numbers),
            *sums_by_group(results, fact),
            sum(len(v) for v in values if isinstance(v, list)),
        ]
    return shown | {f"{n:,}" for n in (*counts, len(every))}


def money(text: str) -> str:
    return f"{float(text):.2f}" if re.fullmatch(r"\d+(\.\d*)?", text) else ""


def day(value: float) -> str:
    return datetime.fromtimestamp(value, UTC).date().isoformat() if value > 1e9 else ""


def counts_of(rows: list[Any]) -> Iterator[int]:
    """Count rows of a list, and different annotators, that have the same group, rule, or both."""
    if not all(isinstance(row, dict) for row in rows):
        return
    for keys in COUNTED:
        if not all(key in row for key in keys for row in rows):
            continue
        who = {(tuple(row[key] for key in keys), row.get("annotator_id"), row.get("assignment_id")) for row in rows}
        yield from Counter(group for group, *_ in who).values()
        yield from Counter(group for group, _ in {(group, name) for group, name, _ in who}).values()
    yield from Counter((row.get("group"), row.get("assignment_id") is None) for row in rows).values()


def sums_by_group(results: Results, fact: str) -> Iterator[int]:
    table, _, field = fact.rpartition(".")
    rows = values_at(results, table.split(".")) if table else []
    by_group: Counter[str] = Counter()
    for row in (row for value in rows for row in (value if isinstance(value, list) else [value])):
        if isinstance(row, dict) and isinstance(row.get(field), int):
            by_group[row.get("group", "")] += row[field]
    yield from by_group.values()


def check_numbers(results: Results) -> None:
    for sentence in sentences(results):
        known = numbers_of(results, sentence)
        assert {*NUMBER.findall(NAMES.sub("", sentence.text))} <= known, (sentence, sorted(known)[:40])
        assert any(values_at(results, fact.split(".")) for fact in sentence.facts), sentence


@pytest.mark.parametrize("name", MADE)
def test_every_number_occurs_in_the_results(name: str) -> None:
    results = made(name)
    if name != "nothing":
        validate(results)
    check_numbers(results)


def test_a_number_that_is_not_there_is_found() -> None:
    """The check itself finds a changed number."""
    results = made("two criteria and an LLM")
    fact = next(each for each in sentences(results) if "confidence" in each.text)
    results["settings"]["confidence"] = 0.9
    assert not {*NUMBER.findall(fact.text)} <= numbers_of(results, fact)


ABSENT = {  # a fact of the results, the value that says nothing, and words of the sentence that then is not there
    "study.pay": (None, "offered"),
    "study.bonuses": ([], "bonus"),
    "study.median_minutes": (None, "minutes"),
    "study.last_answer": (None, "The last answer, of people or LLMs, came in on 2026-02-27"),
    "study.annotators_wanted": (None, "planned for"),
    "study.sources": ([], "recruited"),
    "study.preregistration": (None, "frozen"),
    "study.preregistration.deviations": ([], "deviation"),
    "study.dropped_items": ([], "left out beforehand"),
    "study.exposures": ([], "5 outputs of each system"),
    "study.questions": ([], "as one form put them"),
    "study.design": (None, "pool"),
    "study.design.items": (None, "pool"),
    "study.design.directions": (None, "both directions"),
    "study.design.scale_points": (None, "rating scale had"),
    "study.design.counterbalanced": ([], "counterbalanced"),
    "study.design.screening_questions": (0, "screening question"),
    "study.design.attention_checks": (0, "attention check"),
    "study.raters": ([], "temperature"),
    "missing": ([], "could not be read"),
    "verification": (None, "computed again"),
    "bradley_terry": ([], "Bradley-Terry"),
    "preferences": ([], "probability that one system is preferred"),
    "choices.pairs": ([], "share of choices"),
    "ratings.pairs": ([], "paired t-tests"),
    "settings.versions": ({}, "spa-eval"),
}


@pytest.mark.parametrize("fact", ABSENT)
def test_a_sentence_is_absent_with_its_fact(fact: str) -> None:
    results = made("a study and its conduct")
    results["settings"]["max_failed_checks"] = 0
    nothing, words = ABSENT[fact]
    *within, last = fact.split(".")
    place = results
    for key in within:
        place = place[key]
    if fact == "study.exposures":
        results["preferences"] = [row | {"exposure": None} for row in results["preferences"]]
    if fact != "verification":
        assert words in text_of(results), words
    place[last] = nothing
    assert words not in text_of(results)
    check_numbers(results)


def test_two_criteria_are_both_named() -> None:
    assert "Judgements were made on fluency and accuracy." in text_of(made("two criteria and an LLM"), "Design")


def test_two_groups_are_counted_apart() -> None:
    results = made("two groups")
    found = text_of(results, "Annotators")
    assert found == (
        "2 groups of people answered and were analysed apart: experts (12 annotators) and crowd (12 annotators)."
    )
    assert "No annotator of experts was excluded. No annotator of crowd was excluded." in text_of(results, "Exclusions")
    assert "Benjamini and Hochberg" in text_of(results, "Analysis")
    assert "Holm" not in re.sub(r"Whether two systems.*?own\.", "", text_of(results, "Analysis"))


def test_nobody_excluded_is_said_of_each_group() -> None:
    """Nor is it said of people when somebody else had no exclusions."""
    results = made("a study")
    said = text_of(results, "Exclusions")
    assert "Of 90 annotators, 2 were excluded (self-consistency: 1 and screening: 1)." in said
    assert "No simulated annotator was excluded." in said
    assert "No annotator was excluded" not in said
    results["exclusions"] = []
    said = text_of(results, "Exclusions")
    assert "No annotator was excluded." in said
    assert " were excluded" not in said
    assert "No form of gpt<4>/persona_a (LLM) was excluded." in said


def test_one_annotator_is_one() -> None:
    said = text_of(made("one annotator"))
    assert "1 annotator answered." in said
    assert "over annotators" not in said
    assert "within annotators" not in said
    assert "averaged within items" in said
    assert "Agreement" not in said


def test_people_without_names_are_not_told_apart() -> None:
    said = text_of(made("nobody is named"))
    assert "The people are not named in the data (12 unnamed people an output)" in said
    assert "by people whom the data do not name were subtracted" in said
    assert "by one annotator" not in said
    assert "12 annotators" not in said


def test_a_jury_puts_answers_together() -> None:
    said = text_of(made("a jury"))
    assert "both (jury) puts the answers of gpt and cmd together." in said
    assert "of both (jury) was excluded" not in said


def test_pay_of_all_and_bonuses_of_some() -> None:
    said = text_of(made("a study and its conduct"), "Annotators")
    assert "The study offered 2.50 USD for a completed submission." in said
    assert "Reviewers granted 2 bonuses from 0.50 to 2.00 USD beside it." in said
    assert "2 bonuses of 1.00 USD beside it" in text_of(made("bonuses alike"), "Annotators")
    results = made("a study and its conduct")
    results["study"]["pay"] = "0"
    assert "The study offered no pay." in text_of(results, "Annotators")


def test_simulated_people_were_not_paid_or_recruited() -> None:
    results = made("a study and its conduct")
    results["groups"] = [row for row in results["groups"] if row["annotator_kind"] != "human"]
    said = text_of(results, "Annotators")
    assert said == "No person took part: 30 simulated annotators answered in the place of people."
    assert "everything about people: these annotators are simulated" in written(results).to_add


def test_several_exposures_are_all_named() -> None:
    said = text_of(made("several exposures"), "Design")
    assert "Before a preference was stated, 1, 2 and 8 outputs of each system had been read." in said


def test_sources_that_do_not_say_are_left_out() -> None:
    """A sentence about some of the people would be taken for one about all."""
    results = made("a study and its conduct")
    results["study"]["sources"][1]["recruited"] = None
    assert "recruited" not in text_of(results)
    assert any("where people were recruited" in line for line in written(results).to_add)


def test_a_model_has_its_version_and_settings() -> None:
    results = made("a study and its conduct")
    said = text_of(results, "LLMs")
    assert "is the model gpt-4 (its endpoint answered as gpt-4-0613) and answered 90 forms from 2026-03-01" in said
    assert "(temperature 0.7, top-p 0.9, seed 11, reasoning effort low, at most 1,200 tokens an answer)" in said
    assert "word for word" not in said
    results["study"]["raters"][0] |= {"temperature": None, "readout": "logit", "answered_by": ["gpt-4"]}
    next(row for row in results["groups"] if row["annotator_kind"] == "llm")["form"] = "identical"
    said = text_of(results, "LLMs")
    assert "no temperature set" in said
    assert "probabilities that it gave" in said
    assert "endpoint answered" not in said
    assert "read and was asked what the form for people says, word for word." in said


def test_copies_of_clips_are_told() -> None:
    """Of sound, of films, and what models were sent of them; of texts and pictures nothing."""
    results = made("a study and its conduct")
    design, rater = results["study"]["design"], results["study"]["raters"][0]
    assert "clip" not in text_of(results)
    design["kind"] = "audio"
    assert "Each audio clip was shown as a copy, encoded anew as FLAC, without loss and as loud as it was." in text_of(
        results, "Design"
    )
    rater["frames_per_second"] = 1.5  # of what does not move nothing follows
    assert "Of each audio clip it was sent 16-bit WAV made of this copy." in text_of(results, "LLMs")
    design |= {"kind": "text", "item_kind": "video"}
    assert "H.264 in MP4, its sound as AAC, upright, with square pixels and as loud" in text_of(results, "Design")
    said = "In the place of each video clip it was sent 1.5 pictures a second, without its sound."
    assert said in text_of(results, "LLMs")
    check_numbers(results)
    rater["frames_per_second"] = None
    assert "Of each video clip it was sent this copy." in text_of(results, "LLMs")
    results["study"]["raters"] = []
    assert "it was sent" not in text_of(results, "LLMs")


def test_an_LLM_alone_is_no_annotator() -> None:
    assert "nnotators" not in text_of(made("LLM alone")).replace("one annotator", "")
    assert "nnotators" not in text_of(made("two LLMs state preferences"))
    assert not any("recruit" in line for line in written(made("LLM alone")).to_add)


def test_one_test_is_not_corrected() -> None:
    said = text_of(made("choices"), "Analysis")
    assert "held 1 test, p-values were not corrected; the level is 5%" in said
    assert "holm-1979-simple" not in written(made("choices")).cited


def test_a_live_study_has_no_fixed_tests(tmp_path: Path) -> None:
    path = live_study.build(tmp_path)
    live_study.answer(path)
    spa("report", path, "--out", tmp_path / "report", "--no-verify")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    said = text_of(results)
    check_numbers(results)
    assert "until every comparison was decided or given up, at least 10 and at most 36 annotators" in said
    assert "is at most 5% over all" in said
    assert "t-test" not in said
    assert "Holm" not in said
    assert "The study offered 2.00 GBP for a completed submission." in said
    assert "They were recruited through a link to the survey that was handed on." in said
    assert "waudby-smith-ramdas-2024-betting" in (tmp_path / "report" / "methods.bib").read_text()


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("chhun", "The questions, as one form put them, were \u201cHow well does the story match its prompt?\u201d"),
        ("chiang-lee", "We compared 2 systems (formula and novelist). The outputs of novelist were written or made by"),
        (
            "ethayarajh-jurafsky",
            "5 outputs of each system had been read. Each pair was asked about in both directions.",
        ),
        ("sottana", "Annotators put single outputs into one of several named categories."),
    ],
)
def test_the_papers_examples_have_sentences(tmp_path: Path, example: str, expected: str) -> None:
    path = tmp_path / "study" / "study.toml"
    spa("init", path.parent, "--example", example)
    study = load_study(path)
    outputs = load_outputs(study)
    assignment, key = next(sample_assignments(study, outputs, count=1, rng=study_rng(study.seed)))
    form = build_form(study, outputs, assignment, key, load_texts(study.language, study.texts))
    facts = facts_of(study, form=form, outputs=outputs)
    results = empty_results() | {"study": plain(facts.reported())}
    results["groups"] = [PEOPLE | {"annotator_kind": "simulated", "group": "simulated"}]
    check_numbers(results)
    assert expected in text_of(results, "Design")
    assert "No person took part: 6 simulated annotators" in text_of(results, "Annotators")


def test_the_bibliography_has_what_is_cited() -> None:
    for name in MADE:
        found = written(made(name))
        text = bibliography(found.cited, "0.1.0")
        assert re.findall(r"(?m)^@\w+\{([^,]+),", text) == list(found.cited)
    everything = bibliography([*PAPERS, "spa-eval"], None)
    kinds = set(re.findall(r"(?m)^@(\w+)", everything))
    assert kinds <= {"article", "inproceedings", "book", "misc"}
    assert "and others" not in everything
    assert "{{The spa-eval authors}}" in everything
    assert everything.count("{") == everything.count("}")
    for entry in re.split(r"\n\n", everything.strip()):
        assert {"title", "author"} <= {*re.findall(r"(?m)^  (\w+)", entry)}, entry


def test_hostile_names_stay_text() -> None:
    files = render_report(made("a study and its conduct"))
    assert "<script>" not in files["methods.md"]
    assert r"a\_b \& 50\% \# \$x\$ \{y\}" in files["methods.tex"]
    assert files["methods.md"].count("-->") == files["methods.md"].count("<!--")


def test_a_group_cannot_end_the_comment() -> None:
    results = made("LLM alone")
    renamed = json.loads(json.dumps(results).replace('"gpt"', '"--> <b>x"'))
    text = render_report(renamed)["methods.md"]
    assert text.count("-->") == text.count("<!--")
    assert "<b>" not in text


@pytest.mark.parametrize("name", ["a study and its conduct", "two criteria and an LLM", "nothing"])
def test_the_latex_compiles(tmp_path: Path, name: str) -> None:
    """With its bibliography, in a class without natbib."""
    program = shutil.which("pdflatex")
    if program is None or shutil.which("bibtex") is None:
        pytest.skip("pdflatex and bibtex are not installed")
    results = json.loads(re.sub(r"\\u[0-9a-f]{4}", "x", json.dumps(made(name))))
    for file, text in render_report(results).items():
        if file.startswith("methods."):
            (tmp_path / file).write_text(text, encoding="utf-8")
    body = r"\documentclass{article}\begin{document}\input{methods}\bibliographystyle{plain}\bibliography{methods}"
    (tmp_path / "main.tex").write_text(body + r"\end{document}")
    for command in (
        [program, "-interaction=nonstopmode", "main"],
        ["bibtex", "main"],
        [program, "main"],
        [program, "main"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        if command[0] != "bibtex" or written(results).cited:
            assert done.returncode == 0, done.stdout[-2000:]
            assert "Warning--" not in done.stdout
    log = (tmp_path / "main.log").read_text(encoding="utf-8", errors="replace")
    assert not re.search(r"(?m)^!", log)
    assert "undefined" not in log


def test_conduct_is_in_the_schema() -> None:
    results = made("a study and its conduct")
    validate(results)
    assert set(CONDUCT) <= set(from_plain(results).study.__dataclass_fields__)
