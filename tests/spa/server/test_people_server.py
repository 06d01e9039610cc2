"""How a visit goes on the survey server: consent, quotas, sessions, lateness, and how each of them ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from spa.errors import StudyError
from spa.records.form import Page
from spa.responses.leases import Lease
from spa.server.app import create_app
from spa.study.load import load_study
from tests.spa.served_pages import ReadPage
from tests.spa.server.served_study import Place, build, code_on, finish, opened
from tests.spa.small_study import PEOPLE, STUDY, write_study

CONSENT = 'consent.text = "Take part **freely**."\n'
OPEN_TABLE = STUDY.replace(PEOPLE, "people.seconds_per_100_words = 0")
GROUPED = (
    OPEN_TABLE.replace('options = ["Yes", "No"]', 'options = ["Yes", "Partly", "No"]').replace(
        'eligible = ["Yes"]', 'eligible = ["Yes", "Partly"]'
    )
    + """
[[people.groups]]
name = "native"
places = 1
screening = "native"
values = ["Yes"]
"""
)
LINKED = (
    OPEN_TABLE
    + """
[[people.groups]]
name = "women"
places = 1
parameter = "g"
values = ["w", "f"]
"""
)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Place]]:
    """Return a way to serve a fresh copy of a study, which is built once."""
    built: dict[str, Path] = {}
    places: list[Place] = []

    def made(text: str) -> Place:
        if text not in built:
            built[text] = build(tmp_path_factory.mktemp("study"), text)
        places.append(opened(built[text], tmp_path_factory.mktemp("store") / "answers.sqlite"))
        return places[-1]

    yield made
    for place in places:
        place.workspace.close()


def with_people(keys: str, text: str = STUDY) -> str:
    return text.replace("annotators = 6", f"annotators = 6, {keys}")


def known(place: Place, token: str) -> Lease:
    lease = place.workspace.store.visits.of_token(token)
    assert lease is not None
    return lease


def pages_until(place: Place, token: str, kind: str) -> Page:
    """Answer well up to the first page of a kind, and return that page."""
    for page in place.form(token).pages:
        if page.kind == kind:
            return page
        place.send(token, page)
    raise AssertionError(kind)


def end_of(place: Place, token: str) -> tuple[str, str]:
    """Return the heading and the code of the last page."""
    page = ReadPage(place.client.post(f"/a/{token}").text)
    (code,) = page.all("code")
    return page.all("h1")[0].text, code.text


def test_consent_is_recorded_with_its_time_and_text(make: Callable[[str], Place]) -> None:
    place = make(CONSENT + STUDY)
    token = place.token()
    place.send(token, pages_until(place, token, "consent"))
    store = place.workspace.store
    with store.reading() as connection:
        row = connection.exec_driver_sql("select consented_at, consent_hash, leased_at from submissions").one()
    assert row.leased_at <= row.consented_at
    assert row.consent_hash == sha256(b"Take part **freely**.").hexdigest()


def test_consent_page_says_when_names_go(make: Callable[[str], Place]) -> None:
    """The consent page says when names are deleted and that is agreed to."""
    place = make(CONSENT + STUDY.replace("annotators = 6", "annotators = 6, forget_after_days = 180"))
    token = place.token()
    consent = pages_until(place, token, "consent")
    place.client.post(f"/a/{token}")
    shown = place.client.get(f"/a/{token}/p/{consent.page_id}").text
    assert "is deleted 180 days after your last visit" in shown
    place.send(token, consent)
    with place.workspace.store.reading() as connection:
        found = connection.exec_driver_sql("select consent_hash from submissions").scalar()
    assert found != sha256(b"Take part **freely**.").hexdigest()
    assert found is not None


def test_a_promise_to_forget_needs_a_consent_page(tmp_path: Path) -> None:
    path = write_study(tmp_path, STUDY.replace("annotators = 6", "annotators = 6, forget_after_days = 180"))
    with pytest.raises(StudyError, match=r"\[people\] forget_after_days: expected a consent page that says so, got no"):
        load_study(path)


def test_whoever_declines_is_thanked_and_leaves_nothing(make: Callable[[str], Place]) -> None:
    place = make(CONSENT + STUDY)
    token = place.token()
    page = pages_until(place, token, "consent")
    place.client.post(f"/a/{token}")
    assert "go=decline" in place.client.get(f"/a/{token}/p/{page.page_id}").text
    place.send(token, page)  # agreed at first, then thought again
    answer = place.send(token, page, "?go=decline")
    assert answer.headers["location"] == f"/a/{token}/done"
    lease, store = known(place, token), place.workspace.store
    assert (lease.outcome, lease.seat) == ("no_consent", None)
    assert store.visits.payloads(lease.submission_id) == ()
    assert list(store.submissions()) == []
    assert end_of(place, token) == ("Thank you for your interest", store.visits.outcome_codes("link")["no_consent"])
    assert known(place, token) == lease
    other = pages_until(place, place.token(1), "reading")
    assert place.send(place.token(1), other, "?go=decline").status_code == 400


def test_failed_checks_end_the_visit_where_the_study_says_so(make: Callable[[str], Place]) -> None:
    place = make(with_people("end_after_failed_checks = 1"))
    token = place.token()
    page = pages_until(place, token, "check")
    answer = place.send(token, page, **{page.questions[0].question_id: "table"})
    assert answer.headers["location"] == f"/a/{token}/done"
    store = place.workspace.store
    assert end_of(place, token) == ("This study ends here", store.visits.outcome_codes("link")["failed_checks"])
    (submission,) = store.submissions()
    assert submission.outcome == "failed_checks"
    assert known(place, token).seat is None


def test_a_quota_by_screening_is_kept(make: Callable[[str], Place]) -> None:
    place = make(GROUPED)
    first, second, third = (place.token(number) for number in range(3))
    finish(place, first)
    page = pages_until(place, second, "screening")
    assert place.send(second, page).headers["location"] == f"/a/{second}/done"
    store = place.workspace.store
    assert end_of(place, second) == ("Thank you for your interest", store.visits.outcome_codes("link")["quota_full"])
    page = pages_until(place, third, "screening")
    partly = {page.questions[0].question_id: "Partly"}
    assert place.send(third, page, **partly).headers["location"] == f"/a/{third}/done"  # belongs to no group
    assert [visit.people_group for visit in store.visits.of_people()] == ["native", None, None]


def test_a_quota_by_link_is_kept_and_other_links_are_refused(make: Callable[[str], Place]) -> None:
    place = make(LINKED)
    assert place.client.get("/").status_code == 404
    assert place.client.post("/?g=x").status_code == 404
    assert ReadPage(place.client.get("/?g=f").text).all("form", method="post", action="/?g=f")
    assert ReadPage(place.client.post("/?g=f").text).all("form")
    place.client.cookies.clear()
    assert place.client.post("/?g=w").status_code == 410
    assert place.client.post(f"/a/{place.token()}").status_code == 404
    assert place.client.post(f"/a/{place.token()}?g=w").status_code == 410
    assert [visit.people_group for visit in place.workspace.store.visits.of_people()] == ["women"]


def test_sessions_follow_one_another_with_other_assignments(make: Callable[[str], Place]) -> None:
    place = make(with_people("sessions = 2").replace("annotators = 6", "annotators = 3"))
    token = place.token()
    finish(place, token)
    first = known(place, token)
    done = place.client.post(f"/a/{token}")
    assert ReadPage(done.text).all("form", method="post", action=f"/a/{token}/next")
    assert ReadPage(place.client.post(f"/a/{token}/next").text).all("form", data_assignment="a00002")
    assert place.client.post(f"/a/{token}/next").status_code == 200  # pressed twice
    second = known(place, token)
    assert (second.session, second.annotator_id) == (2, first.annotator_id)
    for page in place.workspace.form(second.assignment_id).pages:
        place.send(token, page)
    assert not ReadPage(place.client.post(f"/a/{token}").text).all("form")
    assert len(list(place.workspace.store.visits.of_people())) == 2


def test_late_answer_is_kept_and_page_says_so(make: Callable[[str], Place]) -> None:
    """A late answer is kept and the page says that the time is over."""
    place = make(with_people("minutes_allowed = 10").replace("annotators = 6", "annotators = 1"))
    now = [1000.0]
    place.client = TestClient(create_app(place.workspace, clock=lambda: now[0]))
    slow, quick = place.token(), place.workspace.store.new_token()
    place.client.post(f"/a/{slow}")
    *pages, last = place.workspace.form("a00001").pages
    for page in pages:
        place.send(slow, page)
    now[0] += 601
    place.workspace.store.visits.release_overdue(now[0])
    assert place.client.post(f"/a/{slow}").status_code == 200  # nobody has the place yet, so it is taken again
    now[0] += 601
    assert place.client.post(f"/a/{quick}").status_code == 200
    over = place.client.post(f"/a/{slow}")
    assert (over.status_code, "The time for this study is over" in over.text) == (410, True)
    assert place.send(slow, last).headers["location"] == f"/a/{slow}/done"  # from the page that was still open
    assert code_on(place.client.post(f"/a/{slow}").text)
    (submission,) = place.workspace.store.submissions()
    assert (submission.extra, submission.outcome) == (True, "completed")


def test_overdue_places_are_given_up_while_the_server_runs(make: Callable[[str], Place]) -> None:
    place = make(with_people("minutes_allowed = 10"))
    now = [1000.0]
    app = create_app(place.workspace, clock=lambda: now[0])
    TestClient(app).post(f"/a/{place.token()}")
    now[0] += 601
    with TestClient(app) as running:
        for _ in range(1000):
            if known(place, place.token()).released:
                break
            running.get("/health")
    assert known(place, place.token()).release_reason == "timed_out"
