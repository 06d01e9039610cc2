"""A store with a few assignments for a rater, and an endpoint that knows their forms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.forms.texts import load_texts
from spa.journal import Journal, JournalEntry
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.prompt_messages import Message, PromptWriter
from spa.raters.reading import ReplyTurn
from spa.raters.run import rate_visits
from spa.raters.summary import RatingSummary
from spa.raters.visits import KIND, rater_visits
from spa.records.assignment import Assignment, BlindingKey
from spa.records.form import ExhibitsBlock, Form
from spa.records.raters import Conversation, Rater, RaterProtocol, rater_variants
from spa.responses.store import Store
from spa.server.http_server import serve_on_loopback
from spa.simulation.simulated_endpoint import SimulatedModel
from spa.simulation.true_utilities import TrueUtilities
from tests import patience
from tests.spa.faulty_endpoint import EndpointTraffic, SimulatedFaults, faulty_endpoint
from tests.spa.hand_made import hand_made

TRUTH = TrueUtilities(utilities={"good": 0.5, "poor": -0.5})
KEY = "sk-very-secret-1234"


class PlainPrompts(PromptWriter):
    """The form as one message, the least that a rater can be given."""

    def __init__(self) -> None:
        super().__init__(load_texts("en", {}))

    def turn_messages(self, turn: PromptTurn, protocol: RaterProtocol) -> list[Message]:
        """Open the conversation."""
        shown = [
            exhibit.text
            for page in turn.pages
            for block in page.blocks
            if isinstance(block, ExhibitsBlock)
            for exhibit in block.exhibits
        ]
        asked = [f"[{question.question_id}] {question.text}" for question in turn.questions]
        return [{"role": "user", "content": "\n".join(shown + asked)}]

    def retry_message(self, turn: PromptTurn, reply: ReplyTurn) -> str:
        """Say what was wrong."""
        return "Once more: " + "; ".join(f"{answer.question_id}: {answer.reason}" for answer in reply.missing)


NOW = 1_700_000_000.0  # seconds since 1970


@dataclass
class Bench:
    """A store with some assignments, and an endpoint that knows their forms."""

    store: Store
    made: dict[str, tuple[Form, BlindingKey]]
    stack: ExitStack
    waits: list[float]

    def form(self, assignment_id: str, protocol: RaterProtocol | None = None) -> Form:
        """Return the form of an assignment."""
        return self.made[assignment_id][0]

    def expect(self, assignment_ids: Sequence[str]) -> None:
        """Have every form ready already."""

    def endpoint(self, faults: SimulatedFaults | None = None) -> tuple[str, EndpointTraffic]:
        """Serve an endpoint until the test ends."""
        seen = EndpointTraffic()
        model = SimulatedModel(self.made.values(), put, TRUTH)
        served = serve_on_loopback(faulty_endpoint(model, faults, seen))
        return self.stack.enter_context(served) + "/v1", seen

    def rate(
        self, base_url: str, *, timeout: float = patience.SECONDS, limit: int | None = None, **fields: Any
    ) -> RatingSummary:
        """Let the rater run at the time ``NOW``, without real waiting between tries."""
        rater = Rater(id="judge", model="some-model", base_url=base_url, api_key_env="JUDGE_KEY", **fields)
        endpoint = HTTPEndpoint(rater, CHAT_API, environment={"JUDGE_KEY": KEY}, timeout=timeout, clock=lambda: NOW)

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)
            await asyncio.sleep(0)

        return self.rate_with(endpoint, limit=limit, sleep=sleep)

    def rate_with(self, endpoint: HTTPEndpoint, *, limit: int | None = None, **options: Any) -> RatingSummary:
        """Let the rater of an endpoint answer the assignments."""
        visits = rater_visits(self.store, rater_variants(endpoint.rater), limit=limit)
        return rate_visits(self, visits, PlainPrompts(), endpoint=endpoint, **options)

    def calls(self, visit: str = "judge/1/a00001") -> tuple[JournalEntry, ...]:
        """Return the rater's calls on record."""
        return Journal(self.store).calls(KIND, visit)


def put(form: Form) -> Iterator[tuple[PromptTurn, list[Message]]]:
    for conversation in get_args(Conversation):
        for ask in turns_of(form, conversation):
            yield ask, PlainPrompts().turn_messages(ask, RaterProtocol())


@contextmanager
def rater_bench(folder: Path, *, assignments: int = 3) -> Iterator[Bench]:
    """Yield a store with assignments a00001, a00002, ..."""
    made = {name: hand_made(name) for name in (f"a{number:05}" for number in range(1, assignments + 1))}
    draws = [
        (Assignment(assignment_id=name, number=place, blocks=()), key)
        for place, (name, (_, key)) in enumerate(made.items())
    ]
    with ExitStack() as stack:
        store = stack.enter_context(Store.create(folder / "s.sqlite"))
        store.assignments.save("f", draws)
        yield Bench(store=store, made=made, stack=stack, waits=[])


class Killed(Exception):
    """The process ends while a request is under way."""


@contextmanager
def killed_while_asking() -> Iterator[None]:
    """Have the first request raise :class:`Killed`."""

    async def ask(endpoint: HTTPEndpoint, request: LLMRequest) -> LLMReply:
        raise Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HTTPEndpoint, "ask", ask)
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Yield a store with three assignments."""
    with rater_bench(tmp_path) as made:
        yield made
