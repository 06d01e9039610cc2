"""A model whose right answers are known, asked in every way: in words here and over HTTP, and by its probabilities."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spa.forms.texts import load_texts
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.endpoint import LLMEndpoint
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import rate_visits
from spa.raters.vendors.local.endpoint import LocalEndpoint
from spa.raters.visits import rater_visits
from spa.records.assignment import Assignment
from spa.records.form import Form
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.records.submission import Missing, Response
from spa.responses.store import Store
from tests.spa.hand_made import hand_made
from tests.spa.taught_model import taught_llama, truth_of
from tests.spa.tiny_models import models as models

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_process("models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
START_SECONDS = 120
FORM, KEY = hand_made(items=("i1", "i2"))
TRUTH = truth_of(FORM)


class OneForm:
    """A store with one assignment, as a workspace is to a rater."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def form(self, assignment_id: str, protocol: RaterProtocol | None = None) -> Form:
        """Return the form."""
        return FORM

    def expect(self, assignment_ids: Sequence[str]) -> None:
        """Have the form ready already."""


def answers(rater: Rater, endpoint: LLMEndpoint, folder: Path) -> tuple[Response | Missing, ...]:
    """Let a rater answer the form and return what the store holds then."""
    with Store.create(folder / "s.sqlite") as store:
        store.assignments.save("f", [(Assignment(assignment_id="a00001", number=0, blocks=()), KEY)])
        summary = rate_visits(
            OneForm(store),
            rater_visits(store, rater_variants(rater)),
            PromptWriter(load_texts("en", {})),
            endpoint=endpoint,
        )
        assert (summary.finished, summary.problem) == (1, None)
        (visit,) = store.submissions()
        return visit.answers


def right() -> Mapping[str, Any]:
    """Return what the right answers are read as."""
    scales = {q.question_id: getattr(q.answer, "scale", 1) for q in FORM.questions("everybody")}
    return {
        name: value if isinstance(value, str) else pytest.approx(value / scales[name]) for name, value in TRUTH.items()
    }


@contextmanager
def transformers_serve(folder: Path) -> Iterator[str]:
    """Serve a model on loopback as ``transformers serve`` does, which is imported here already."""
    from transformers.cli.serve import Serve

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = Serve(str(folder), device="cpu", dtype="float32", host="127.0.0.1", port=port, non_blocking=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not served.server.started:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        served.kill_server()


def asked_over_http(taught: Path, tmp_path: Path) -> None:
    """From the form over a real server and the real client to the store: agreement 1.0."""
    with transformers_serve(taught) as url:
        rater = Rater(
            id="served",
            model=str(taught),
            base_url=url,
            api_key_env="none",
            conversation="question",
            answer_format="json",
            max_tokens=24,
            concurrency=1,
        )
        found = answers(rater, HTTPEndpoint(rater, CHAT_API, environment={}, timeout=60), tmp_path)
    assert {one.question_id: getattr(one, "value", one) for one in found} == right()


def asked_here_in_words(taught: Path, tmp_path: Path) -> None:
    rater = Rater(
        id="here",
        model=str(taught),
        provider="local",
        conversation="question",
        answer_format="json",
        max_tokens=24,
    )
    found = answers(rater, LocalEndpoint(rater), tmp_path)
    assert {one.question_id: getattr(one, "value", one) for one in found} == right()


def asked_for_probabilities(taught: Path, tmp_path: Path) -> None:
    rater = Rater(
        id="sure",
        model=str(taught),
        provider="local",
        readout="logit",
        conversation="question",
        answer_format="text",
    )
    found = answers(rater, LocalEndpoint(rater), tmp_path)
    for answer in found:
        assert isinstance(answer, Response)
        probabilities = json.loads(answer.raw)["probabilities"]
        assert max(probabilities, key=probabilities.get) == str(TRUTH[answer.question_id])
        assert max(probabilities.values()) > 0.5


def test_every_answer_is_right_in_every_way(models: Path, tmp_path: Path) -> None:
    """One test, so that the model is taught once, however tests are spread over processes."""
    taught = taught_llama(models / "taught", FORM, TRUTH)
    for number, asked in enumerate((asked_here_in_words, asked_for_probabilities, asked_over_http)):
        folder = tmp_path / str(number)
        folder.mkdir()
        asked(taught, folder)
