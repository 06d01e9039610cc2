"""An OpenAI-compatible chat endpoint with simulated answers, for ``--simulate``.

The model is called ``simulated-rater``, so that its answers are never mistaken for an LLM's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from spa.forms.prompt_turns import PromptTurn
from spa.raters.endpoints.distribution import answer_values
from spa.raters.endpoints.endpoint import mapping
from spa.raters.endpoints.http_api import TOP_LOGPROBS
from spa.raters.prompt_messages import Message
from spa.records.assignment import BlindingKey
from spa.records.form import Form
from spa.records.submission import SIMULATED_RATER
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.true_utilities import TrueUtilities
from spa.widgets import widget_of

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

SAMPLING = ("temperature", "top_p", "seed")
STEP = 0.4  # how much less probable the next value is, where probabilities are asked for
STEADY = Temperament(noise_sd=0.5, taste_sd=0.05, doubt=0.8, severity_sd=0.1, tie_width=0.1, rounding=5)


class SimulatedModel:
    """Answers the prompts of known forms; each form by an annotator of its own.

    ``put`` takes a form and returns each of its turns with the messages that put it, for every variant in which it may
    be put. Answers are drawn from ``seed`` and ``rater_id``, with the assignment and how it is asked (see
    :func:`assignment_rng`): they are the same in whatever order the requests come.
    """

    def __init__(
        self,
        forms: Iterable[tuple[Form, BlindingKey]],
        put: Callable[[Form], Iterable[tuple[PromptTurn, Sequence[Message]]]],
        truth: TrueUtilities,
        *,
        temperament: Temperament = STEADY,
        seed: int = 0,
        rater_id: str = SIMULATED_RATER,
    ) -> None:
        self._truth = truth
        self._temperament = temperament
        self._seed = seed
        self._rater_id = rater_id
        self._openings: dict[str, tuple[Form, BlindingKey]] = {}
        self._wordings: dict[str, list[Form]] = {}  # assignment -> its forms, which variants add to
        self._turns: dict[tuple[str, str], tuple[str, ...]] = {}
        for form, key in forms:
            self._wordings.setdefault(form.assignment_id, []).append(form)
            for turn, messages in put(form):
                digest = fingerprint(messages[-1:])
                self._turns[form.assignment_id, digest] = tuple(question.question_id for question in turn.questions)
                if turn.alone:
                    self._openings[digest] = (form, key)

    def find(self, messages: Sequence[object]) -> tuple[Form, BlindingKey, tuple[str, ...]] | None:
        """Return the form that a conversation is about, by how it begins, and the questions last asked."""
        digests = [fingerprint([message]) for message in messages if mapping(message).get("role") == "user"]
        found = self._openings.get(digests[0]) if digests else None
        if found is None:
            return None
        name = found[0].assignment_id
        known = (self._turns[name, one] for one in reversed(digests) if (name, one) in self._turns)
        return (*found, next(known))

    def rng(self, form: Form, body: Mapping[str, Any]) -> np.random.Generator:
        """Return the generator of the annotator who answers a request about a form."""
        wordings = self._wordings[form.assignment_id]
        wording = next(number for number, one in enumerate(wordings) if one is form)
        sampling: dict[str, object] = {name: body[name] for name in SAMPLING if body.get(name) is not None}
        if sampling.get("seed") == self._seed:  # that of the first repeat
            del sampling["seed"]
        messages = [mapping(one) for one in body["messages"]]
        personas = [one.get("content") for one in messages if one.get("role") == "system"]
        if above := next(_above(one.get("content")) for one in messages if one.get("role") == "user"):
            personas.append(above)
        others = {"rater": self._rater_id, "wording": wording, "persona": personas}
        plain = {"rater": SIMULATED_RATER, "wording": 0, "persona": []}
        sampling |= {name: value for name, value in others.items() if value != plain[name]}
        return assignment_rng(self._seed, form.assignment_id, sampling)

    def answers(
        self, form: Form, key: BlindingKey, names: Iterable[str], rng: np.random.Generator
    ) -> dict[str, object]:
        """Answer the questions named, as JSON values."""
        annotator = SimulatedAnnotator(self._truth, self._temperament, rng=rng)
        answers = annotator.answers(form, key)
        asked = {question.question_id: question.answer for question in form.questions("everybody")}
        return {name: widget_of(asked[name]).as_json(asked[name], answers[name]) for name in names if name in asked}


def _above(content: object) -> str:
    """Return what a message says above the first page of a form."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return str(mapping(parts[0] if parts else None).get("text")).partition("[p")[0]


def assignment_rng(seed: int, assignment_id: str, sampling: Mapping[str, object] | None = None) -> np.random.Generator:
    """Return the generator of the annotator who answers one assignment, whoever comes first.

    ``sampling`` is what sets this answer apart from the plain first one of the rater ``simulated-rater``: another
    rater's id, the sampling, persona and added texts of a variant, the seed of a further repeat. For people, it is the
    seat of every annotator of an assignment but the first.
    """
    parts = [assignment_id, *([json.dumps(sampling, sort_keys=True)] if sampling else [])]
    digests = [sha256(one.encode("utf-8", "surrogatepass")).digest() for one in parts]
    return np.random.default_rng([seed, *(int.from_bytes(digest[:8], "big") for digest in digests)])


def fingerprint(messages: Sequence[object]) -> str:
    """Return a hash of messages."""
    return sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def create_endpoint(model: SimulatedModel) -> FastAPI:
    """Build the application: ``POST /v1/chat/completions`` and ``GET /v1/models``."""
    from fastapi import FastAPI
    from starlette.routing import Route

    app = FastAPI(title="simulated rater", docs_url=None, redoc_url=None, openapi_url=None)

    async def complete(request: Request) -> Response:
        return complete_chat(model, await request.body())

    async def models() -> dict[str, Any]:
        return {
            "object": "list",
            "data": [{"id": SIMULATED_RATER, "object": "model", "created": 0, "owned_by": "simulation"}],
        }

    # routes are added by call: annotations of nested functions cannot name what is imported lazily
    app.router.routes.append(Route("/v1/chat/completions", complete, methods=["POST"]))
    app.add_api_route("/v1/models", models, methods=["GET"])
    return app


def complete_chat(model: SimulatedModel, content: bytes) -> Response:
    """Answer the body of a request with a chat completion; a token is counted for each four characters."""
    from fastapi.responses import JSONResponse

    try:
        body = mapping(json.loads(content))
    except ValueError:
        return error_response(400, "the request is not JSON")
    messages = body.get("messages")
    found = model.find(messages) if isinstance(messages, list) else None
    if found is None:
        return error_response(400, "this simulated rater knows only the forms that it was started with")
    form, key, last_questions = found
    answers = model.answers(form, key, questions_of_schema(body) or last_questions, model.rng(form, body))
    text = json.dumps(answers) if wants_json(body, last_questions) else in_prose(form, answers)
    used = {"prompt_tokens": len(json.dumps(messages)) // 4, "completion_tokens": len(text) // 4 + 1}
    tokens = probable_tokens(form, answers) if body.get("logprobs") else []
    text = tokens[0]["token"] if tokens else text
    message = {"role": "assistant", "content": text, "refusal": None}
    logprobs = {"content": [{**tokens[0], "top_logprobs": tokens}]} if tokens else None
    return JSONResponse(
        {
            "id": f"simulated-{fingerprint([body, text])[:16]}",
            "object": "chat.completion",
            "created": 0,
            "model": SIMULATED_RATER,
            "system_fingerprint": "simulated",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs}],
            "usage": {**used, "total_tokens": sum(used.values())},
        }
    )


def probable_tokens(form: Form, answers: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return the most probable first tokens of the answer to one question, the answer itself first; none for others.

    Each step away from the answer, among the values that the question takes, is less probable by ``STEP``.
    """
    asked = [question for question in form.questions("everybody") if question.question_id in answers]
    values = answer_values(asked[0]) if len(asked) == 1 else ()
    said = str(next(iter(answers.values()), ""))
    if said not in values:
        return []
    steps = {value: abs(place - values.index(said)) for place, value in enumerate(values)}
    total = sum(STEP**far for far in steps.values())
    nearest = sorted(steps, key=lambda value: steps[value])[:TOP_LOGPROBS]
    return [{"token": value, "logprob": steps[value] * log(STEP) - log(total)} for value in nearest]


def questions_of_schema(body: dict[str, Any]) -> list[str]:
    """Return the questions that the request's schema names; none where it has no schema."""
    schema = mapping(mapping(mapping(body.get("response_format")).get("json_schema")).get("schema"))
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def wants_json(body: dict[str, Any], questions: Iterable[str]) -> bool:
    """Return whether a request asks for JSON: by a schema, or in words that quote the names of the questions."""
    messages = body.get("messages")
    content = json.dumps(messages[-1:], ensure_ascii=False) if isinstance(messages, list) else ""
    return "response_format" in body or any(f'\\"{name}\\"' in content for name in questions)


def in_prose(form: Form, answers: dict[str, object]) -> str:
    """Return answers as sentences; what is chosen is named by its words."""
    answer_of = {question.question_id: question.answer for question in form.questions("everybody")}
    spoken = [widget_of(answer_of[name]).in_words(answer_of[name], value) for name, value in answers.items()]
    return " ".join(spoken)


def error_response(status: int, message: str) -> Response:
    """Return an error as the OpenAI API words it."""
    from fastapi.responses import JSONResponse

    detail = {"message": message, "type": "simulated", "param": None, "code": None}
    return JSONResponse({"error": detail}, status_code=status)
