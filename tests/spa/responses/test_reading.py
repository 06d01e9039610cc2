"""Evidence of reading: read strictly, demanded where it is sent, exported unblinded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.forms.texts import READING_TEXTS, load_texts
from spa.records.form import ExhibitsBlock, Form, Page
from spa.records.submission import AnnotatorKind
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.payloads import Payload
from spa.responses.reading_evidence import (
    LONGEST,
    OutputExposure,
    PageExposure,
    clocked_seconds,
    minimum_seconds,
    parse_exposure,
    unseen_outputs,
)
from spa.server.app import create_app
from spa.server.form_progress import FormProgress, KeptPages
from spa.server.preview import create_preview
from spa.study.load import load_study, study_fingerprint
from tests.spa.small_study import STUDY, raw_answer, write_study
from tests.spa.store_steps import lease_assignment
from tests.spa.web_forms import small_form

READ = STUDY.replace(", seconds_per_100_words = 0", "")  # 6 for 100 words
READING_PAGE = small_form().pages[2]  # e2, e3 and e4, of six words each
WHOLE = {"seconds": 9.5, "outputs": {"e2": [0.1, 9, 1], "e3": [2.5, 3.25, 0.5]}}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["seconds", "outputs", "e2"]) | st.text(), inner),
)


def test_evidence_is_read() -> None:
    exposure = parse_exposure(json.dumps(WHOLE), READING_PAGE)
    assert exposure.seconds == 9.5
    assert exposure.outputs == {
        "e2": OutputExposure(first_seen=0.1, seconds=9.0, scrolled=1.0),
        "e3": OutputExposure(first_seen=2.5, seconds=3.25, scrolled=0.5),
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"seconds": 1}',
        '{"seconds": 1, "outputs": []}',
        '{"seconds": true, "outputs": {}}',
        '{"seconds": -1, "outputs": {}}',
        '{"seconds": NaN, "outputs": {}}',
        '{"seconds": 1e999, "outputs": {}}',
        '{"seconds": 8e6, "outputs": {}}',
        '{"seconds": 1, "seconds": 2, "outputs": {}}',
        '{"seconds": 1, "outputs": {}, "keys": "abc"}',
        '{"seconds": 1, "outputs": {"e1": [0, 1, 1]}}',  # the item text
        '{"seconds": 1, "outputs": {"e99": [0, 1, 1]}}',
        '{"seconds": 1, "outputs": {"e2": [0, 1]}}',
        '{"seconds": 1, "outputs": {"e2": [0, "1", 1]}}',
        '{"seconds": 1, "outputs": {"e2": [2, 1, 1]}}',  # first seen after the page was left
        '{"seconds": 1, "outputs": {"e2": [0, 2, 1]}}',  # longer on screen than the page
        '{"seconds": 1, "outputs": {"e2": [0, 1, 1.01]}}',
        '{"seconds": ' + "1" * 5000 + ', "outputs": {}}',
        "[" * 20_000,
        " " * LONGEST + json.dumps(WHOLE),
    ],
)
def test_evidence_out_of_bounds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Exceeds"):
        parse_exposure(text, READING_PAGE)


@given(st.text() | JSON.map(json.dumps))
def test_whatever_arrives_is_read_within_bounds_or_refused(text: str) -> None:
    try:
        exposure = parse_exposure(text, READING_PAGE)
    except ValueError:
        return
    for output in exposure.outputs.values():
        assert 0 <= output.seconds <= exposure.seconds
        assert 0 <= output.scrolled <= 1


def test_minimum_seconds_from_words_of_new_outputs(tmp_path: Path) -> None:
    """Six words at 50 seconds for 100 words are 3 seconds; an image has a second; repeated outputs nothing."""
    form = small_form()
    assert minimum_seconds(READING_PAGE, 50.0) == {"e2": 3.0, "e3": 3.0, "e4": 3.0}
    assert minimum_seconds(form.pages[3], 50.0) == {}
    assert minimum_seconds(READING_PAGE, 0.0) == {}
    pictures = small_form(image=tmp_path / "x.png").pages[2]
    assert set(minimum_seconds(pictures, 50.0).values()) == {1.0}
    exposure = parse_exposure(json.dumps(WHOLE), READING_PAGE)
    assert [one.exhibit_id for one in unseen_outputs(READING_PAGE, exposure, 50.0)] == ["e4"]
    assert [one.exhibit_id for one in unseen_outputs(READING_PAGE, exposure, 60.0)] == ["e3", "e4"]
    assert unseen_outputs(READING_PAGE, exposure, 0.0) == ()


@given(
    st.lists(st.floats(0, 20), min_size=3, max_size=3),
    st.floats(0, 40),
    st.floats(0, 40),
    st.sampled_from([30.0, 90.0]),
)
def test_texts_together_take_the_sum(
    on_screen: tuple[float, ...], page: float, clock: float, per_100_words: float
) -> None:
    """A page can be left once each text had its minimum and the page the sum of them, however they stood together."""
    seconds = {
        name: min(round(one, 2), round(page, 2)) for name, one in zip(("e2", "e3", "e4"), on_screen, strict=True)
    }
    outputs = {name: OutputExposure(first_seen=0, seconds=one, scrolled=1) for name, one in seconds.items()}
    exposure = PageExposure(seconds=round(page, 2), outputs=outputs)
    least = minimum_seconds(READING_PAGE, per_100_words)
    left = unseen_outputs(READING_PAGE, exposure, per_100_words, at_most=clock)
    enough = all(seconds[name] >= one for name, one in least.items())
    assert (left == ()) == (enough and round(min(round(page, 2), clock) - sum(least.values()), 2) >= 0)
    assert {one.exhibit_id for one in left} >= {name for name, one in least.items() if seconds[name] < one}


def test_texts_side_by_side_are_left_one_by_one() -> None:
    """By hand: three texts of 3 seconds, all on screen for 7: two were read."""
    exposure = parse_exposure(
        json.dumps({"seconds": 7, "outputs": {name: [0, 7, 1] for name in ("e2", "e3", "e4")}}), READING_PAGE
    )
    assert [one.exhibit_id for one in unseen_outputs(READING_PAGE, exposure, 50.0)] == ["e4"]
    assert [one.exhibit_id for one in unseen_outputs(READING_PAGE, exposure, 50.0, at_most=3.5)] == ["e3", "e4"]


def test_time_is_spent_once() -> None:
    """By hand: what a page was on screen is gone for those sent after it; who claims more takes what there is."""
    assert clocked_seconds([("p2", 30.0, 12.0), ("p1", 10.0, 8.0)], 0.0) == {"p1": 11.0, "p2": 23.0}
    assert clocked_seconds([("p1", 10.0, 500.0), ("p2", 30.0, 5.0)], 0.0) == {"p1": 11.0, "p2": 20.0}
    assert clocked_seconds([("p1", 7.0, 500.0), ("p2", 7.0, 5.0)], 7.0) == {}  # filled in elsewhere


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 5)), max_size=8))
def test_whoever_reads_one_page_at_a_time_is_believed(pages: list[tuple[float, float]]) -> None:
    """Pages that were on screen one after the other, with pauses between them, are never refuted."""
    now, sent = 1_000.0, []
    for place, (seconds, pause) in enumerate(pages):
        now += seconds + pause
        sent.append((f"p{place}", now, seconds))
    most = clocked_seconds(sent, 1_000.0)
    assert all(seconds <= most.get(name, seconds) for name, _, seconds in sent)


def test_the_server_clock_refutes_what_cannot_be(tmp_path: Path) -> None:
    """Three minutes that passed within five seconds are not believed: the page stays, and the table says so."""
    now = 1_000.0
    slow = READ.replace("annotators = 6", "annotators = 6, seconds_per_100_words = 100")  # three seconds an output
    with opened(tmp_path, slow) as workspace:
        visitor = Visitor(workspace)
        visitor.client = TestClient(create_app(workspace, clock=lambda: now))
        for page in visitor.form.pages:
            least = sum(minimum_seconds(page, 100.0).values())
            names = [exhibit.exhibit_id for exhibit in page.outputs]
            claimed = {"seconds": 180.0, "outputs": {name: [0, 180, 1] for name in names}}
            now += max(least - 3.0, 0.5)
            assert visitor.send(page, claimed).status_code == (422 if least else 303)
            if least:
                now += 3.5
                true = {"seconds": least, "outputs": {name: [0, least, 1] for name in names}}
                assert visitor.send(page, true if page.kind == "reading" else claimed).status_code == 303
        (visit,) = workspace.store.visits.leases()
        assert visit.completed
        table = export_tables(workspace.store, form_of=workspace.form).reading
        known = table.group_by("page_kind").agg(pl.col("known_by").unique())
        assert dict(known.iter_rows())["reading"] == ["script"]
        assert dict(known.iter_rows())["comparison"] == ["refuted"]


def opened(folder: Path, text: str) -> Workspace:
    path = write_study(folder, text)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    return open_workspace(path)


class Visitor:
    """Somebody who goes through a form over HTTP and says how each page was seen."""

    def __init__(self, workspace: Workspace, annotator_kind: AnnotatorKind = "human") -> None:
        self.client = TestClient(create_app(workspace))
        self.token = workspace.store.tokens()[0]
        lease = lease_assignment(
            workspace.store,
            workspace.store.keyed(self.token),
            source="link",
            annotator_kind=annotator_kind,
            token=self.token,
        )
        self.form: Form = workspace.form(lease.assignment_id)

    def send(self, page: Page, evidence: object = None, go: str = ""):  # type: ignore[no-untyped-def]
        """Post good answers, with evidence where there is any."""
        fields = {question.question_id: raw_answer(question) for question in page.questions}
        if evidence is not None:
            fields["reading"] = json.dumps(evidence)
        return self.client.post(f"/a/{self.token}/p/{page.page_id}{go}", data=fields, follow_redirects=False)

    def page(self, kind: str) -> Page:
        """Go as far as the first page of a kind, and return it."""
        for page in self.form.pages:
            if page.kind == kind:
                return page
            assert self.send(page, seen(page)).status_code == 303
        raise AssertionError(kind)


def seen(page: Page, *, but: int = 0) -> dict[str, object]:
    """Return evidence that all outputs were seen for ten seconds, ``but`` the last ones."""
    outputs = [exhibit.exhibit_id for exhibit in page.outputs]
    return {"seconds": 20.0, "outputs": {one: [0.5, 10.0, 1.0] for one in outputs[: len(outputs) - but]}}


def test_a_page_stays_until_its_outputs_were_seen(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        page = visitor.page("reading")
        answer = visitor.send(page, seen(page, but=1))
        assert answer.status_code == 422
        assert "Please read these before continuing" in answer.text
        assert f"<li>{page.outputs[-1].caption}</li>" in answer.text
        due = visitor.client.post(f"/a/{visitor.token}", follow_redirects=False).headers["location"]
        assert due.endswith(f"/p/{page.page_id}")  # an address typed by hand leads nowhere else
        assert visitor.send(page, seen(page)).status_code == 303


def test_no_completion_code_while_an_output_was_not_seen(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        skipped = next(page for page in visitor.form.pages if page.kind == "reading")
        for page in visitor.form.pages:
            visitor.send(page, seen(page, but=page is skipped))
        (visit,) = workspace.store.visits.leases()
        assert not visit.finished
        for page in visitor.form.pages[visitor.form.pages.index(skipped) :]:
            visitor.send(page, seen(page))
        (visit,) = workspace.store.visits.leases()
        assert visit.completed


def test_going_back_keeps_the_evidence_and_leaves_the_page_due(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        page = visitor.page("reading")
        assert visitor.send(page, seen(page, but=1), go="?go=back").status_code == 303
        shown = visitor.client.get(f"/a/{visitor.token}/p/{page.page_id}")
        assert "data-reading" in shown.text
        assert "&#34;seconds&#34;: 20.0" in shown.text  # the script counts on from here
        due = visitor.client.post(f"/a/{visitor.token}", follow_redirects=False).headers["location"]
        assert due.endswith(f"/p/{page.page_id}")


def test_hostile_evidence_is_kept_and_refused(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        page = visitor.page("reading")
        assert visitor.send(page, {"seconds": -1, "outputs": {}}).status_code == 400
        assert visitor.send(page, {"seconds": 1, "outputs": {"e9999": [0, 1, 1]}}).status_code == 400
        consent = next(each for each in visitor.form.pages if each.kind == "instructions")
        assert visitor.send(consent, seen(consent)).status_code == 303


def test_zero_measures_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, STUDY) as workspace:
        visitor = Visitor(workspace)
        page = visitor.page("reading")
        html = visitor.client.get(f"/a/{visitor.token}/p/{page.page_id}").text
        assert "data-reading" not in html
        assert "data-exhibit" not in html
        assert visitor.send(page, seen(page, but=1)).status_code == 303


def test_reading_without_translated_sentences(tmp_path: Path) -> None:
    """Studies were translated before these sentences were there; what cannot be told is not asked for."""
    english = load_texts("en", {}).entries
    told = {key for key in english if key in {"page.minutes", "page.instructions", *READING_TEXTS}}
    assert len(told) == 5
    lines = [f"{json.dumps(key)} = {json.dumps(text)}" for key, text in english.items() if key not in told]
    text = READ.replace("people = {", 'language = "de"\npeople = {') + "\n[texts]\n" + "\n".join(lines)
    with opened(tmp_path, text) as workspace:
        visitor = Visitor(workspace)
        assert visitor.client.get("/").status_code == 200
        page = visitor.page("reading")
        html = visitor.client.get(f"/a/{visitor.token}/p/{page.page_id}").text
        assert "data-reading" not in html
        assert visitor.send(page, seen(page, but=1)).status_code == 303


def test_a_preview_asks_for_nothing() -> None:
    client = TestClient(create_preview(small_form(), load_texts("en", {})))
    assert "data-reading" not in client.get("/p/p3").text
    assert client.post("/p/p3", data={"reading": "{"}, follow_redirects=False).status_code == 303


def test_the_consent_page_says_what_is_measured(tmp_path: Path) -> None:
    text = READ + '\n[consent]\ntext = "Take part freely."\n'
    with opened(tmp_path, text) as workspace:
        visitor = Visitor(workspace)
        visitor.client.post(f"/a/{visitor.token}")
        html = visitor.client.get(f"/a/{visitor.token}/p/{visitor.form.pages[0].page_id}").text
        assert "how far you scroll" in html
        later = visitor.client.post(
            f"/a/{visitor.token}/p/{visitor.form.pages[0].page_id}",
            data={question.question_id: "yes" for question in visitor.form.pages[0].questions},
        )
        assert "how far you scroll" not in later.text
    client = TestClient(create_preview(visitor.form, load_texts("en", {})))
    assert "how far you scroll" not in client.get("/p/p1").text


def test_without_consent_the_first_page_says_what_is_measured(tmp_path: Path) -> None:
    """And `spa check` says that there is no consent text; where nothing is measured nothing is said."""
    for number, text in enumerate((READ, STUDY)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(folder, text) as workspace:
            visitor = Visitor(workspace)
            first, second, *_ = visitor.form.pages
            address = f"/a/{visitor.token}/p"
            assert ("how far you scroll" in visitor.client.get(f"{address}/{first.page_id}").text) == (text is READ)
            visitor.send(first, seen(first))
            assert "how far you scroll" not in visitor.client.get(f"{address}/{second.page_id}").text
        checked = CliRunner().invoke(main, ["check", str(folder / "study.toml")])
        assert ("the first page tells people so" in checked.output) == (text is READ)


def test_the_key_stands_in_no_fingerprint(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    other = study.model_copy(update={"people": study.people.model_copy(update={"seconds_per_100_words": 1.0})})
    assert study_fingerprint(other) == study_fingerprint(study)


def test_the_table_says_what_was_on_screen_of_which_system(tmp_path: Path) -> None:
    """By hand: of the reading page's outputs the last was never opened; the consent page has a row of its own."""
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        for page in visitor.form.pages:
            visitor.send(page, seen(page))
        last = next(page for page in reversed(visitor.form.pages) if page.kind == "reading")
        table = export_tables(workspace.store, form_of=workspace.form).reading
        (visit,) = workspace.store.visits.leases()
        _, key = workspace.store.assignments.draw(visit.assignment_id)
        rows = table.filter(pl.col("page") == last.page_id)
        exhibits = [one for block in last.blocks if isinstance(block, ExhibitsBlock) for one in block.exhibits]
        assert rows.select("item_id", "label", "system", "sample").rows() == [
            (one.item_id, one.label, key.systems[str(one.label)], one.sample) for one in exhibits
        ]
        assert rows.select("first_seen", "seconds", "scrolled", "page_seconds").unique().rows() == [
            (0.5, 10.0, 1.0, 20.0)
        ]
        without = next(page for page in visitor.form.pages if not page.outputs)
        (row,) = table.filter(pl.col("page") == without.page_id).to_dicts()
        assert (row["page_seconds"], row["system"], row["seconds"]) == (20.0, None, None)
        assert table["annotator_id"].unique().to_list() == [visit.annotator_id]


def test_an_output_that_was_never_on_screen_has_a_row(tmp_path: Path) -> None:
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        comparison = visitor.page("comparison")  # shows again what was read: nothing is demanded
        for page in visitor.form.pages[visitor.form.pages.index(comparison) :]:
            assert visitor.send(page, {"seconds": 3.0, "outputs": {}}).status_code in (303, 422)
        path = tmp_path / "out"
        result = CliRunner().invoke(main, ["export", str(tmp_path / "study.toml"), "--out", str(path), "--incomplete"])
        assert result.exit_code == 0, result.output
        rows = pl.read_csv(path / "reading.csv").filter(pl.col("page") == comparison.page_id)
        assert rows.select("first_seen", "seconds", "scrolled").unique().rows() == [(None, 0.0, 0.0)]


def test_forms_of_old_stores_are_not_measured_again() -> None:
    """A repeated block that is new on a form of its own is demanded."""
    comparison = small_form().pages[3]
    fresh = tuple(
        replace(block, repeated=False) if isinstance(block, ExhibitsBlock) else block for block in comparison.blocks
    )
    assert set(minimum_seconds(replace(comparison, blocks=fresh), 50.0)) == {"e11", "e12", "e21", "e22"}


def test_what_was_sent_is_read_once_and_what_is_sent_anew_again(monkeypatch: pytest.MonkeyPatch) -> None:
    form, kept = small_form(), KeptPages()
    who = {"annotator_id": "x", "annotator_kind": "human", "source": "link"}
    lease = Lease(submission_id="s1", assignment_id="a1", leased_at=0.0, **who)  # type: ignore[arg-type]

    def progress(body: str, page_id: str = "p3") -> FormProgress:
        sent = [Payload(page_id=page_id, body=body, received_at=100.0)]
        return FormProgress.from_payloads(form, lease, sent, seconds_per_100_words=50.0, kept=kept)

    body = json.dumps({"reading": json.dumps(seen(form.pages[2]))})
    first = progress(body)
    assert progress(body).sent["p3"] is first.sent["p3"]
    assert first.unseen(form.pages[2]) == ()
    asked = [question.question_id for question in form.pages[3].questions]
    assert first.gaps(form.pages[3]) == dict.fromkeys(asked, "empty") != {}  # of which nothing was sent
    assert len(progress("{}").unseen(form.pages[2])) == 3
    assert progress("<xml/>", page_id="hit").sent == {}  # what a platform sent is no page
    monkeypatch.setattr("spa.server.form_progress.MOST_KEPT", 2)
    progress('{"more": "1"}')
    assert len(kept) == 1
