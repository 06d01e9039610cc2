"""A worker's way through the site over HTTP: find, preview, accept, answer, return; what is taken and refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from mturk.endpoint.site.records import PER_PAGE
from mturk.endpoint.worker_actions import MAX_HELD
from mturk.endpoint.workers import known_workers
from spa.importers.mturk.answers import LARGEST_ANSWER
from tests.mturk.lab import Lab, Visitor, open_lab, title_of

LOCALE = "00000000000000000071"
NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with open_lab(tmp_path / "lab.sqlite") as made:
        yield made


@pytest.fixture
def wanda(lab: Lab) -> Iterator[Visitor]:
    with lab.visitor(lab.worker("Wanda", country="GB")) as visitor:
        yield visitor


def titles(response: httpx2.Response) -> list[str]:
    return re.findall(r'<h2><a href="/groups/[^>]*>(.*?)</a>', response.text)


def test_from_the_list_to_the_requester(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish()
    assert titles(wanda.get("/hits")) == ["Rate a story"]
    name = wanda.accept(hit)
    assert "count" in wanda.get("/work").text
    assert lab.ask("GetHIT", HITId=hit)["HIT"]["NumberOfAssignmentsPending"] == 1
    assert title_of(wanda.submit(assignmentId=name, hitId=hit, score="7", why="<b>&")) == "Your answer is stored."
    (sent,) = lab.submissions(hit)
    assert sent["fields"] == {"score": "7", "why": "<b>&"}
    assert sent["AssignmentStatus"] == "Submitted"
    assert title_of(wanda.get(f"/work/{name}")) == "Submitted"  # the page leads on to what became of it
    assert titles(wanda.get("/hits")) == []


def test_a_frame_is_told_what_pages_of_hits_read(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish()
    group = lab.ask("GetHIT", HITId=hit)["HIT"]["HITGroupId"]
    preview = httpx2.URL(wanda.frame_address(f"/groups/{group}"))
    assert dict(preview.params) == {"assignmentId": NOT_AVAILABLE, "hitId": hit, "turkSubmitTo": lab.frame_url}
    assert lab.ask("GetHIT", HITId=hit)["HIT"]["NumberOfAssignmentsAvailable"] == 1  # looking holds nothing
    name = wanda.accept(hit)
    work = httpx2.URL(wanda.frame_address(f"/work/{name}"))
    assert work.params["assignmentId"] == name
    assert work.params["workerId"] == lab.endpoint.call(known_workers)[0].worker_id
    assert work.params["turkSubmitTo"].startswith(f"{lab.frame_url}/s/")
    assert work.copy_with(path="/", query=None) == httpx2.URL(lab.frame_url + "/")


def test_a_page_elsewhere_keeps_its_own_parameters(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish(url="https://survey.example.org/m?batch=7&x=%20#top")
    address = httpx2.URL(wanda.frame_address(f"/work/{wanda.accept(hit)}"))
    assert str(address).startswith("https://survey.example.org/m?batch=7&x=%20&assignmentId=3")
    assert address.fragment == "top"
    page = wanda.get("/work")
    assert page.status_code == 200


@pytest.mark.parametrize(
    ("fields", "status", "title"),
    [
        ({"assignmentId": NOT_AVAILABLE, "q": "1"}, 400, "This is a preview"),
        ({"assignmentId": "3" + "X" * 29, "q": "1"}, 404, "This assignment is not known"),
        ({"assignmentId": "../etc", "q": "1"}, 404, "This assignment is not known"),
        ({"q": "1"}, 404, "This assignment is not known"),
        ({"assignmentId": "", "q": "1"}, 404, "This assignment is not known"),
    ],
)
def test_a_form_that_names_no_work_is_refused(
    lab: Lab, wanda: Visitor, fields: dict[str, str], status: int, title: str
) -> None:
    hit = lab.publish()
    wanda.accept(hit)
    answer = wanda.submit(**fields)
    assert (answer.status_code, title_of(answer)) == (status, title)
    assert lab.submissions(hit) == []


def test_an_empty_form_is_refused_and_may_be_sent_again(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish()
    name = wanda.accept(hit)
    assert wanda.submit(assignmentId=name).status_code == 400
    assert title_of(wanda.submit(assignmentId=name, hitId=hit)) == "Nothing was answered"
    assert wanda.submit(assignmentId=name, q="1").status_code == 200


def test_what_was_sent_first_counts(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish()
    name = wanda.accept(hit)
    assert wanda.submit(assignmentId=name, score="7").status_code == 200
    assert wanda.submit(assignmentId=name, score="7").status_code == 200  # the same again: its reply was lost
    other = wanda.submit(assignmentId=name, score="1")
    assert (other.status_code, title_of(other)) == (409, "You have already submitted this HIT")
    assert [one["fields"] for one in lab.submissions(hit)] == [{"score": "7"}]


def test_after_its_time_nothing_is_taken(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish()
    name = wanda.accept(hit)
    frame = wanda.frame_address(f"/work/{name}")
    lab.clock.now += 3600
    assert wanda.submit(assignmentId=name, q="1").status_code == 410
    assert title_of(wanda.get(f"/work/{name}/done")) == "The time for this HIT is up"
    assert httpx2.get(frame).status_code == 410
    assert lab.submissions(hit) == []
    assert titles(wanda.get("/hits")) == ["Rate a story"]  # it is there again, for this worker too


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"x" * 2_000_001, "application/x-www-form-urlencoded", 413),
        (b"assignmentId={name}&q=" + b"x" * LARGEST_ANSWER, "application/x-www-form-urlencoded", 413),
        (b"assignmentId={name}&q=%ff", "application/x-www-form-urlencoded", 400),
        (b'{"assignmentId": "{name}", "q": 1}', "application/json", 400),
        (b"assignmentId={name}&q=1", "text/plain", 400),
        (b"--b\r\nno form", "multipart/form-data; boundary=b", 400),
        (b"x", "multipart/form-data", 400),
        (b"assignmentId={name}" + b"&q=1" * 3000, "application/x-www-form-urlencoded", 400),
    ],
)
def test_what_is_no_form_is_refused(lab: Lab, wanda: Visitor, content: bytes, kind: str, status: int) -> None:
    hit = lab.publish()
    name = wanda.accept(hit)
    body = content.replace(b"{name}", name.encode())
    sent = httpx2.post(lab.submit_address(name), content=body, headers={"content-type": kind}, timeout=60)
    assert sent.status_code == status
    assert lab.submissions(hit) == []


def test_forms_in_parts_are_read_and_files_refused(lab: Lab, wanda: Visitor) -> None:
    """Old HITs with a field for files send their whole form in parts."""
    hit = lab.publish()
    name = wanda.accept(hit)
    where = lab.submit_address(name)
    with_file = httpx2.post(where, data={"assignmentId": name, "q": "é"}, files={"f": ("a.txt", b"x")})
    assert (with_file.status_code, title_of(with_file)) == (415, "Files cannot be uploaded")
    body = f'--b\r\ncontent-disposition: form-data; name="assignmentId"\r\n\r\n{name}\r\n'
    body += '--b\r\ncontent-disposition: form-data; name="q"\r\n\r\né\r\n'
    body += '--b\r\ncontent-disposition: form-data; name="f"; filename=""\r\n\r\n\r\n--b--\r\n'
    sent = httpx2.post(where, content=body.encode(), headers={"content-type": "multipart/form-data; boundary=b"})
    assert sent.status_code == 200
    assert [one["fields"] for one in lab.submissions(hit)] == [{"q": "é"}]


def test_a_slash_too_many_and_an_id_in_the_address_are_read(lab: Lab, wanda: Visitor) -> None:
    """Scripts add the path to an address that ends in a slash, or put the id into the action."""
    hit = lab.publish()
    name = wanda.accept(hit)
    where = lab.submit_address(name).replace("/mturk/", "//mturk/")
    sent = httpx2.post(f"{where}?assignmentId={name}", data={"q": "1"})
    assert sent.status_code == 200
    assert lab.submissions(hit)[0]["fields"] == {"q": "1"}


def test_site_takes_submissions_at_the_frames_address(lab: Lab, wanda: Visitor) -> None:
    """Whoever knows the id of an assignment has none; another worker has one for theirs alone."""
    hit = lab.publish(MaxAssignments=2)
    name = wanda.accept(hit)
    frame = httpx2.URL(wanda.frame_address(f"/work/{name}"))
    given = frame.params["turkSubmitTo"] + "/mturk/externalSubmit"  # as old scripts put it together
    with lab.visitor(lab.worker("Xaver")) as xaver:
        others = lab.submit_address(xaver.accept(hit))
    for where in (f"{lab.frame_url}/mturk/externalSubmit", others, given.replace("/s/", "/s/x")):
        sent = httpx2.post(where, data={"assignmentId": name, "score": "1"})
        assert (sent.status_code, title_of(sent)) == (404, "This assignment is not known")
    assert lab.submissions(hit) == []
    assert f'action="{given}"' in httpx2.get(str(frame)).text  # of a page that names the path alone
    assert httpx2.post(given, data={"assignmentId": name, "score": "7"}).status_code == 200
    assert [one["fields"] for one in lab.submissions(hit)] == [{"score": "7"}]


def test_returning_asks_first_and_frees_the_place(lab: Lab, wanda: Visitor) -> None:
    hit = lab.publish()
    name = wanda.accept(hit)
    assert title_of(wanda.get(f"/work/{name}/return")) == "Return this HIT?"
    assert lab.ask("GetHIT", HITId=hit)["HIT"]["NumberOfAssignmentsAvailable"] == 0
    assert "The HIT was returned." in wanda.post(f"/work/{name}/return").text
    assert lab.ask("GetHIT", HITId=hit)["HIT"]["NumberOfAssignmentsAvailable"] == 1
    assert wanda.submit(assignmentId=name, q="1").status_code == 410
    assert wanda.post(f"/work/{name}/return").status_code == 409


def test_what_somebody_else_took_leads_to_the_next(lab: Lab, wanda: Visitor) -> None:
    first, second = lab.publish(), lab.publish()
    with lab.visitor(lab.worker("Xaver")) as xaver:
        xaver.accept(first)
    group = lab.ask("GetHIT", HITId=first)["HIT"]["HITGroupId"]
    name = wanda.post(f"/groups/{group}/accept", hit=first).url.path.removeprefix("/work/")
    wanda.submit(assignmentId=name, q="1")
    assert len(lab.submissions(second)) == 1
    assert title_of(wanda.post(f"/groups/{group}/accept", hit=first)) == "No HIT of this group is left for you"


def test_a_button_pressed_twice_takes_one_hit(lab: Lab, wanda: Visitor) -> None:
    """A browser that lost the reply sends the form again, here and on the page that offers the next."""
    first, second, third = (lab.publish() for _ in range(3))
    group = lab.ask("GetHIT", HITId=first)["HIT"]["HITGroupId"]
    assert wanda.accept(first) == wanda.accept(first)
    name = wanda.accept(first)
    wanda.submit(assignmentId=name, q="1")
    offered = dict(re.findall(r'name="(hit)" value="(\w+)"', wanda.get(f"/work/{name}/done").text))
    assert offered == {"hit": second}
    pressed = [wanda.post(f"/groups/{group}/accept", **offered).url.path for _ in range(2)]
    assert len(set(pressed)) == 1
    assert lab.ask("GetHIT", HITId=third)["HIT"]["NumberOfAssignmentsAvailable"] == 1
    assert "have already worked on this HIT" in wanda.post(f"/groups/{group}/accept", hit=first).text


def test_a_worker_holds_no_more_than_they_may(lab: Lab, wanda: Visitor) -> None:
    made = [lab.publish() for _ in range(MAX_HELD + 1)]
    for hit in made[:-1]:
        wanda.accept(hit)
    group = lab.ask("GetHIT", HITId=made[0])["HIT"]["HITGroupId"]
    assert "maximum number of HITs in progress" in wanda.post(f"/groups/{group}/accept").text


def test_the_list_is_searched_ordered_and_paged(lab: Lab, wanda: Visitor) -> None:
    for number in range(PER_PAGE + 3):
        lab.publish(
            title=f"Story {number:02}", Reward=f"0.{(number * 7) % 28 + 10}", Keywords="birds" if number == 4 else ""
        )
    newest = titles(wanda.get("/hits")) + titles(wanda.get("/hits?page=2"))
    assert newest == [f"Story {number:02}" for number in reversed(range(PER_PAGE + 3))]
    best = wanda.get("/hits?sort=reward").text
    rewards = [float(found) for found in re.findall(r"<bdi>\$(.*?)</bdi>", best)]
    assert rewards == sorted(rewards, reverse=True)
    assert titles(wanda.get("/hits?q=BIRDS")) == ["Story 04"]
    assert titles(wanda.get("/hits?q=a+lab+story+07")) == ["Story 07"]
    assert titles(wanda.get("/hits?q=nothing")) == []
    assert wanda.get("/hits?page=99999999999&sort=x").status_code == 200


def test_site_unqualified_sees_what_is_allowed(lab: Lab, wanda: Visitor) -> None:
    """Who does not qualify sees no more than the requester allows."""
    for guard in ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept"):
        asked = {
            "QualificationTypeId": LOCALE,
            "Comparator": "EqualTo",
            "LocaleValues": [{"Country": "FR"}],
            "ActionsGuarded": guard,
        }
        lab.publish(title=guard, QualificationRequirements=[asked])
    assert titles(wanda.get("/hits")) == []
    shown = wanda.get("/hits?all=1")
    assert titles(shown) == ["PreviewAndAccept", "Accept"]
    groups = re.findall(r'href="(/groups/\w+)"', shown.text)
    assert "not met" in shown.text
    assert "Only workers who qualify" in wanda.get(groups[0]).text
    assert "<iframe" in wanda.get(groups[1]).text
    for group in groups:
        refusal = wanda.post(f"{group}/accept")
        assert refusal.status_code == 403
        assert "You do not qualify" in refusal.text
    hidden = lab.ask("ListHITs")["HITs"]
    secret = next(hit["HITGroupId"] for hit in hidden if hit["Title"].startswith("Discover"))
    assert wanda.get(f"/groups/{secret}").status_code == 404
    assert wanda.post(f"/groups/{secret}/accept").status_code == 404
    assert wanda.get(f"/mturk/preview?groupId={secret}").status_code == 404


def test_an_address_as_programs_print_it_leads_to_the_group(lab: Lab, wanda: Visitor) -> None:
    group = lab.ask("GetHIT", HITId=lab.publish())["HIT"]["HITGroupId"]
    assert title_of(wanda.get(f"/mturk/preview?groupId={group}")) == "Rate a story"


def test_nobody_sees_or_touches_the_work_of_another(lab: Lab, wanda: Visitor) -> None:
    name = wanda.accept(lab.publish())
    with lab.visitor(lab.worker("Xaver")) as xaver:
        for path in (f"/work/{name}", f"/work/{name}/state", f"/work/{name}/done", f"/work/{name}/return"):
            assert xaver.get(path).status_code == 404
        assert xaver.post(f"/work/{name}/return").status_code == 404
    assert wanda.get(f"/work/{name}/state").json()["status"] == "Accepted"
