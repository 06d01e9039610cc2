"""What is kept of what people send, and what is only counted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace, size_of
from spa.records.form import AnswerOption, InterviewTarget, Question
from spa.responses.payloads import Payload, sent_bytes
from spa.responses.reading_evidence import READING, OutputExposure, PageExposure, write_exposure
from spa.responses.store import Store
from spa.server import form_progress, survey_routes
from spa.server.app import create_app
from spa.server.form_posts import FORM_TYPE, LARGEST_BODY, largest_post, largest_visit
from spa.server.form_progress import FormProgress, KeptPages
from spa.server.health_check import HealthCheck
from spa.server.survey_routes import RecentVisits
from spa.widgets import NumberAnswer, OptionsAnswer, OrderAnswer, SpansAnswer, TextAnswer
from tests.spa.small_study import BEGINNING, FOR_PEOPLE, PEOPLE, raw_answer, write_study
from tests.spa.web_forms import small_form

CONSENT = f"""{BEGINNING}
consent.text = "Do you agree?"
criteria = [{{id = "meaning", name = "meaning", against_source = true}}]
{PEOPLE}
[likert]
{FOR_PEOPLE}
"""
FORM = {"content-type": FORM_TYPE}


class Visitor:
    """Somebody with a link, at a study that asks for consent."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.app = create_app(workspace, admin_token="a-token-of-the-administrator")
        self.client = TestClient(self.app, follow_redirects=False)
        self.token = workspace.store.tokens()[0]
        self.lease = workspace.store.visits.admit_link(self.token, now=0.0)
        self.form = workspace.form(self.lease.assignment_id)

    def send(self, number: int, *, go: str = "", token: str = "", content: bytes | None = None, **headers: str) -> int:
        """Post a page with good answers, or these bytes, and return the status."""
        page = self.form.pages[number]
        fields = {question.question_id: raw_answer(question) for question in page.questions}
        address = f"/a/{token or self.token}/p/{page.page_id}{go}"
        sent = {"data": fields} if content is None else {"content": content, "headers": FORM | headers}
        return self.client.post(address, **sent).status_code  # type: ignore[arg-type]

    def kept(self) -> list[tuple[str, bytes]]:
        """Return what the store has of the visit."""
        return [
            (one.page_id, sent_bytes(one)) for one in self.workspace.store.visits.payloads(self.lease.submission_id)
        ]

    def refused(self) -> dict[str, int]:
        """Return what the server counted, as its metrics say it."""
        headers = {"authorization": "Bearer a-token-of-the-administrator"}
        lines = self.client.get("/metrics", headers=headers).text.splitlines()
        found = [
            line.removeprefix('spa_posts_refused_total{reason="')
            for line in lines
            if "spa_posts_refused_total{" in line
        ]
        return {line.partition('"')[0]: int(float(line.rpartition(" ")[2])) for line in found}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_study(tmp_path_factory.mktemp("study"), CONSENT)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def visitor(built: Path, tmp_path: Path) -> Iterator[Visitor]:
    store = tmp_path / "answers.sqlite"
    shutil.copy(built.with_suffix(".sqlite"), store)
    with open_workspace(built, str(store)) as workspace:
        yield Visitor(workspace)


def test_posts_before_consent_or_turn_are_not_stored(visitor: Visitor) -> None:
    """No answer is stored before consent and no page before its turn."""
    assert visitor.form.pages[0].kind == "consent"
    assert [visitor.send(number) for number in (1, 2, 3)] == [303] * 3
    assert visitor.send(1, go="?go=stay") == 409
    assert visitor.send(2, go="?go=back") == 303
    assert visitor.send(3, content=b"%ff") == 303
    asked = visitor.client.post(f"/a/{visitor.token}/p/p3", headers={"accept": "application/json"})
    assert (asked.status_code, asked.json()) == (409, {"next": f"/a/{visitor.token}/p/p1"})
    assert visitor.kept() == []
    assert visitor.refused() == {"closed": 7}
    visitor.send(0)
    visitor.send(1)
    visitor.send(3)
    assert [page_id for page_id, _ in visitor.kept()] == ["p1", "p2"]


def test_posts_without_visit_page_or_turn(visitor: Visitor) -> None:
    """What has no visit, page or turn is counted and not stored."""
    store = visitor.workspace.store
    fresh = store.tokens()[1]
    assert visitor.send(0, token="nobody") == 404
    assert visitor.send(0, token="a2345678a2345678") == 404
    assert visitor.send(0, token="x" * 200) == 404
    assert visitor.send(0, token=fresh) == 303  # to the page whose button takes a place
    assert visitor.client.post(f"/a/{visitor.token}/p/p99").status_code == 404
    assert store.visits.of_token(fresh) is None
    for number in range(len(visitor.form.pages)):
        visitor.send(number)
    before = visitor.kept()
    assert visitor.send(1) == 303
    assert visitor.kept() == before
    assert visitor.refused() == {"link": 3, "visit": 1, "page": 1, "ended": 1}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"q1=%ff%fe", FORM_TYPE, 400),
        (b"q1=yes&q1=no", FORM_TYPE, 400),
        (b"\xff\xfe\xed\xb2\x80 \xc3\xa9", FORM_TYPE, 400),
        ("q1=é".encode(), FORM_TYPE, 400),
        (b'{"q1": "yes"}', "application/json", 415),
        (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x", 415),
    ],
)
def test_unreadable_post_is_kept_as_it_came(visitor: Visitor, body: bytes, content_type: str, status: int) -> None:
    """What cannot be read is kept as it came and changes no answer."""
    visitor.send(0)
    visitor.send(1)
    assert visitor.send(1, content=body, **{"content-type": content_type}) == status
    assert visitor.kept()[-1] == ("p2 unreadable", body)
    assert visitor.send(2) == 303  # the page before is as complete as it was
    visit = visitor.workspace.store.visits.get(visitor.lease.submission_id)
    assert visit is not None
    assert visit.pages == 3
    assert visitor.refused() == {}


def test_a_way_that_leads_nowhere_loses_no_answer(visitor: Visitor) -> None:
    assert visitor.send(0, go="?go=away") == 400
    assert [page_id for page_id, _ in visitor.kept()] == ["p1 unreadable"]
    assert visitor.send(0) == 303


def test_post_above_page_limit_is_counted(visitor: Visitor) -> None:
    """A post above the limit of its page is counted and not stored."""
    most = largest_post(visitor.form.pages[0])
    assert 2_000 < most < 16_000
    fits, over = b"q1=" + b"x" * (most - 3), b"q1=" + b"x" * (most - 2)
    assert visitor.send(0, content=fits) == 422
    assert visitor.send(0, content=over) == 413
    assert visitor.send(0, content=b"q1=" + b"x" * 900_000) == 413
    assert visitor.send(0, token=visitor.workspace.store.tokens()[1], content=b"x" * 900_000) == 413
    address = f"/a/{visitor.token}/p/p1"
    assert visitor.client.post(address, content=(b"x" * 9_000 for _ in range(9)), headers=FORM).status_code == 413
    assert len(visitor.kept()) == 1
    assert visitor.refused() == {"large": 4}


def test_the_limit_of_a_page_comes_from_its_fields() -> None:
    page = small_form().pages[0]

    def limit(answer: TextAnswer | SpansAnswer | NumberAnswer | OptionsAnswer) -> int:
        question = Question(question_id="q1", text="?", answer=answer, target=InterviewTarget(interview_id="x"))
        return largest_post(replace(page, blocks=(question,)))

    options = (AnswerOption(value="1", text="low"), AnswerOption(value="2", text="high" * 200))
    number = limit(NumberAnswer(low=0, high=100, scale=1, low_text="", high_text=""))
    assert number < limit(OptionsAnswer(options=options)) < limit(TextAnswer()) < 100_000
    assert limit(TextAnswer(longest=5000)) >= 12 * 5000  # characters of four bytes, escaped
    assert limit(TextAnswer(longest=10**6)) == LARGEST_BODY
    severities = (AnswerOption(value="minor", text="minor", score=1.0),)
    assert limit(SpansAnswer(text="x" * 3000, severities=severities, categories=(), no_errors="none")) > 300_000
    assert largest_visit(small_form()) >= 500_000


def test_posts_of_one_visit_are_limited(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one visit may send has an end and others are not held up."""
    monkeypatch.setattr("spa.server.form_posts.SMALL_VISIT", 5_000)
    monkeypatch.setattr("spa.server.visit_transactions.SMALL_VISIT", 5_000)
    monkeypatch.setattr("spa.server.form_posts.SENT_AGAIN", 0)
    statuses = [visitor.send(0, content=b"q1=" + b"x" * 1_000 + str(n).encode()) for n in range(6)]
    assert statuses == [422] * 4 + [413] * 2
    assert visitor.send(0, content=b"\xff" * 1_000) == 413
    assert len(visitor.kept()) == 4
    assert visitor.refused() == {"full": 3}


def test_answers_of_several_fields_are_merged_whole(visitor: Visitor) -> None:
    """Who changed one rank changed the answer, whatever another tab sent; of the time on screen the longer counts."""
    options = tuple(AnswerOption(value=label, text=label) for label in "ABC")
    question = Question(
        question_id="q1", text="?", answer=OrderAnswer(options=options), target=InterviewTarget(interview_id="x")
    )
    rated = small_form().pages[4]
    page = replace(rated, blocks=(*rated.exhibits, question))
    (shown,) = rated.measured

    def body(a: int, b: int, c: int, seconds: float) -> dict[str, str]:
        seen = {shown.exhibit_id: OutputExposure(first_seen=1.0, seconds=seconds, scrolled=1.0)}
        return {
            "q1-A": f"{a}",
            "q1-B": f"{b}",
            "q1-C": f"{c}",
            READING: write_exposure(PageExposure(seconds=seconds, outputs=seen)),
        }

    sent = [body(1, 2, 3, 2.0), body(2, 1, 3, 9.0)]
    payloads = [Payload(page_id=page.page_id, body=json.dumps(one), received_at=1.0) for one in sent]
    visit = FormProgress.from_payloads(replace(small_form(), pages=(page,)), visitor.lease, payloads)
    changed, same = (dict(visit.together(page, one, 1)) for one in (body(1, 3, 2, 4.0), body(1, 2, 3, 4.0)))
    assert [changed.pop(READING), same.pop(READING)] == [sent[1][READING]] * 2
    assert changed == {"q1-A": "1", "q1-B": "3", "q1-C": "2"}
    assert same == {"q1-A": "2", "q1-B": "1", "q1-C": "3"}


def test_caches_hold_so_many_bytes_and_no_more(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form_progress, "MOST_KEPT_BYTES", 10_000)
    kept, page = KeptPages(), visitor.form.pages[0]
    for number in range(20):
        body = json.dumps({"q1": "x" * 900 + str(number)})
        sent = [Payload(page_id=page.page_id, body=body, received_at=1.0)]
        FormProgress.from_payloads(visitor.form, visitor.lease, sent, kept=kept)
    assert sum(len(body) for _, _, body in kept) <= kept.bytes <= 10_000
    monkeypatch.setattr(survey_routes, "MOST_RECENT_BYTES", 10_000)
    now = [0.0]
    recent = RecentVisits(one_process=True, clock=lambda: now[0])
    visit = FormProgress.from_payloads(visitor.form, visitor.lease, sent)
    for number in range(20):
        recent.put(str(number), visit)
    assert [recent.pop(str(number)) is not None for number in range(20)] == [False] * 10 + [True] * 10
    for number in range(5):
        recent.put(str(number), visit)
    now[0] = 3.0
    recent.put("new", visit)
    assert len(recent._visits) == 1  # who did not come back is not kept


def test_so_many_forms_are_kept_as_fit(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_workspace(built) as workspace:
        size = size_of(workspace.form("a00001"))
        assert 5_000 < size < 100_000
        assert workspace.form("a00002") is workspace.form("a00002")
    monkeypatch.setattr("spa.commands.workspace.FORMS_KEPT_BYTES", 2 * size)
    with open_workspace(built) as workspace:
        workspace.form("a00001")
        kept = [workspace.form(f"a0000{number}") for number in (2, 3, 4)]
        assert workspace.form("a00004") is kept[2]
        assert workspace.form("a00003") is kept[1]
        assert workspace.form("a00002") is not kept[0]


def test_health_is_that_a_store_takes_what_is_written(visitor: Visitor) -> None:
    patient = visitor.workspace.store
    with Store.open(patient.name, wait=0.05) as hasty:
        object.__setattr__(visitor.workspace, "store", hasty)
        client = TestClient(create_app(visitor.workspace))
        with sqlite3.connect(patient.name, isolation_level=None) as other:
            other.execute("begin immediate")
            assert [client.get("/health").status_code for _ in range(3)] == [503] * 3
            other.execute("rollback")
        other.close()
        object.__setattr__(visitor.workspace, "store", patient)
    written = patient.meta("health_checked")
    assert visitor.client.get("/health").json()["fingerprint"] == patient.fingerprint
    assert patient.meta("health_checked") not in (None, written)


def test_health_write_interval_and_full_disk(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Health writes at most once in ten seconds and knows a full disk."""
    now, writes = [0.0], []
    store = visitor.workspace.store
    monkeypatch.setattr(type(store), "set_meta", lambda store, name, value: writes.append(name))
    check = HealthCheck(store, clock=lambda: now[0])
    for second in (0.0, 1.0, 9.0, 10.0, 11.0, 20.5):
        now[0] = second
        assert check.fingerprint() == store.fingerprint
    assert len(writes) == 3
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    assert check.fingerprint()
    now[0] = 31.0
    with pytest.raises(Exception, match="the disk has 1000 bytes left; free some space"):
        check.fingerprint()
    monkeypatch.undo()
    now[0] = 42.0
    assert check.fingerprint()
