"""Reasoning first, then probabilities: two requests a question, the second after the words of the first."""

from __future__ import annotations

import asyncio
import json
import math
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spa.commands.build import build_store
from spa.commands.workspace import open_workspace
from spa.forms.texts import load_texts
from spa.journal import Journal, JournalEntry
from spa.raters.budget import TOKENS_AN_ANSWER, TOKENS_AN_EXPLANATION
from spa.raters.conversation import RaterConversation
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.prompt_messages import PromptWriter
from spa.raters.vendors.local.endpoint import LocalEndpoint
from spa.raters.vendors.responses import RESPONSES_API
from spa.raters.visits import KIND, RaterVisit
from spa.records.form import ExplanationTarget, Form, Judgement, Page, PageBlock, Question
from spa.records.raters import Rater, RaterProtocol, may_be_cached, rater_variants
from spa.records.submission import Missing, Response, Submission
from spa.responses.answers import parse_answer
from spa.study.load import load_study, study_fingerprint
from spa.widgets import NumberAnswer, TextAnswer, widget_of
from tests import patience
from tests.spa.hand_made import hand_made
from tests.spa.raters.test_rater_local import alone
from tests.spa.rehearsed import spa
from tests.spa.scripted_server import Asked, Said, Served, chat, http, scripted
from tests.spa.small_study import write_study
from tests.spa.tiny_models import TEMPLATE, tiny_llama
from tests.spa.tiny_models import models as models
from tests.warm import WarmProcess

REASONED: dict[str, Any] = {
    "readout": "logit",
    "explain": "before",
    "conversation": "question",
    "answer_format": "text",
    "min_mass": 0,
}
SHORT = 9  # tokens
TOP = {"4": 0.6, "5": 0.2, "3": 0.1, "70": 0.05, "x": 0.03}


def study_of(folder: Path, *, annotators: int = 1) -> Path:
    path = write_study(folder)
    study = load_study(path)
    fingerprint = study_fingerprint(study)
    build_store(study, path.with_suffix(".sqlite"), fingerprint=fingerprint, annotators=annotators, seed=None)
    return path


def judge(folder: Path, url: str = "http://127.0.0.1:1/v1", **keys: Any) -> Path:
    path = folder / "judge.toml"
    keys = {"id": "judge", "model": "m", "base_url": url, **REASONED, **keys}
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items()))
    return path


def reasoning(asked: Asked) -> str:
    return f"I weigh both, and rather like it ({len(asked.body['messages'][0]['content'])})."


def judging(asked: Asked) -> Said:
    """Reason in words; give probabilities where they are asked for."""
    if "logprobs" not in asked.body:
        return http(chat(reasoning(asked)))
    listed = [{"token": token, "logprob": math.log(p)} for token, p in TOP.items()]
    body = chat("4", finish="length")
    body["choices"][0]["logprobs"] = {"content": [{**listed[0], "top_logprobs": listed}]}
    return http(body)


def visits_of(study: Path) -> list[Submission]:
    with open_workspace(study, read_only=True) as workspace:
        return list(workspace.store.submissions())


def calls_of(study: Path) -> list[JournalEntry]:
    with open_workspace(study, read_only=True) as workspace:
        return list(Journal(workspace.store).every(KIND))


def rate(study: Path, rater: Path, *more: object, code: int = 0) -> Any:
    return json.loads(spa("rate", study, "--rater", rater, "--no-probe", "--json", *more, code=code).output)


def test_an_answer_is_read_after_its_own_reasoning(tmp_path: Path) -> None:
    """By hand: of 1 to 5, (0.6 x 4 + 0.2 x 5 + 0.1 x 3) / 0.9; of per cent, the mean of what is listed / 100."""
    study = study_of(tmp_path)
    with scripted(judging) as server:
        rater = judge(tmp_path, server.url, max_tokens=300)
        estimated = rate(study, rater, "--dry-run")
        told = rate(study, rater)
        assert rate(study, rater)["requests"] == 0
    (visit,) = visits_of(study)
    explained = {a.target.of: a for a in visit.answers if isinstance(a.target, ExplanationTarget)}
    judged = [answer for answer in visit.answers if isinstance(answer.target, Judgement)]
    checks = 1  # an identical pair, of which nobody is asked for reasons
    assert len(judged) == len(explained)
    assert len(server.asked) == told["requests"] == estimated["requests"] == 2 * len(judged) + checks
    thought, answered = TOKENS_AN_ANSWER + TOKENS_AN_EXPLANATION, TOKENS_AN_ANSWER
    assert estimated["completion_tokens"] == len(judged) * (thought + answered) + checks * answered
    assert (told["prompt_tokens"], told["completion_tokens"]) == (100 * len(server.asked), 10 * len(server.asked))
    for answer in judged:
        assert isinstance(answer, Response)
        found = json.loads(answer.raw)["probabilities"]
        if set(found) == set("12345"):
            assert answer.value == pytest.approx(3.7 / 0.9)
        elif "70" in found:
            assert answer.value == pytest.approx((0.6 * 4 + 0.2 * 5 + 0.1 * 3 + 0.05 * 70) / 0.95 / 100)
        else:
            assert (answer.value, found["x"]) == ("x", 1.0)
        assert str(getattr(explained[answer.target], "value", "")).startswith("I weigh both")
    first, second = server.asked[0].body, next(one.body for one in server.asked if len(one.body["messages"]) == 3)
    assert (first["max_tokens"], second["max_tokens"]) == (300, 1)
    opening, said, asked = second["messages"]
    assert opening in [one.body["messages"][0] for one in server.asked if "logprobs" not in one.body]
    assert (said["role"], said["content"]) == (
        "assistant",
        f"I weigh both, and rather like it ({len(opening['content'])}).",
    )
    assert "explain" in opening["content"]
    assert "explain" not in asked["content"]
    assert visit.asked is not None
    assert (visit.asked.readout, visit.asked.form) == ("logit", "variant")


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (chat("I weigh", finish="length"), "no reasoning: the reply broke off at the token limit"),
        (chat("", refusal="I cannot judge this."), "no reasoning: the model refused to answer"),
        (chat(" "), "no reasoning: no answer"),
    ],
    ids=["cut", "refused", "empty"],
)
def test_no_answer_is_read_without_its_reasoning(tmp_path: Path, spoilt: dict[str, Any], reason: str) -> None:
    """The answer is not asked for, and its reason names what the reasoning lacks."""
    study = study_of(tmp_path)

    def spoiling(asked: Asked) -> Said:
        spoils = "logprobs" not in asked.body and "meaning" in asked.body["messages"][-1]["content"][-200:]
        return http(spoilt) if spoils else judging(asked)

    with scripted(spoiling) as server:
        rate(study, judge(tmp_path, server.url, attempts=1, concurrency=1))
    (visit,) = visits_of(study)
    judged = [answer for answer in visit.answers if isinstance(answer.target, Judgement)]
    missing = [answer.reason for answer in judged if isinstance(answer, Missing)]
    assert missing
    assert all(one.startswith(reason) for one in missing)
    assert len(server.asked) == 2 * len(judged) + 1 - len(missing)


def test_a_cut_reasoning_is_asked_again_with_more_tokens(tmp_path: Path) -> None:
    study = study_of(tmp_path)

    def short(asked: Asked) -> Said:
        return http(chat("I weigh", finish="length")) if asked.body["max_tokens"] == SHORT else judging(asked)

    with scripted(short) as server:
        told = spa("rate", study, "--rater", judge(tmp_path, server.url, max_tokens=SHORT), "--no-probe").output
        cut = len(server.asked) - 1
        assert "give the rater a larger max_tokens" in told
        told = rate(study, judge(tmp_path, server.url, max_tokens=90))
    assert told["missing"] == {}
    assert len(server.asked) == 3 * cut + 1  # the check is not asked again


def test_a_rater_that_only_reasons_in_part_is_told_its_limit(tmp_path: Path) -> None:
    study = study_of(tmp_path, annotators=3)
    with scripted(lambda asked: http(chat("I weigh", finish="length"))) as server:
        rater = judge(tmp_path, server.url, max_tokens=SHORT)
        told = spa("rate", study, "--rater", rater, "--no-probe", code=1).output
    assert "no readable answer: replies break off at max_tokens = 9; raise max_tokens" in told


def test_a_kill_between_the_two_loses_no_reasoning(tmp_path: Path) -> None:
    """What was reasoned is on record: each is asked for once, an answer again only where it was under way."""
    study = study_of(tmp_path)
    held = (2, 5)  # answers that never come: the process is killed while it waits

    async def hanging(asked: Asked) -> Said:
        answers = sum(len(one.body["messages"]) == 3 for one in server.asked)
        if len(asked.body["messages"]) == 3 and answers in held:
            await asyncio.sleep(patience.SECONDS)
        return judging(asked)

    with scripted(hanging) as server:
        rater = judge(tmp_path, server.url, concurrency=1)
        for stop in held:
            process = WarmProcess(["rate", study, "--rater", rater, "--no-probe"])
            wait_for(server, stop, process)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        rate(study, rater)
    conversations = [one.body["messages"] for one in server.asked]
    reasoned = Counter(json.dumps(one.body["messages"]) for one in server.asked if "logprobs" not in one.body)
    answered = Counter(json.dumps(messages) for messages in conversations if len(messages) == 3)
    assert set(reasoned.values()) == {1}
    assert sorted(answered.values())[-len(held) :] == [2] * len(held)
    assert sum(answered.values()) == len(reasoned) + len(held)
    assert len(calls_of(study)) == len(server.asked)
    assert all(isinstance(answer, Response) for visit in visits_of(study) for answer in visit.answers)


def wait_for(server: Served, answers: int, process: WarmProcess) -> None:
    """Wait until the server was asked for so many answers."""
    deadline = time.monotonic() + patience.SECONDS
    while sum(len(one.body["messages"]) == 3 for one in list(server.asked)) < answers:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_what_was_reasoned_is_not_asked_again() -> None:
    """From the record of the reasoning alone, the next request is that for the answer; without it, none is."""
    asked = rater_variants(Rater(id="judge", model="m", **REASONED))[0]
    visit = RaterVisit(assignment_id="a00001", asked=asked, repeat=1)
    form = with_reasons(hand_made()[0])
    conversation = RaterConversation(form, (), visit)
    first = conversation.turn
    assert conversation.may_share
    call = JournalEntry(kind=KIND, scope="v", key=first.turn_id, attempt=1, request="{}", begun_at=0)
    answered = replace(call, outcome="ok", response=json.dumps(chat("It is fine.")))
    after = RaterConversation(form, (answered,), visit)
    request = after.request(PromptWriter(load_texts("en", {})))
    assert after.turn.turn_id == first.turn_id.removesuffix("why")
    assert not after.may_share
    assert [one["role"] for one in request.messages] == ["user", "assistant", "user"]
    assert request.messages[1]["content"] == "It is fine."
    assert (request.protocol.readout, request.protocol.limit) == ("logit", None)
    lost = RaterConversation(form, (replace(answered, outcome="refused"),), visit)
    assert lost.turn.turn_id not in (first.turn_id, after.turn.turn_id)


def test_each_vendor_is_asked_for_its_least_of_an_answer() -> None:
    """The rater's limit is that of the reasoning; one token is read of the answer, and the Responses API gives 16."""
    limits = {"max_completion_tokens": 700}
    for vendor, reasoned, answered in ((CHAT_API, 700, 1), (RESPONSES_API, 700, 16)):
        rater = Rater(id="judge", model="o9", **REASONED, **limits)
        (asked,) = rater_variants(rater)
        conversation = RaterConversation(
            with_reasons(hand_made()[0]), (), RaterVisit(assignment_id="a", asked=asked, repeat=1)
        )
        prompts = PromptWriter(load_texts("en", {}))
        first, second = (conversation.request(prompts, turn) for turn in conversation.open_turns[:2])
        sent = [vendor.parameters(rater, request) for request in (first, second)]
        assert [one.get("max_completion_tokens", one.get("max_output_tokens")) for one in sent] == [reasoned, answered]
        assert ["top_logprobs" in one for one in sent] == [False, True]


def test_repeats_reason_anew_and_are_no_cached_answers(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    with scripted(judging) as server:
        told = rate(study, judge(tmp_path, server.url, repeats=2))
    assert (told["finished"], told["missing"]) == (2, {})
    assert may_be_cached(RaterProtocol(readout="logit"), sampled=False)
    assert not may_be_cached(RaterProtocol(readout="logit", explain="before"), sampled=False)


def test_the_simulated_rater_reasons_and_is_sure(tmp_path: Path) -> None:
    """Its most probable answer is that which it gives in words."""
    found = {}
    for readout in ("verbalised", "logit"):
        folder = tmp_path / readout
        folder.mkdir()
        study = study_of(folder)
        rater = judge(
            folder,
            model="simulated-rater",
            readout=readout,
            **({} if readout == "logit" else {"answer_format": "json"}),
        )
        told = json.loads(spa("rate", study, "--rater", rater, "--simulate", "--json").output)
        assert told["missing"] == {}
        rehearsal = next(path for path in folder.rglob("*.sqlite") if path != study.with_suffix(".sqlite"))
        with open_workspace(study, store=str(rehearsal), read_only=True) as workspace:
            (visit,) = workspace.store.submissions()
        found[readout] = {a.target: a for a in visit.answers if isinstance(a.target, Judgement)}
    assert found["logit"].keys() == found["verbalised"].keys()
    for target, answer in found["logit"].items():
        probabilities = json.loads(getattr(answer, "raw", ""))["probabilities"]
        said = found["verbalised"][target]
        assert isinstance(said, Response)
        most = max(probabilities, key=lambda value: probabilities[value])
        assert sorted(probabilities.values())[-2] == pytest.approx(0.4 * probabilities[most], rel=1e-3)
        assert json.loads(getattr(answer, "raw", ""))["mass"] == pytest.approx(1, abs=1e-3)
        assert most == str(said.value) or float(most) in (said.value, round(float(said.value) * 100))


def with_reasons(form: Form) -> Form:
    """Return a form with an explanation before each of its judgements, as `explain = "before"` makes it."""

    def blocks(page: Page) -> Iterator[PageBlock]:
        for block in page.blocks:
            if isinstance(block, Question) and isinstance(block.answer, NumberAnswer):
                continue  # of a hundred values, whose computation by hand takes long
            if isinstance(block, Question) and isinstance(block.target, Judgement):
                yield Question(
                    question_id=f"{block.question_id}why",
                    text=f"{block.text} Why?",
                    answer=TextAnswer(),
                    target=ExplanationTarget(of=block.target),
                )
            yield block

    return replace(form, pages=tuple(replace(page, blocks=tuple(blocks(page))) for page in form.pages))


def talkative(folder: Path) -> Path:
    """Return a tiny model for which every other byte ends a reply, so that its random words come to an end."""
    if not folder.exists():
        tiny_llama(folder)
        settings = json.loads((folder / "generation_config.json").read_text())
        settings["eos_token_id"] = list(range(0, 256, 2))
        (folder / "generation_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.one_process("models")
def test_a_reason_that_a_study_asks_for_has_no_probabilities(models: Path) -> None:
    """A reason beside the question is missing where only probabilities are read, and the answer is there."""
    one = Rater(
        id="here", model=str(talkative(models / "talkative")), provider="local", **(REASONED | {"explain": "no"})
    )
    visit = RaterVisit(assignment_id="a00001", asked=rater_variants(one)[0], repeat=1)
    conversation = RaterConversation(with_reasons(hand_made(items=("i1",))[0]), (), visit)
    request = conversation.request(PromptWriter(load_texts("en", {})))

    async def ask() -> str | None:
        async with LocalEndpoint(one) as endpoint:
            return (await endpoint.ask(request)).body

    call = JournalEntry(kind=KIND, scope="v", key=conversation.turn.turn_id, attempt=1, request="{}", begun_at=0)
    after = conversation.with_call(replace(call, outcome="unreadable", response=asyncio.run(ask())))
    reason, answer = after.answers[:2]
    assert isinstance(reason, Missing)
    assert isinstance(answer, Response)
    assert after.turn.turn_id != conversation.turn.turn_id


@pytest.mark.one_process("models")
def test_local_probabilities_are_those_after_the_reasoning(models: Path) -> None:
    """Each is computed by passes of their own over the whole text: what was asked, what was said, the question."""
    from jinja2 import Template

    folder = talkative(models / "talkative")
    one = Rater(id="here", model=str(folder), provider="local", max_tokens=40, seed=1, temperature=1, **REASONED)
    visit = RaterVisit(assignment_id="a00001", asked=rater_variants(one)[0], repeat=1)
    form = with_reasons(hand_made(items=("i1",))[0])
    prompts = PromptWriter(load_texts("en", {}))

    async def talk() -> tuple[RaterConversation, list[tuple[LLMRequest, str]]]:
        conversation, said = RaterConversation(form, (), visit), []
        async with LocalEndpoint(one) as endpoint:
            while not conversation.is_over:
                request = conversation.request(prompts)
                begun = JournalEntry(
                    kind=KIND, scope="v", key=conversation.turn.turn_id, attempt=1, request="{}", begun_at=0
                )
                reply = await endpoint.ask(request)
                outcome = conversation.outcome_of(begun, reply)
                said.append((request, reply.body or ""))
                conversation = conversation.with_call(replace(begun, outcome=outcome, response=reply.body))
        return conversation, said

    conversation, said = asyncio.run(talk())
    read = {a.question_id: a for a in conversation.answers if isinstance(a, Response)}
    looked = [(request, json.loads(body)) for request, body in said if "distribution" in json.loads(body)]
    assert len(looked) >= 3
    for request, body in looked:
        (question,) = request.questions
        user, assistant, _ = request.messages
        assert assistant["content"] == read[f"{question.question_id}why"].value
        assert str(user["content"]).rstrip().endswith("Why?")
        text = Template(TEMPLATE).render(messages=request.messages, add_generation_prompt=True)
        values = widget_of(question.answer).values(question.answer)
        right, mass = alone(folder, text, values)
        assert body["distribution"]["probabilities"] == pytest.approx(right, abs=1e-4)
        assert body["distribution"]["mass"] == pytest.approx(mass, rel=1e-3)
        mean = parsed_mean(question, right)
        if mean is not None:
            assert read[question.question_id].value == pytest.approx(mean, rel=1e-3)


def parsed_mean(question: Question, right: dict[str, float]) -> float | None:
    """Return the mean of a scale by its own reading of each value; None where a value is no number."""
    values = [parse_answer(question, value) for value in right]
    numbers: Sequence[Any] = [getattr(one, "value", None) for one in values]
    if not all(isinstance(one, int | float) for one in numbers):
        return None
    return math.fsum(number * right[value] for number, value in zip(numbers, right, strict=True))
