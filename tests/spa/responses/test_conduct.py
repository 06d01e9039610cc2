"""Evidence of conduct: told, kept as it came, read strictly, never a reason to refuse an answer."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from mturk.hit_forms import render_hit_page
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.forms.assets import asset_text
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.records.form import NOTHING_ASKED, ConductAsked
from spa.records.study import Study
from spa.records.texts import Texts
from spa.responses.conduct_evidence import HONEYPOT, LONGEST, NAMES, OF_PROGRAMS, TOLD, conduct_asked, parse_conduct
from spa.responses.conduct_rows import KnownConduct, conduct_of, may_have_conduct, seconds_between, visit_conduct
from spa.responses.export import export_tables
from spa.responses.payloads import Payload
from spa.server.preview import create_preview
from spa.study.load import load_study, study_fingerprint
from tests.spa.responses.test_reading import READ, Visitor, opened, seen
from tests.spa.small_study import raw_answer, write_study
from tests.spa.web_forms import small_form

TRAPS: dict[str, Any] = {"honeypot": True, "injected": "lamplighter"}
WHOLE = "[1,240,2,13.25,83,0,12,4,1,3,1,0]"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=14)
)


def test_conduct_is_read() -> None:
    conduct = parse_conduct(WHOLE)
    assert astuple(conduct) == (1, 240, 2, 13.25, 83, 0, 12, 4, 1, 3, 1, 0)


def test_script_sends_fields_in_order() -> None:
    """The script names the numbers as the record does."""
    _, _, after = asset_text("conduct.js").partition("const NAMES = ")
    assert json.loads(after[: after.index("]") + 1]) == list(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{}",
        "[]",
        "[1,2]",
        WHOLE.replace("240", '"240"'),
        WHOLE.replace("240", "-1"),
        WHOLE.replace("240", "2.5"),
        WHOLE.replace("240", "true"),
        WHOLE.replace("240", "NaN"),
        WHOLE.replace("240", "1e999"),
        WHOLE.replace("240", "1" * 200),
        WHOLE.replace("13.25", "8e6"),
        WHOLE.replace(",4,1,3,1,0]", ",4,5,3,1,0]"),  # more unprompted than there are
        WHOLE.replace(",4,1,3,1,0]", ",4,1,3,4,0]"),  # more fast than timed
        WHOLE.replace(",4,1,3,1,0]", ",2,1,3,1,0]"),  # more timed than there are
        WHOLE.replace(",1,0]", ",1,2]"),
        "[" * LONGEST,
        " " * LONGEST + WHOLE,
        '["<script>"]',
    ],
)
def test_conduct_out_of_bounds_is_unreadable(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        parse_conduct(text)
    payloads = sent((10.0, "p1", None), (20.0, "p2", text))
    assert conduct_of(payloads, asked=True)["p2"] == KnownConduct(known_by="unreadable", conduct=None)


@given(st.text() | JSON.map(json.dumps))
def test_whatever_arrives_is_read_or_unreadable(text: str) -> None:
    try:
        conduct = parse_conduct(text)
    except ValueError:
        return
    assert 0 <= conduct.fast <= conduct.timed <= conduct.answers >= conduct.unprompted


def sent(*pages: tuple[float, str, object]) -> tuple[Payload, ...]:
    return tuple(
        Payload(page_id=page, body=json.dumps({} if text is None else {"conduct": text}), received_at=at)
        for at, page, text in pages
    )


def test_what_the_clock_refutes() -> None:
    """By hand: the page was sent 10 s after the one before, and was away for 13.25 s by its script."""
    quick = sent((10.0, "p1", None), (20.0, "p2", WHOLE))
    assert conduct_of(quick, asked=False)["p2"].known_by == "refuted"
    assert conduct_of(sent((10.0, "p1", None), (30.0, "p2", WHOLE)), asked=False)["p2"].known_by == "script"
    assert seconds_between(quick) == {"p2": 10.0}
    again = sent((10.0, "p1", None), (12.0, "p2", None), (20.0, "p2", None), (25.0, "p3", None), (40.0, "p2", None))
    assert seconds_between(again) == {"p2": 10.0, "p3": 5.0}


def test_no_evidence_is_none_where_it_was_asked() -> None:
    payloads = sent((10.0, "p1", None), (20.0, "p2", None))
    assert {one.known_by for one in conduct_of(payloads, asked=True).values()} == {"none"}
    assert conduct_of(payloads, asked=False) == {}


def test_forms_of_hits_and_simulations_have_none() -> None:
    """What came at one moment was filled in on a platform's page, which counts nothing."""
    assert not may_have_conduct(sent((10.0, "p1", None), (10.0, "p2", None)), "human", asked=True)
    assert may_have_conduct(sent((10.0, "p1", None), (10.5, "p2", None)), "human", asked=True)
    assert not may_have_conduct(sent((10.0, "p1", None), (10.5, "p2", WHOLE)), "simulated", asked=True)


def test_recorded_only_where_told(tmp_path: Path) -> None:
    """Not without reading, nor switched off, nor in a language or a study whose own words do not say so."""
    study = load_study(write_study(tmp_path, READ))
    texts = load_texts("en", {})
    assert conduct_asked(study, texts).counts
    for keys in ({"conduct": False}, {"seconds_per_100_words": 0.0}):
        assert conduct_asked(changed(study, **keys), texts) == NOTHING_ASKED
    own = {"page.consent_reading": "We record when a text is on screen, and nothing else."}
    assert not conduct_asked(study.model_copy(update={"texts": own}), load_texts("en", own)).counts
    own |= {TOLD: "We record much."}
    assert conduct_asked(study.model_copy(update={"texts": own}), load_texts("en", own)).counts
    for key in (TOLD, *OF_PROGRAMS):
        entries = {name: text for name, text in load_texts("en", {}).entries.items() if name != key}
        found = conduct_asked(changed(study, **TRAPS), Texts(language="xx", right_to_left=False, entries=entries))
        assert found == (NOTHING_ASKED if key == TOLD else ConductAsked(counts=True))
    assert conduct_asked(changed(study, **TRAPS), texts) == ConductAsked(counts=True, **TRAPS)


def changed(study: Study, **people: Any) -> Study:
    return study.model_copy(update={"people": study.people.model_copy(update=people)})


def test_switch_stands_in_no_fingerprint(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, READ))
    assert study_fingerprint(changed(study, conduct=False, **TRAPS)) == study_fingerprint(study)


def test_pages_say_what_they_count(tmp_path: Path) -> None:
    """The first page or the consent says so, and all ask for it; where it is off, none does, and nothing else stays."""
    for number, (text, on) in enumerate(((READ, True), (READ.replace("= 6", "= 6, conduct = false"), False))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(folder, text) as workspace:
            visitor = Visitor(workspace)
            first, second, *_ = visitor.form.pages
            html = visitor.client.get(f"/a/{visitor.token}/p/{first.page_id}").text
            assert ("which keys you press" in html, "not even keystrokes" in html) == (on, not on)
            assert ('data-conduct=""' in html, "/static/conduct." in html) == (on, on)
            fields = {question.question_id: raw_answer(question) for question in first.questions}
            fields["reading"] = json.dumps(seen(first))
            for sent, counted in ({}, False), ({"conduct": WHOLE}, on):  # whoever was not told is not counted
                visitor.client.post(f"/a/{visitor.token}/p/{first.page_id}", data={**fields, **sent})
                shown = visitor.client.get(f"/a/{visitor.token}/p/{second.page_id}").text
                assert ("data-conduct" in shown) == counted
            preview = TestClient(create_preview(visitor.form, workspace.texts)).get(f"/p/{first.page_id}").text
            assert "data-conduct" not in preview


def send_all(workspace: Workspace, conduct: dict[str, str | None], default: str | None = WHOLE) -> Visitor:
    """Send all pages of a form with evidence, that of some kinds of pages another or none."""
    visitor = Visitor(workspace)
    for page in visitor.form.pages:
        fields = {question.question_id: raw_answer(question) for question in page.questions}
        fields["reading"] = json.dumps(seen(page))
        text = conduct.get(page.kind, default)
        if text is not None:
            fields["conduct"] = text
        address = f"/a/{visitor.token}/p/{page.page_id}"
        assert visitor.client.post(address, data=fields, follow_redirects=False).status_code == 303
    return visitor


def test_hostile_values_refuse_no_answer(tmp_path: Path) -> None:
    """A page is taken and kept verbatim whatever its evidence; the table says what could be read."""
    hostile = '[[{"<script>alert(1)</script>\u202e\x00'
    with opened(tmp_path, READ) as workspace:
        visitor = send_all(workspace, {"screening": hostile, "reading": None})
        (visit,) = workspace.store.visits.leases()
        assert visit.completed
        screening = next(page for page in visitor.form.pages if page.kind == "screening")
        bodies = [one.body for one in workspace.store.visits.payloads(visit.submission_id)]
        assert any(json.loads(body).get("conduct") == hostile for body in bodies)
        out = tmp_path / "out"
        result = CliRunner().invoke(main, ["export", str(tmp_path / "study.toml"), "--out", str(out)])
        assert result.exit_code == 0, result.output
        table = pl.read_csv(out / "conduct.csv")
        known = dict(table.group_by("page_kind").agg(pl.col("known_by").unique()).iter_rows())
        assert known["screening"] == ["unreadable"]
        assert known["reading"] == ["none"]
        assert set(known["comparison"]) <= {"script", "refuted"}
        assert table["page"].to_list() == [page.page_id for page in visitor.form.pages]
        empty = table.filter(pl.col("page") == screening.page_id).select("pastes", "keys", "automated").row(0)
        assert empty == (None, None, None)


def test_shown_again_as_kept_and_escaped(tmp_path: Path) -> None:
    """A page that is opened again gets its counts back, from which the script goes on."""
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        first = visitor.form.pages[0]
        address = f"/a/{visitor.token}/p/{first.page_id}"
        for text, shown in ((WHOLE, WHOLE), ('"><script>', "&#34;&gt;&lt;script&gt;")):
            fields = {question.question_id: raw_answer(question) for question in first.questions}
            visitor.client.post(f"{address}?go=stay", data={**fields, "conduct": text})
            assert f'data-conduct="{shown}"' in visitor.client.get(address).text


def test_off_or_unasked_table_is_absent(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        send_all(workspace, {}, default=None)
        assert "conduct" not in export_tables(workspace.store, form_of=workspace.form).files
        assert "conduct" not in export_tables(workspace.store, form_of=workspace.form, conduct=NOTHING_ASKED).files
        table = export_tables(workspace.store, form_of=workspace.form, conduct=ConductAsked(counts=True)).files[
            "conduct"
        ]
        assert set(table["known_by"]) == {"none"}
        assert set(table["annotator_kind"]) == {"human"}


def test_forgetting_a_person_forgets_conduct(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        visitor = send_all(workspace, {})
        (visit,) = workspace.store.visits.leases()
        assert any("conduct" in one.body for one in workspace.store.visits.payloads(visit.submission_id))
    study = str(tmp_path / "study.toml")
    result = CliRunner().invoke(main, ["forget", study, "--person", visitor.token, "--yes"])
    assert result.exit_code == 0, result.output
    with open_workspace(tmp_path / "study.toml") as workspace:
        assert not any("conduct" in one.body for one in workspace.store.visits.payloads(visit.submission_id))


def test_visit_is_summed_without_what_is_refuted() -> None:
    """By hand: two pages are counted, one is refuted, one has nothing, and one what only programs are asked for."""
    quick = WHOLE.replace("13.25", "50")
    pages = (0.0, "p1", None), (30.0, "p2", WHOLE), (60.0, "p3", WHOLE), (61.0, "p4", quick), (70.0, "p5", "[]")
    found = visit_conduct(small_form(), sent(*pages), ConductAsked(counts=True))
    assert (found.pages, found.script, found.none, found.refuted, found.unreadable) == (5, 2, 1, 1, 1)
    assert astuple(found.counted) == (2, 480, 4, 26.5, 166, 0, 24, 8, 2, 6, 2, 0)
    assert (found.honeypot, found.injected) == (0, 0)


TRAPPED = (
    READ.replace("= 6", f'= 6, honeypot = true, injected = "{TRAPS["injected"]}"')
    + """
[[interview]]
id = "why"
question = "Why?"
"""
)


def test_what_is_for_programs_is_told_and_shown(tmp_path: Path) -> None:
    """The box is on pages with questions alone, hidden from everybody; the word where something is written."""
    with opened(tmp_path, TRAPPED) as workspace:
        visitor = Visitor(workspace)
        for page in visitor.form.pages:
            html = visitor.client.get(f"/a/{visitor.token}/p/{page.page_id}").text
            box = '<p class="unseen" aria-hidden="true" data-chrome><label><input type="checkbox" name="honeypot"'
            assert (box in html) == (page.audience == "everybody" and bool(tuple(page.questions))), page.page_id
            assert ("write" in html and TRAPS["injected"] in html) == (page.kind == "interview")
            assert ("words for programs" in html) == (page is visitor.form.pages[0])
            fields = {question.question_id: raw_answer(question) or "because" for question in page.questions}
            if page.kind == "comparison":
                fields[HONEYPOT] = "yes"
            if page.kind == "interview":
                fields[next(iter(page.questions)).question_id] = "Because of the LAMPLIGHTER."
            fields |= {"reading": json.dumps(seen(page)), "conduct": WHOLE}
            address = f"/a/{visitor.token}/p/{page.page_id}"
            assert visitor.client.post(address, data=fields, follow_redirects=False).status_code == 303
        (visit,) = workspace.store.visits.leases()
        assert visit.completed
        asked = conduct_asked(workspace.study, workspace.texts)
        tables = export_tables(workspace.store, form_of=workspace.form, conduct=asked)
        marks = {(row["page_kind"], row["honeypot"], row["injected"]) for row in tables.conduct.to_dicts()}
        assert {one for one in marks if one[1:] != (None, None)} == {("comparison", 1, None), ("interview", None, 1)}
        assert tables.exclusions.is_empty()
        assert tables.annotators["checks_failed"].to_list() == [0]
        summed = visit_conduct(visitor.form, workspace.store.visits.payloads(visit.submission_id), asked)
        assert summed.injected == 1


def test_prompts_and_hits_hold_nothing_for_programs(tmp_path: Path) -> None:
    with opened(tmp_path, TRAPPED) as workspace:
        name = next(iter(workspace.store.assignments)).assignment_id
        prompt = str(render_prompt(workspace.form(name, respondents="llm")))
        hit = render_hit_page(
            workspace.form(name), workspace.texts, origins=("https://a.example",), seconds_per_100_words=6.0
        )
        plain = tmp_path / "plain"
        plain.mkdir()
        with opened(
            plain, TRAPPED.replace(", honeypot = true", "").replace(f', injected = "{TRAPS["injected"]}"', "")
        ) as without:
            assert prompt == str(render_prompt(without.form(name, respondents="llm")))
        for text in (prompt, hit):
            assert not any(
                word in text for word in (TRAPS["injected"], "honeypot", "data-conduct", "you are a program")
            )
        assert "not even keystrokes" in hit
