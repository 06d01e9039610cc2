"""Requests to the survey server: headers, what is refused, and that nothing that arrives makes it fail."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spa.served_pages import ReadPage
from tests.spa.server.served_study import Place
from tests.spa.server.served_study import built as built
from tests.spa.server.served_study import place as place

FORM_TYPE = {"content-type": "application/x-www-form-urlencoded"}


def test_nobody_is_served_under_an_unknown_link(place: Place) -> None:
    for path in (
        "/a/nobody",
        "/a/%00",
        "/a/%F0%9F%98%80",
        "/a/nobody/done",
        "/a/nobody/p/p1",
        "/nowhere",
        "/static/x.css",
    ):
        answer = place.client.get(path)
        assert answer.status_code == 404
        assert "This link does not work" in answer.text
    assert list(place.workspace.store.visits.leases()) == []


def test_health(place: Place) -> None:
    answer = place.client.get("/health")
    known = {"study": "small", "fingerprint": place.workspace.store.fingerprint, "rehearsal": False}
    assert answer.json() == {"status": "ok", **known}


def test_a_head_answers_like_a_get_without_its_body(place: Place) -> None:
    token = place.token()
    for path in ("/", "/health", f"/a/{token}", f"/a/{token}/p/p1", "/a/nobody"):
        head, get = (place.client.request(method, path, follow_redirects=False) for method in ("HEAD", "GET"))
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers["content-security-policy"] == get.headers["content-security-policy"]


def test_every_answer_carries_the_headers_and_no_cookie(place: Place) -> None:
    token = place.token()
    paths = ("/", "/health", f"/a/{token}", "/a/nobody", "/nowhere")
    answers = [place.client.get(path) for path in paths] + [place.client.post(f"/a/{token}/p/p1", content=b"%ff")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;")
        assert "form-action 'self'; frame-ancestors 'none'; base-uri 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers


def test_style_and_script_may_be_kept_for_ever(place: Place) -> None:
    read = ReadPage(place.client.post(f"/a/{place.token()}").text)
    style = place.client.get(str(read.all("link", rel="stylesheet")[0].attributes["href"]))
    script = place.client.get(str(read.all("script")[0].attributes["src"]))
    assert [answer.headers["content-type"] for answer in (style, script)] == [
        "text/css; charset=utf-8",
        "text/javascript; charset=utf-8",
    ]
    assert "immutable" in style.headers["cache-control"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"q1=yes&q1=no", FORM_TYPE, 400),
        (b"q1=%ff%fe", FORM_TYPE, 400),
        ("q1=é".encode(), FORM_TYPE, 400),
        (b"elsewhere=1", FORM_TYPE, 400),
        (b"&" * 2_000, FORM_TYPE, 400),
        (b'{"q1": "yes"}', {"content-type": "application/json"}, 415),
        (b"q1=" + b"x" * 1_000_001, FORM_TYPE, 413),
        (b"q1=" + b"x" * 900_000, FORM_TYPE, 413),  # no field of the page takes so much
        (b"q1=" + b"x" * 900, FORM_TYPE, 422),
        (b"q1=%00", FORM_TYPE, 422),
        (b"q1=%ed%a0%80", FORM_TYPE, 400),
        (b"", FORM_TYPE, 422),
    ],
)
def test_what_is_no_answer_of_ours_is_refused(place: Place, body: bytes, headers: dict[str, str], status: int) -> None:
    token = place.token()
    page = next(page for page in place.form(token).pages if page.questions)
    address = f"/a/{token}/p/{page.page_id}"
    answer = place.client.post(address, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_server_ignores_repeated_unasked_fields(place: Place) -> None:
    """A program that repeats what no page asked for does not fill the store."""
    token = place.token()
    page = next(page for page in place.form(token).pages if page.questions)
    answers = [{"elsewhere": "1"}] * 5 + [{"elsewhere": "2"}] * 2 + [{"elsewhere": "1"}]
    for fields in answers:
        assert place.client.post(f"/a/{token}/p/{page.page_id}", data=fields).status_code == 400
    kept = place.workspace.store.visits.payloads(place.lease(token).submission_id)
    assert [json.loads(payload.body) for payload in kept] == [{"elsewhere": word} for word in ("1", "2", "1")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/", 405),
        ("POST", "/a/{token}/p/p999", 404),
        ("POST", "/a/{token}/p/p1?go=away", 400),
        ("DELETE", "/a/{token}", 405),
    ],
)
def test_a_wrong_way_of_asking_is_told(place: Place, method: str, path: str, status: int) -> None:
    place.lease(place.token())
    assert place.client.request(method, path.format(token=place.token())).status_code == status


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(
        st.one_of(st.sampled_from(["q1", "q2", "q3", "go"]), st.text(max_size=5)), st.text(max_size=40), max_size=4
    ),
    st.sampled_from(["p1", "p2", "p3", "p4", "p0", "%00", "p1%2f..", "é"]),
    st.sampled_from(["", "?go=back", "?go=stay", "?go=%00", "?go=on&go=back"]),
)
def test_nothing_that_is_sent_makes_the_server_fail(place: Place, fields: dict[str, str], page: str, go: str) -> None:
    address = f"/a/{place.token()}/p/{quote(page, safe='%')}{go}"
    answer = place.client.post(address, content=urlencode(fields), headers=FORM_TYPE, follow_redirects=False)
    assert answer.status_code < 500
    assert place.client.post(f"/a/{place.token()}").status_code == 200


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_server_fail(place: Place, body: bytes) -> None:
    answer = place.client.post(f"/a/{place.token()}/p/p1", content=body, headers=FORM_TYPE, follow_redirects=False)
    assert answer.status_code < 500
