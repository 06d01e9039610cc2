"""Files sent in ranges of bytes: by RFC 9110, never much at once, and without a trace of the file."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

import spa.media
from spa.forms.texts import load_texts
from spa.media import MEDIA
from spa.media.image import IMAGE
from spa.server import survey_routes
from spa.server.app import create_app
from spa.server.page_responses import LONGEST, ByteRange, parse_range, send_shown
from spa.server.preview import create_preview
from tests import patience
from tests.browser.hand_made import HandMade
from tests.spa.web_forms import small_form

CONTENT = bytes(range(256)) * (2 * LONGEST // 256) + b"end"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a file of two answers and three bytes, of a medium that is streamed."""
    assert IMAGE.files is not None
    streamed = replace(IMAGE, files=replace(IMAGE.files, streamed=True))
    monkeypatch.setattr(spa.media, "MEDIA", tuple(streamed if one is IMAGE else one for one in MEDIA))
    file = tmp_path / "davinci_1.png"
    file.write_bytes(CONTENT)
    return file


@pytest.fixture
def client(file: Path) -> Iterator[TestClient]:
    with TestClient(create_preview(small_form(image=file), load_texts("en", {}))) as client:
        yield client


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-", (0, 10)),
        ("bytes=0-0", (0, 1)),
        ("bytes=9-9", (9, 10)),
        ("Bytes=2-99999999999", (2, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes=10-", (0, 0)),  # not satisfiable
        ("bytes=-0", (0, 0)),
        ("bytes=5-4", None),  # malformed: ignored
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("bytes=\u0665-", None),
        ("bytes=1-2x", None),
        ("seconds=0-1", None),  # of another unit
        ("bytes=0-1,4-5", None),  # several
        ("bytes=" + "1" * 5000 + "-", None),
    ],
)
def test_range_is_read_as_in_rfc_9110(header: str | None, expected: tuple[int, int] | None) -> None:
    assert parse_range(header, 10) == (None if expected is None else ByteRange(*expected))


@given(st.from_regex(r"bytes=[0-9]{0,3}-[0-9]{0,3}", fullmatch=True) | st.text(), st.integers(0, 200))
def test_range_lies_within_the_file(header: str, size: int) -> None:
    found = parse_range(header, size)
    assert found is None or 0 <= found.start < found.end <= size or found == ByteRange(0, 0)


def test_file_arrives_whole_in_short_answers(client: TestClient) -> None:
    """A player that asks for all gets as much as leaves the connection free, and the rest when it asks again."""
    taken = b""
    while len(taken) < len(CONTENT):
        answer = client.get("/image/e2", headers={"range": f"bytes={len(taken)}-"})
        assert answer.status_code == 206
        assert len(answer.content) == int(answer.headers["content-length"]) <= LONGEST
        end = len(taken) + len(answer.content)
        assert answer.headers["content-range"] == f"bytes {len(taken)}-{end - 1}/{len(CONTENT)}"
        taken += answer.content
    assert taken == CONTENT
    whole = client.get("/image/e2")
    assert (whole.status_code, whole.content, whole.headers["accept-ranges"]) == (200, CONTENT, "bytes")


def test_range_conditions_and_what_is_out_of_it(client: TestClient) -> None:
    """416 says how long the file is; a changed file comes whole; what the client has is not sent again."""
    beyond = client.get("/image/e2", headers={"range": f"bytes={len(CONTENT)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(CONTENT)}")
    assert not beyond.content
    tag = beyond.headers["etag"]
    for if_range, status in ((tag, 206), ('"other"', 200), (f"W/{tag}", 200), ("Sun, 29 Nov 2026 18:00:00 GMT", 200)):
        answer = client.get("/image/e2", headers={"range": "bytes=-3", "if-range": if_range})
        assert (answer.status_code, answer.content) == (status, b"end" if status == 206 else CONTENT)
    for known, status in ((tag, 304), (f'"x", W/{tag}', 304), ("*", 304), ('"other"', 200)):
        assert client.get("/image/e2", headers={"if-none-match": known}).status_code == status
    head = client.head("/image/e2", headers={"range": "bytes=0-1"})
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(CONTENT)))
    assert client.get("/image/e3").headers["etag"] != tag


def test_file_leaves_no_trace_in_headers(client: TestClient) -> None:
    """Neither its name, nor its date, nor anything of what stands in it; and no folder is listed."""
    answer = client.get("/image/e2", headers={"range": "bytes=0-1"})
    assert re.fullmatch('"[a-z0-9]+-e2"', answer.headers["etag"])
    assert "last-modified" not in answer.headers
    assert "davinci" not in str(answer.headers)
    assert answer.headers["content-security-policy"].endswith("sandbox")
    assert answer.headers["cache-control"] == "no-store"  # a preview: its next form has the same addresses
    assert [client.get(path).status_code for path in ("/image/", "/image/davinci_1.png")] == [404, 404]


def test_pages_pass_while_clips_wait_for_a_turn(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask for ranges at once, one is found at a time, and no page waits for it."""
    made = HandMade(file.parent, small_form(image=file), assignments=1)
    begun, found = threading.Semaphore(0), threading.Event()

    def hold(*given: object) -> Response:
        begun.release()
        assert found.wait(patience.SECONDS)
        return send_shown(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(survey_routes, "send_shown", hold)
    (token,) = made.store.tokens()
    with made.store, TestClient(create_app(made)) as client, ThreadPoolExecutor(4) as people:
        assert client.post(f"/a/{token}", follow_redirects=False).status_code == 303
        played = [
            people.submit(client.get, f"/a/{token}/image/e2", headers={"range": f"bytes={start}-"})
            for start in range(4)
        ]
        assert begun.acquire(timeout=patience.SECONDS)
        pages = [client.get(f"/a/{token}/p/p1").status_code for _ in range(3)]
        assert not begun.acquire(blocking=False)
        found.set()
        answers = [one.result().content for one in played]
    assert pages == [200] * 3
    assert answers == [CONTENT[start : start + LONGEST] for start in range(4)]
