"""Coming in and staying out: invitations, sessions, requests from elsewhere, guessing, headers, languages."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result
from sqlalchemy import select

from mturk.commands import mturk
from mturk.endpoint.schema import worker_tokens
from mturk.endpoint.site.security import TRIES
from mturk.endpoint.site.sessions import DAY, INVITATION_LIFE, SESSION_LIFE, digest_of
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.site.texts import LANGUAGES, TextsIncomplete, load_texts
from spa.errors import PlatformError
from tests.mturk.lab import Lab, open_lab, title_of

FORMS = (
    "/sign-out",
    "/sign-out-everywhere",
    "/account/link",
    "/account/language",
    "/groups/X/accept",
    "/work/X/return",
    "/qualifications/X/request",
)
PAGES = ("/hits", "/work", "/history", "/earnings", "/messages", "/qualifications", "/account")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with open_lab(tmp_path / "lab.sqlite") as made:
        yield made


def path_of(lab: Lab, link: str) -> str:
    return link.removeprefix(lab.site_url)


def test_an_invitation_signs_in_once(lab: Lab) -> None:
    link = path_of(lab, lab.invitation(lab.worker()))
    with lab.visitor() as first, lab.visitor() as second:
        assert title_of(first.get(link)) == "Welcome"
        assert title_of(first.get(link)) == "Welcome"  # looking at it, as mail programs do, uses nothing up
        assert first.post(link).url.path == "/hits"
        assert second.post(link).status_code == 404  # no mark
        assert title_of(second.get(link)) == "This link does not work"
        assert title_of(second.get("/hits")) == "Sign in"
        assert title_of(first.get("/hits")) == "HITs"


def press_marked(lab: Lab, link: str, mark: str = "m") -> httpx2.Response:
    """Press the button of an invitation in a browser with a mark of its own."""
    cookies = {lab.settings.mark_cookie: mark * 43}
    return httpx2.post(link, data={}, headers={"origin": lab.site_url}, cookies=cookies, timeout=60)


def test_of_many_who_press_at_once_one_comes_in(lab: Lab) -> None:
    link = lab.invitation(lab.worker())
    gate = threading.Barrier(8)

    def press(number: int) -> int:
        gate.wait()
        return press_marked(lab, link, mark=str(number)).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(press, range(8))) == [303] + [404] * 7


def test_the_session_cookie_is_kept_from_scripts_and_strangers(lab: Lab) -> None:
    sent = press_marked(lab, lab.invitation(lab.worker()))
    cookie = sent.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/", "max-age=7776000"))
    assert "secure" not in cookie
    assert "domain" not in cookie  # this host alone
    secure = SiteSettings(site_url="https://a.example", frame_url="https://b.example", clock=lambda: 0.0)
    assert secure.secure
    assert secure.cookie == "__Host-worker"


def test_the_store_knows_no_token(lab: Lab) -> None:
    link = lab.invitation(lab.worker())
    with lab.visitor() as visitor:
        visitor.press(path_of(lab, link))
        cookies = dict(visitor.client.cookies)
        kept = lab.endpoint.call(lambda tx: tx.connection.execute(select(worker_tokens)).all())
    tokens = [link.rpartition("/")[2], cookies.pop(lab.settings.cookie)]
    assert {digest_of(token) for token in tokens} == {row.digest for row in kept}
    assert list(cookies) == [lab.settings.mark_cookie]
    assert not any(token in str(kept) for token in [*tokens, *cookies.values()])


def test_links_and_sessions_end(lab: Lab) -> None:
    worker = lab.worker()
    late = path_of(lab, lab.invitation(worker))
    lab.clock.now += INVITATION_LIFE
    with lab.visitor(worker) as visitor:
        assert visitor.post(late).status_code == 404
        lab.clock.now += SESSION_LIFE - DAY
        assert title_of(visitor.get("/hits")) == "HITs"
        lab.clock.now += DAY
        assert title_of(visitor.get("/hits")) == "Sign in"


def test_signing_out_here_and_everywhere(lab: Lab) -> None:
    worker = lab.worker()
    with lab.visitor(worker) as one, lab.visitor(worker) as two, lab.visitor(worker) as three:
        assert title_of(one.post("/sign-out")) == "Sign in"
        assert title_of(two.get("/account")) == "Account"
        held = dict(three.client.cookies)
        unused = path_of(lab, lab.invitation(worker))
        assert title_of(two.post("/sign-out-everywhere")) == "Sign in"
        assert title_of(three.get("/account")) == "Sign in"
        assert three.post(unused).status_code == 404
        stolen = httpx2.get(f"{lab.site_url}/account", cookies=held, follow_redirects=True)
        assert title_of(stolen) == "Sign in"


def test_a_link_for_another_device_works_once_and_briefly(lab: Lab) -> None:
    worker = lab.worker()
    with lab.visitor(worker) as hit_study, lab.visitor() as phone:
        made = [re.findall(r'value="http[^"]*(/invite/[^"]*)"', hit_study.post("/account/link").text)[0] for _ in "ab"]
        assert phone.press(made[0]).url.path == "/hits"
        assert hit_study.press(made[0]).status_code == 404
        lab.clock.now += 900
        assert phone.post(made[1]).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "{frame}", "sec-fetch-site": "same-site"},
        {"origin": "{site}", "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_form_from_elsewhere_does_nothing(lab: Lab, headers: dict[str, str]) -> None:
    """Whatever cookies come with it: another port of the same host counts as the same site for cookies."""
    hit = lab.publish()
    filled = {
        name: value.replace("{frame}", lab.frame_url).replace("{site}", lab.site_url) for name, value in headers.items()
    }
    with lab.visitor(lab.worker()) as visitor:
        name = visitor.accept(hit)
        for path in (*FORMS, f"/work/{name}/return", path_of(lab, lab.invitation(lab.worker("Other")))):
            refused = visitor.client.post(path, data={"language": "ar"}, headers=filled)
            assert (path, refused.status_code) == (path, 403)
        assert visitor.get(f"/work/{name}/state").json()["status"] == "Accepted"
        assert title_of(visitor.get("/account")) == "Account"


def test_nothing_is_shown_or_done_without_a_session(lab: Lab) -> None:
    lab.publish()
    with lab.visitor() as stranger:
        for path in (*PAGES, "/groups/X", "/work/X", "/work/X/state", "/work/X/done", "/work/X/return"):
            assert title_of(stranger.get(path)) == "Sign in"
        for path in FORMS:
            if path != "/account/language":
                assert title_of(stranger.post(path)) == "Sign in"


def test_a_closed_account_stays_out(lab: Lab) -> None:
    worker = lab.worker()
    with lab.visitor(worker) as visitor:
        link = path_of(lab, lab.invitation(worker))
        lab.endpoint.call(lambda tx: change(tx, worker))
        assert title_of(visitor.get("/hits")) == "Sign in"
        assert visitor.post(link).status_code == 404


def change(tx: object, worker_id: str) -> None:
    from mturk.endpoint.transaction import Transaction
    from mturk.endpoint.workers import change_worker

    assert isinstance(tx, Transaction)
    change_worker(tx, worker_id, closed_at=tx.now)


def test_guessing_is_slowed_down(lab: Lab) -> None:
    good = path_of(lab, lab.invitation(lab.worker()))
    with lab.visitor() as guesser:
        assert [guesser.post("/invite/guess").status_code for _ in range(TRIES)] == [404] * TRIES
        slowed = guesser.post(good)
        assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "60")
        assert guesser.get(good).status_code == 429
        lab.clock.now += 60
        assert guesser.press(good).url.path == "/hits"


def test_every_answer_carries_the_guards(lab: Lab) -> None:
    with lab.visitor(lab.worker()) as visitor:
        for response in (visitor.get("/hits"), visitor.get("/nowhere"), visitor.post("/work/X/return")):
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["x-frame-options"] == "DENY"
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["cache-control"] == "no-store"
            assert response.headers["referrer-policy"] == "same-origin"
            assert response.headers["cross-origin-opener-policy"] == "same-origin"
            assert "<script>" not in response.text
            assert not re.search(r"\son[a-z]+=", response.text)
            assert "style=" not in response.text


def test_what_is_too_large_or_no_form_is_refused_in_words(lab: Lab) -> None:
    with lab.visitor(lab.worker()) as visitor:
        large = visitor.post("/work/X/return", x="y" * 1_000_001)
        assert (large.status_code, title_of(large)) == (413, "That did not work")
        kinds = {"origin": lab.site_url, "content-type": "application/json"}
        assert visitor.client.post("/work/X/return", content=b"{}", headers=kinds).status_code == 415


def test_hostile_words_of_requesters_stay_words(lab: Lab) -> None:
    evil = "<script>alert(1)</script>\"'{{1234*4321}}"
    lab.publish(title=evil, Description=evil, Keywords=evil)
    worker = lab.worker()
    with lab.visitor(worker) as visitor:
        name = visitor.accept(lab.ask("ListHITs")["HITs"][0]["HITId"])
        visitor.submit(assignmentId=name, q="1")
        lab.ask("RejectAssignment", AssignmentId=name, RequesterFeedback=evil)
        lab.ask("NotifyWorkers", Subject=evil, MessageText=evil, WorkerIds=[worker])
        lab.publish(title=evil, Description=evil, Keywords=evil)
        for path in ("/hits", f"/hits?q={evil}", "/history", "/messages", f"/work/{name}/done"):
            page = visitor.get(path).text
            assert "<script>alert" not in page
            assert str(1234 * 4321) not in page
            assert "alert(1)" in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_everything_in_its_direction(lab: Lab, language: str) -> None:
    texts = load_texts(language)
    with lab.visitor(lab.worker()) as visitor:
        visitor.post("/account/language", language=language)
        for path in PAGES:
            page = visitor.get(path).text
            assert f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}">' in page
            assert f"<h1>{texts.say(path[1:].replace('hits', 'list') + '.title')}</h1>" in page
        visitor.post("/account/language", language="../../etc")
        assert f'lang="{language}"' in visitor.get("/hits").text


def test_a_missing_text_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from mturk.endpoint.site import texts

    whole = dict(texts._read("zh"))
    whole.pop("list.title")
    whole["unit.money"] = "$"
    monkeypatch.setattr(texts, "_read", {"en": texts._read("en"), "zh": whole}.__getitem__)
    with pytest.raises(TextsIncomplete, match=r"list.title is missing; unit.money wants the placeholders \['amount'\]"):
        load_texts.__wrapped__("zh")


@pytest.mark.parametrize(
    ("site", "frames", "why"),
    [
        ("https://a.example", "https://a.example", "another origin"),
        ("https://a.example/x", "https://b.example", "expected an origin"),
        ("a.example", "https://b.example", "expected an origin"),
        ("https://a.example", "https://b.example/", "expected an origin"),
    ],
)
def test_addresses_must_be_two_origins(site: str, frames: str, why: str) -> None:
    with pytest.raises(PlatformError, match=why):
        SiteSettings(site_url=site, frame_url=frames, clock=lambda: 0.0)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(mturk, arguments)


def test_the_host_invites_from_the_command_line(tmp_path: Path) -> None:
    store, out = str(tmp_path / "lab.sqlite"), tmp_path / "links.txt"
    made = run(
        "invite", "--store", store, "--name", "Ada", "--count", "2", "--locale", "US-CA", "--adult",
        "--address", "https://hits.example.org", "--out", str(out), "--json",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    people = json.loads(made.output)
    assert [one["name"] for one in people] == ["Ada", "annotator 1", "annotator 2"]
    assert out.read_text().split() == [one["link"] for one in people]
    assert out.stat().st_mode & 0o077 == 0
    listed = json.loads(run("workers", "list", "--store", store, "--json").output)
    assert [(one["country"], one["subdivision"], one["adult"]) for one in listed] == [("US", "CA", True)] * 3
    ada = people[0]["worker_id"]
    assert "1 sessions and links ended" in run("workers", "sign-out", ada, "--store", store).output
    again = run("invite", "--store", store, "--again", ada)
    assert again.output.startswith(f"{ada}  Ada  http://127.0.0.1:8470/invite/")
    assert "would close" in run("workers", "close", ada, "--store", store).output
    dry = json.loads(run("workers", "close", ada, "--store", store, "--json").stdout)
    assert dry == {"worker_id": ada, "name": "Ada", "closed": False}
    ended = json.loads(run("workers", "sign-out", ada, "--store", store, "--json").stdout)
    assert ended["worker_id"] == ada
    assert "closed" in run("workers", "close", ada, "--store", store, "--yes").output
    assert run("invite", "--store", store, "--again", ada).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["--name", "A", "--qualify", "NOSUCHTYPE"], 1, "qualification type"),
        (["--name", "A", "--qualify", "T=high"], 1, "WHOLE NUMBER"),
        (["--name", "A", "--locale", "England"], 1, "country such as"),
        (["--name", "A", "--address", "hits.example.org"], 1, "origin"),
        (["--again", "A0"], 1, "does not exist"),
        ([], 2, "expected --worker, --count or --renew"),
    ],
)
def test_an_invitation_that_cannot_be_is_told(tmp_path: Path, arguments: list[str], status: int, why: str) -> None:
    store = str(tmp_path / "lab.sqlite")
    told = run("invite", "--store", store, *arguments)
    assert told.exit_code == status
    assert why in (told.output + str(told.exception))
