"""The LLM rater against a real endpoint on loopback: nothing paid is lost, nothing finished is asked again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastapi
import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from spa.errors import PlatformError, ResponseError
from spa.forms.prompt_turns import turns_of
from spa.journal import Journal, JournalEntry
from spa.raters.endpoints.keys import find_key
from spa.raters.reading import read_turn
from spa.raters.summary import stop_if_unfinished
from spa.raters.vendors import read_body
from spa.raters.visits import KIND, RaterVisit
from spa.records.assignment import Assignment
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.records.submission import Missing, Response
from spa.responses.leases import condition_to_json
from spa.responses.store import Store
from spa.responses.store_schema import submissions
from spa.server.http_server import serve_on_loopback
from spa.widgets.free_text.json_replies import UnreadableReply, find_payload
from tests.spa.faulty_endpoint import SimulatedFaults
from tests.spa.hand_made import hand_made
from tests.spa.rater_bench import KEY, Bench, Killed, killed_while_asking
from tests.spa.rater_bench import bench as bench
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted
from tests.spa.store_steps import lease_for_rater


def test_rater_answers_once_and_rerun_asks_nothing(bench: Bench) -> None:
    """Every question is answered once and a rerun asks nothing."""
    url, seen = bench.endpoint()
    first = bench.rate(url)
    asked = len(list(bench.form("a00001").questions("everybody")))
    assert (first.finished, first.answered, first.requests, first.problem) == (3, 3 * asked, 3, None)
    assert first.prompt_tokens > first.completion_tokens > 0
    again = bench.rate(url)
    assert (again.requests, again.finished_before, seen.requests) == (0, 3, 3)
    submissions = list(bench.store.submissions())
    assert {(visit.annotator_id, visit.annotator_kind, visit.source) for visit in submissions} == {
        ("judge", "llm", "rater")
    }
    assert all(isinstance(answer, Response) for visit in submissions for answer in visit.answers)


def test_what_people_only_are_asked_is_not_in_the_schema(bench: Bench) -> None:
    url, seen = bench.endpoint()
    bench.rate(url, limit=1, temperature=0.0, max_tokens=500)
    sent = seen.bodies[0]
    schema = sent["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == [q.question_id for q in bench.form("a00001").questions("everybody")]
    assert (sent["temperature"], sent["max_tokens"], sent["model"]) == (0.0, 500, "some-model")
    record = json.loads(bench.calls()[0].request)
    assert record["messages"] == sent["messages"]
    assert set(record["versions"]) == {"spa-eval", "openai"}


def test_the_key_reaches_the_endpoint_and_nothing_else(bench: Bench, tmp_path: Path) -> None:
    url, seen = bench.endpoint(SimulatedFaults(statuses=(500,)))
    bench.rate(url)
    assert {headers["authorization"] for headers in seen.headers} == {f"Bearer {KEY}"}
    bench.store.close()
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_key_that_the_server_repeats_is_blotted_out(bench: Bench, tmp_path: Path, status: int) -> None:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    def echo(request: fastapi.Request) -> JSONResponse:
        said = f"You sent {request.headers['authorization']}"
        body = {"choices": [{"message": {"content": said}}]} if status == 200 else {"error": {"message": said}}
        return JSONResponse(body, status_code=status)

    summary = bench.rate(bench.stack.enter_context(serve_on_loopback(app)) + "/v1", limit=1, attempts=1)
    assert KEY not in (summary.problem or "")
    assert "[key]" in (bench.calls()[0].response or "")
    bench.store.close()
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_request_is_on_record_before_it_is_sent(bench: Bench) -> None:
    with killed_while_asking(), pytest.raises(Killed):
        bench.rate("http://127.0.0.1:9/v1", limit=1)
    assert [(call.outcome, call.response) for call in bench.calls()] == [("started", None)]
    url, seen = bench.endpoint()
    assert (bench.rate(url, limit=1).finished, seen.requests) == (1, 1)
    assert [call.outcome for call in bench.calls()] == ["started", "ok"]


@pytest.mark.parametrize("fault", ["unreadable_first", "partial_first"])
def test_only_what_is_missing_is_asked_a_second_time(bench: Bench, fault: str) -> None:
    url, seen = bench.endpoint(SimulatedFaults(**{fault: True}))
    summary = bench.rate(url, limit=1)
    assert (summary.requests, sum(summary.missing.values())) == (2, 0)
    assert [call.outcome for call in bench.calls()] == ["unreadable", "ok"]
    asked = [list(body["response_format"]["json_schema"]["schema"]["properties"]) for body in seen.bodies]
    assert asked[1] == (asked[0] if fault == "unreadable_first" else asked[0][-1:])
    roles = [message["role"] for message in seen.bodies[1]["messages"]]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.parametrize("conversation", ["page", "question"])
@pytest.mark.parametrize(
    "faults", [SimulatedFaults(), SimulatedFaults(prose=True), SimulatedFaults(unreadable_first=True)]
)
def test_a_form_is_asked_in_parts_each_once(bench: Bench, conversation: Any, faults: SimulatedFaults) -> None:
    url, seen = bench.endpoint(faults)
    summary = bench.rate(url, limit=1, conversation=conversation)
    asks = turns_of(bench.form("a00001"), conversation)
    assert (summary.finished, summary.missing) == (1, {})
    assert summary.requests == seen.requests == len(asks) + faults.unreadable_first
    assert bench.rate(url, limit=1, conversation=conversation).requests == 0
    longest = max(len(body["messages"]) for body in seen.bodies)
    assert longest == (2 * len(asks) - 1 if conversation == "page" else 1) + 2 * faults.unreadable_first
    (visit,) = bench.store.submissions()
    assert [answer.question_id for answer in visit.answers] == [
        question.question_id for question in bench.form("a00001").questions("everybody")
    ]


def test_variants_and_repeats_are_visits_of_their_own(bench: Bench) -> None:
    url, _ = bench.endpoint()
    grid = {"temperature": (0.0, 1.0), "repeats": (1, 2)}
    summary = bench.rate(url, limit=2, grid=grid)
    assert (summary.visits, summary.finished, summary.requests) == (12, 12, 12)
    visits = {(v.asked.variant, v.asked.repeat) for v in bench.store.submissions() if v.asked is not None}
    names = [f"temperature={t}, repeats={r}" for t in (0.0, 1.0) for r in (1, 2)]
    assert visits == {(names[0], 1), (names[1], 1), (names[1], 2), (names[2], 1), (names[3], 1), (names[3], 2)}


def test_each_repeat_has_a_seed_of_its_own(bench: Bench) -> None:
    url, seen = bench.endpoint()
    bench.rate(url, limit=1, seed=7, repeats=3)
    assert sorted(body["seed"] for body in seen.bodies) == [7, 8, 9]


def test_other_settings_under_the_same_name_are_refused(bench: Bench) -> None:
    url, seen = bench.endpoint()
    bench.rate(url, limit=1)
    with pytest.raises(ResponseError, match="give it another id"):
        bench.rate(url, limit=1, temperature=0.5)
    assert seen.requests == 1


@pytest.mark.parametrize(
    ("wrong", "right", "answer"),
    [
        ({"temperature": 2.0}, {}, lambda sent: "temperature" not in sent),
        ({"max_tokens": 9}, {"max_tokens": 90}, lambda sent: sent["max_tokens"] > 9),
        ({"max_tokens": 9}, {}, lambda sent: "max_tokens" not in sent),
        ({"max_tokens": 9}, {"temperature": 1.0}, lambda sent: "max_tokens" not in sent),
        ({}, {"max_tokens": 90}, lambda sent: "max_tokens" in sent),
    ],
    ids=["refused", "cut off", "no limit", "cut off, other settings", "the endpoint's own limit"],
)
@pytest.mark.parametrize("conversation", ["form", "question"])
def test_settings_are_bound_by_an_answer_only(
    bench: Bench, wrong: dict[str, Any], right: dict[str, Any], answer: Any, conversation: Any
) -> None:
    def script(asked: Asked) -> Said:
        if answer(asked.body):
            return http(middle(asked))
        return http(chat("{", finish="length")) if "temperature" not in wrong else http({"error": {}}, status=400)

    with scripted(script) as server:
        first = bench.rate(server.url, conversation=conversation, **wrong)
        assert (first.answered, bool(first.missing)) == (0, "temperature" not in wrong)
        assert bench.rate(server.url, conversation=conversation, **wrong).finished == 0
        second = bench.rate(server.url, conversation=conversation, **right)
        assert (second.finished, second.missing, second.problem) == (3, {}, None)
        asked = len(server.asked)
        assert bench.rate(server.url, conversation=conversation, **right).requests == 0
        assert len(server.asked) == asked
        with pytest.raises(ResponseError, match="give it another id"):
            bench.rate(server.url, conversation=conversation, **right, top_p=0.5)
    visits = list(bench.store.submissions())
    assert all(isinstance(one, Response) for visit in visits for one in visit.answers)
    assert {len(visit.answers) for visit in visits} == {len(list(bench.form("a00001").questions("everybody")))}
    assert {call.outcome for call in bench.calls()} == {"truncated" if first.missing else "http_400", "ok"}


def test_rater_rerun_asks_only_what_broke_off(bench: Bench) -> None:
    """What broke off is asked again and what was answered is not."""

    def script(asked: Asked) -> Said:
        cut = asked.number == 2 and asked.body["max_tokens"] < 50
        return http(chat("{", finish="length") if cut else middle(asked))

    with scripted(script) as server:
        bench.rate(server.url, limit=1, conversation="question", max_tokens=10, concurrency=1)
        first, asked = next(bench.store.submissions()), len(server.asked)
        assert bench.rate(server.url, limit=1, conversation="question", max_tokens=5).requests == 0
        bench.rate(server.url, limit=1, conversation="question", max_tokens=50)
    assert len(server.asked) == asked + 1
    assert [isinstance(answer, Missing) for answer in first.answers].index(True) == 1
    (again,) = bench.store.submissions()
    assert [one for one in again.answers if one != again.answers[1]] == [
        one for one in first.answers if isinstance(one, Response)
    ]


def test_rater_answers_from_before_free_limit(bench: Bench) -> None:
    """Answers from before the limit was free are still those of the rater."""
    url, seen = bench.endpoint()
    bench.rate(url, limit=1, max_tokens=500)
    asked = rater_variants(Rater(id="judge", model="some-model", max_tokens=500))[0]
    with bench.store.transaction() as connection:
        marked = replace(
            RaterVisit(assignment_id="a00001", asked=asked, repeat=1).label, fingerprint="7afdc244cf75cac5"
        )
        connection.execute(update(submissions).values(asked=condition_to_json(marked)))
    assert bench.rate(url, limit=1, max_tokens=500).finished_before == 1
    assert seen.requests == 1


def test_rater_last_attempt_leaves_missing_with_reason(bench: Bench) -> None:
    """After the last attempt a question is missing with its reason."""
    url, _ = bench.endpoint(SimulatedFaults(unreadable_first=True))
    summary = bench.rate(url, attempts=1)
    asked = len(list(bench.form("a00001").questions("everybody")))
    assert summary.missing == {"the reply holds no JSON object": 3 * asked}
    missing = next(bench.store.submissions()).answers[0]
    assert isinstance(missing, Missing)
    assert missing.raw == "Both systems have their merits."
    assert bench.rate(url, attempts=1).requests == 0


@pytest.mark.parametrize(
    ("faults", "outcome", "reason"),
    [
        (SimulatedFaults(refuse=True), "refused", "the model refused to answer"),
        (
            SimulatedFaults(truncate=True),
            "truncated",
            "the reply broke off at the token limit; give the rater a larger max_tokens",
        ),
    ],
)
def test_refusals_and_broken_off_replies_are_not_asked_again(
    bench: Bench, faults: SimulatedFaults, outcome: str, reason: str
) -> None:
    url, seen = bench.endpoint(faults)
    summary = bench.rate(url, limit=1)
    assert (seen.requests, list(summary.missing)) == (1, [reason])
    assert [call.outcome for call in bench.calls()] == [outcome]


def test_json_in_a_fence_between_sentences_is_read(bench: Bench) -> None:
    url, _ = bench.endpoint(SimulatedFaults(prose=True))
    assert bench.rate(url).missing == {}


def test_a_busy_endpoint_is_waited_for_as_it_asks(bench: Bench) -> None:
    url, _ = bench.endpoint(SimulatedFaults(statuses=(429, 503), retry_after="7"))
    summary = bench.rate(url, limit=1)
    assert summary.finished == 1
    assert bench.waits == pytest.approx([7.0, 7.0], abs=0.5)
    assert [call.outcome for call in bench.calls()] == ["http_429", "http_503", "ok"]
    assert bench.calls()[0].response is not None


def test_a_failure_is_no_answer_and_a_rerun_asks_again(bench: Bench) -> None:
    url, seen = bench.endpoint(SimulatedFaults(statuses=(500,) * 4))
    summary = bench.rate(url, limit=1)
    assert (summary.finished, summary.unfinished) == (0, {"http_500": 1})
    assert [whole / 2 <= wait <= whole for wait, whole in zip(bench.waits, (1.0, 2.0, 4.0), strict=True)] == [True] * 3
    with pytest.raises(PlatformError, match="1 of 1 assignments are not finished"):
        stop_if_unfinished(summary)
    assert list(bench.store.submissions()) == []
    again = bench.rate(url, limit=1)
    assert (again.finished, again.requests, seen.requests) == (1, 1, 5)
    stop_if_unfinished(again)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, None, "environment variable JUDGE_KEY"),
        (404, None, "correct base_url or model"),
        (429, "insufficient_quota", "quota is used up"),
    ],
)
def test_what_no_repetition_mends_stops_the_run(bench: Bench, status: int, code: str | None, said: str) -> None:
    url, seen = bench.endpoint(SimulatedFaults(statuses=(status,) * 50, error_code=code))
    summary = bench.rate(url)
    assert summary.problem is not None
    assert said in summary.problem
    assert KEY not in summary.problem
    assert seen.requests <= 3
    assert bench.waits == []


def test_a_hanging_endpoint_times_out_and_is_recorded(bench: Bench) -> None:
    url, _ = bench.endpoint(SimulatedFaults(hang=1.0))
    summary = bench.rate(url, limit=1, timeout=0.3)
    assert summary.unfinished == {"timeout": 1}
    assert [call.outcome for call in bench.calls()] == ["timeout"]


def test_an_endpoint_that_is_not_there_is_told_in_one_line(bench: Bench) -> None:
    summary = bench.rate("http://127.0.0.1:9/v1")
    assert summary.problem is not None
    assert "cannot be reached" in summary.problem
    assert set(summary.unfinished) <= {"connection", "not asked"}


def test_a_run_killed_after_the_answer_came_asks_nothing_again(bench: Bench) -> None:
    """A kill between the last answer and the end of the visit: the journal of a finished run, its visit open."""
    url, seen = bench.endpoint()
    bench.rate(url, limit=1)
    paid = bench.calls()[0]
    rater = Rater(id="judge", model="some-model", base_url=url)
    visit = RaterVisit(assignment_id="a00001", asked=rater_variants(rater)[0], repeat=1)
    with Store.create(Path(bench.store.name).with_name("killed.sqlite")) as store:
        draws = [(Assignment(assignment_id="a00001", number=0, blocks=()), bench.made["a00001"][1])]
        store.assignments.save("f", draws)
        lease_for_rater(store, "judge", "a00001", visit.label)
        journal = Journal(store)
        journal.begin(KIND, "judge/1/a00001", "form", "{}")  # lost with an earlier kill
        begun = journal.begin(KIND, "judge/1/a00001", "form", paid.request)
        journal.finish(begun, "ok", response=paid.response)
        killed = Bench(store=store, made=bench.made, stack=bench.stack, waits=[])
        summary = killed.rate(url)
    assert (summary.requests, summary.finished, seen.requests) == (0, 1, 1)


def replied(content: str, *, attempt: int = 1) -> JournalEntry:
    body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    return JournalEntry(
        kind=KIND, scope="v", key="form", attempt=attempt, request="{}", begun_at=0, outcome="ok", response=body
    )


def test_a_first_usable_answer_stays() -> None:
    form, _ = hand_made()
    questions = list(form.questions("everybody"))
    names = [question.question_id for question in questions]
    first, second = ({names[0]: 70, names[1]: 130}, {names[0]: 10, names[1]: 30})
    outcome = read_turn(
        questions, [replied(json.dumps(first)), replied(json.dumps(second), attempt=2)], RaterProtocol()
    )
    assert [(answer.question_id, answer.value) for answer in outcome.answers if isinstance(answer, Response)] == [
        (names[0], 0.7),
        (names[1], 0.3),
    ]
    assert len(outcome.replies) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("I prefer {A}.", "no JSON object"),
        ('{"q1": 1} {"q1": 2}', "more than one"),
        ('{"q1": 70, "q2": {"q1": 3}, ', "broken"),
        ('{"a":' * 100_000, "broken"),
        ("[70, 30]", "no JSON object"),
    ],
)
def test_a_reply_without_one_whole_object_is_unreadable(text: str, reason: str) -> None:
    with pytest.raises(UnreadableReply, match=reason):
        find_payload(text)


def test_reply_key_given_twice_is_missing() -> None:
    """A key given twice is missing even where both values agree."""
    form, _ = hand_made()
    first = next(form.questions("everybody"))
    call = replied(f'{{"{first.question_id}": 70, "{first.question_id}": 70}}')
    (answer,) = read_turn([first], [call], RaterProtocol()).answers
    assert isinstance(answer, Missing)
    assert answer.reason.startswith("answered twice")


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(), max_size=4), st.text(alphabet="ab {}\n`."))
def test_an_object_is_found_whatever_prose_is_before_it(payload: dict[str, object], prose: str) -> None:
    if "{" in prose:
        return
    wanted = {name: str(value) if isinstance(value, int) else value for name, value in payload.items()}
    assert find_payload(prose + json.dumps(payload)) == wanted


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_no_body_is_too_strange_to_read(body: str) -> None:
    assert read_body(body).body == body


@pytest.mark.parametrize("content", ["\ud800", 'null, "x": NaN', [{"type": "text"}], None, 7])
def test_a_message_of_any_kind_becomes_an_outcome(content: object) -> None:
    body = json.dumps({"choices": [{"message": {"content": content, "x": 1}, "finish_reason": None}]})
    assert read_body(body).outcome == "answered"


def test_a_key_is_wanted_except_on_this_machine() -> None:
    away = Rater(id="r", model="m", base_url="https://example.org/v1")
    with pytest.raises(PlatformError, match="OPENAI_API_KEY"):
        find_key(away, "https://example.org/v1", {})
    with pytest.raises(PlatformError, match="servers on this machine"):
        find_key(away.model_copy(update={"api_key_env": "none"}), "https://u:pw@example.org/v1", {})
    with pytest.raises(PlatformError) as caught:
        find_key(away, "https://example.org/v1", {"OPENAI_API_KEY": "sk-é\n7"})
    assert "sk-" not in str(caught.value)
    assert find_key(away, "http://localhost:8000/v1", {}) == "none"
    assert find_key(away, "https://example.org/v1", {"OPENAI_API_KEY": " k "}) == "k"
