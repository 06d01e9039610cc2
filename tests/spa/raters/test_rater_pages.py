"""A page as one request that carries nothing of earlier pages, and a page whose questions are put in turn."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from spa.forms.build import build_form
from spa.forms.prompt import render_turn
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.estimate import estimate
from spa.raters.prompt_messages import PromptWriter
from spa.raters.visits import rater_visits
from spa.records.form import Form
from spa.records.raters import Conversation, Rater, RaterProtocol, RaterVariant, rater_variants
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import validate_study
from tests.spa.faulty_endpoint import SimulatedFaults
from tests.spa.forms.test_build_form import forms_of
from tests.spa.rater_bench import Bench, PlainPrompts
from tests.spa.rater_bench import bench as bench
from tests.spa.scripted_server import chat, http, scripted
from tests.strategies import outputs_of, small_study

PAGE: dict[str, Any] = {"conversation": "page_alone"}
IN_TURN: dict[str, Any] = {"answer_format": "text", "conversation": "page_questions", "reading": "paper"}


def stories(**likert: Any) -> Form:
    """Return a form with a page for each of twelve texts, asked about fluency, then against the source."""
    criteria = [
        {"id": "fluency", "name": "fluency", "show_item_text": False},
        {"id": "meaning", "name": "meaning", "against_source": True},
    ]
    section = {"pages": "output", "overall": False, **likert}
    study = small_study(spa=None, criteria=criteria, likert=section, design={"outputs": 12})
    return forms_of(study, outputs_of(study, items=6), count=1)[0]


def said(form: Form, conversation: Conversation) -> list[str]:
    return ["".join(one.text or "" for one in render_turn(turn).fragments) for turn in turns_of(form, conversation)]


def test_page_alone_carries_nothing_of_earlier_pages(bench: Bench) -> None:
    """Each page is a request of one message, with what it shows whole; a rerun asks nothing."""
    url, seen = bench.endpoint()
    summary = bench.rate(url, limit=1, **PAGE)
    turns = turns_of(bench.form("a00001"), "page_alone")
    assert len(turns) > 1
    assert (summary.finished, summary.missing, seen.requests) == (1, {}, len(turns))
    assert {len(body["messages"]) for body in seen.bodies} == {1}
    assert bench.rate(url, limit=1, **PAGE).requests == 0


def test_page_alone_is_as_long_on_the_last_page() -> None:
    """Each of twelve pages is put with the instructions and its own text; by page they pile up."""
    form = stories()
    alone, by_page = turns_of(form, "page_alone"), turns_of(form, "page")
    assert [turn.turn_id for turn in alone] == [turn.turn_id for turn in by_page]
    texts = said(form, "page_alone")
    assert len(texts) == 12
    assert max(map(len, texts)) < 1.1 * min(map(len, texts))
    for text in texts:
        assert text.startswith("[p1] ")
        assert text.count("Output text") == 1


def test_page_alone_tokens_are_estimated_by_page(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate counts a request a page, and less read than where every page follows the earlier ones' answers."""

    def tokens(conversation: str) -> tuple[int, int]:
        rater = Rater(id="judge", model="some-model", conversation=conversation)  # type: ignore[arg-type]
        visits = rater_visits(bench.store, rater_variants(rater), limit=1)
        found = estimate(bench, visits, PlainPrompts(), price=None)
        return found.requests, found.prompt_tokens

    pages = len(turns_of(bench.form("a00001"), "page"))
    assert tokens("page")[0] == tokens("page_alone")[0] == pages
    assert tokens("page_alone")[1] < tokens("page")[1]
    read = {}
    for answered in (0, 7):
        monkeypatch.setattr("spa.raters.estimate.answer_tokens", lambda *_, said=answered, **__: said)
        read[answered] = (tokens("page_alone")[1], tokens("page")[1])
    assert read[7] == (read[0][0], read[0][1] + 7 * pages * (pages - 1) // 2)


def test_page_alone_killed_between_pages_asks_each_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill with the second page under way: the first is not asked again, the second is, as the next attempt."""
    url, seen = bench.endpoint()
    ask, number = HTTPEndpoint.ask, 0

    class Killed(Exception):
        """The process ends while a request is under way."""

    async def broken(endpoint: HTTPEndpoint, request: LLMRequest) -> LLMReply:
        nonlocal number
        number += 1
        if number == 2:
            raise Killed
        return await ask(endpoint, request)

    with monkeypatch.context() as patched:
        patched.setattr(HTTPEndpoint, "ask", broken)
        with pytest.raises(Killed):
            bench.rate(url, limit=1, **PAGE)
    assert bench.rate(url, limit=1, **PAGE).finished == 1
    turns = [turn.turn_id for turn in turns_of(bench.form("a00001"), "page_alone")]
    assert len(turns) == seen.requests == len({json.dumps(body["messages"]) for body in seen.bodies})
    expected = [(turn, 1, "ok") for turn in turns]
    expected[1:2] = [(turns[1], 1, "started"), (turns[1], 2, "ok")]
    assert [(call.key, call.attempt, call.outcome) for call in bench.calls()] == expected


def test_page_alone_beside_what_is_read_first_is_refused() -> None:
    """Comparisons about what only earlier pages show, in one line; with their own outputs they are asked."""
    rater = {"id": "judge", "model": "m", "conversation": "page_alone"}
    (told,) = [one.message for one in validate_study(small_study(raters=[rater]))]
    assert "[[raters]] judge, conversation: expected another beside [spa]" in told
    assert len(told) < 500
    assert "\n" not in told
    assert not [*validate_study(small_study(raters=[rater], spa={"reading": "with_questions"}))]


def test_free_text_of_several_questions_is_refused() -> None:
    """A page in one message has no free text for each question."""
    rater = {"id": "judge", "model": "m", "conversation": "page_alone", "answer_format": "text"}
    told = [one.message for one in validate_study(small_study(spa={"reading": "with_questions"}, raters=[rater]))]
    assert [line for line in told if '"question" or "page_questions" with free text' in line]
    for way in ("question", "page_questions"):
        assert not [*validate_study(small_study(raters=[{**rater, "conversation": way}]))]


def test_questions_in_turn_send_what_is_shown_once() -> None:
    """A conversation a page: the text with the first question, the source with the one that is asked against it."""
    form = stories(item_text_position="after")
    turns = turns_of(form, "page_questions")
    assert [turn.alone for turn in turns] == [True, False] * 12
    assert [len(turn.questions) for turn in turns] == [1] * 24
    first, second = said(form, "page_questions")[:2]
    assert (first.count("Output text"), first.count("Source text")) == (1, 0)
    assert (second.count("Output text"), second.count("Source text")) == (0, 1)
    assert "[p1]" not in second
    words = "".join(said(form, "page_questions"))
    for question in form.questions("everybody"):
        assert words.count(f"[{question.question_id}] ") == 1


def test_questions_in_turn_keep_explanations_with_answers() -> None:
    """Before or after the answer, an explanation is asked for in the turn of its question."""
    for place in ("before", "after"):
        study = small_study(spa=None, likert={})
        made = outputs_of(study)
        ((assignment, key),) = sample_assignments(study, made, count=1, rng=study_rng(0))
        protocol = RaterProtocol(explain=place, **IN_TURN)  # type: ignore[arg-type]
        form = build_form(study, made, assignment, key, load_texts("en", {}), protocol)
        turns = turns_of(form, "page_questions")
        assert sum(len(turn.questions) for turn in turns) == len([*form.questions("everybody")])
        assert {len(turn.questions) for turn in turns} == {2}
        assert [turn.turn_id for turn in turns] == [turn.turn_id for turn in turns_of(form, "question")]


def test_questions_in_turn_are_asked_again_in_the_same_words(bench: Bench) -> None:
    """A reply without a number: the question is put once more as it was, with no word of JSON."""
    replies = iter(["I cannot say.", *["I would rate it 4 out of 5."] * 40])
    with scripted(lambda asked: http(chat(next(replies)))) as served:
        summary = bench.rate(f"{served.url}/v1", limit=1, attempts=2, **IN_TURN)
    turns = turns_of(bench.form("a00001"), "page_questions")
    bodies = [one.body for one in served.asked]
    assert len(bodies) >= len(turns) + 1
    assert bodies[0]["messages"] == bodies[1]["messages"]
    assert not re.search("JSON|Once more", json.dumps(bodies))
    assert all("response_format" not in body for body in bodies)
    second = next(place for place, turn in enumerate(turns) if not turn.alone)
    assert [one["role"] for one in bodies[second + 1]["messages"]] == ["user", "assistant", "user"]
    assert summary.finished == 1


@pytest.mark.parametrize("fault", [{}, {"unreadable_first": True}])
def test_questions_in_turn_are_each_answered_once(bench: Bench, fault: dict[str, bool]) -> None:
    """Every question has its own call; a rerun asks nothing."""
    url, seen = bench.endpoint(SimulatedFaults(**fault))
    way: dict[str, Any] = {"conversation": "page_questions"}
    assert (bench.rate(url, limit=1, **way).missing, bench.rate(url, limit=1, **way).requests) == ({}, 0)
    turns = turns_of(bench.form("a00001"), "page_questions")
    assert seen.requests == len(turns) + len(fault)
    assert [call.key for call in bench.calls() if call.outcome == "ok"] == [turn.turn_id for turn in turns]


def test_batches_of_questions_in_turn_are_refused() -> None:
    """A batch has no second turn; pages alone need none."""
    rater = {"id": "judge", "model": "m", "provider": "batch", "conversation": "page_questions"}
    reading = {"reading": "with_questions"}
    (told,) = [one.message for one in validate_study(small_study(spa=reading, raters=[rater]))]
    assert '"form", "page_alone" or "question"' in told
    assert not [*validate_study(small_study(spa=reading, raters=[{**rater, "conversation": "page_alone"}]))]


def test_persona_above_the_form_is_no_system_message() -> None:
    """Chiang and Lee's variants: who is spoken to stands above the form, the explanation is asked for in its words."""
    study = small_study(spa=None, likert={})
    made = outputs_of(study)
    ((assignment, key),) = sample_assignments(study, made, count=1, rng=study_rng(0))
    texts = load_texts("en", {})
    plain = RaterProtocol(**IN_TURN)
    changed = plain.model_copy(
        update={"persona": "(You rate.)", "persona_place": "user", "explain": "after", "explain_words": "And why?"}
    )
    forms = {way: build_form(study, made, assignment, key, texts, way) for way in (plain, changed)}
    put = {
        way: [PromptWriter(texts).turn_messages(one, way) for one in turns_of(forms[way], "page_questions")]
        for way in forms
    }
    (first,), (second,) = put[changed][0], put[changed][1]
    assert {one["role"] for messages in put[changed] for one in messages} == {"user"}
    assert first["content"].startswith("(You rate.)\n\n" + put[plain][0][0]["content"].partition("\n")[0])
    assert first["content"].endswith("] And why?\n")
    assert "(You rate.)" not in second["content"]
    assert RaterVariant(rater=Rater(id="j", model="m"), variant=None, protocol=plain).identical
    judged = RaterVariant(rater=Rater(id="j", model="m"), variant=None, protocol=changed)
    assert (judged.identical, judged.fingerprint) != (True, judged.fingerprint_with(1))


def test_persona_above_the_form_stands_before_pictures() -> None:
    """Where the form is sent in parts, it is the first of them."""
    from spa.raters.prompt_messages import _above

    assert _above("(You rate.)", [{"type": "image_url"}])[0] == {"type": "text", "text": "(You rate.)\n\n"}


@pytest.mark.parametrize(
    ("keys", "told"),
    [({"persona_place": "user"}, "persona beside it"), ({"explain_words": "Why?"}, 'explain = "before" or "after"')],
)
def test_words_of_what_no_variant_asks_are_refused(keys: dict[str, str], told: str) -> None:
    """One line for a key without effect; beside variants that have one it stays."""
    rater = {"id": "judge", "model": "m", **keys}
    (line,) = [one.message for one in validate_study(small_study(raters=[rater]))]
    assert told in line
    variants = [{"id": "plain"}, {"id": "other", "persona": "(You rate.)", "explain": "after"}]
    assert not [*validate_study(small_study(raters=[{**rater, "variants": variants}]))]
