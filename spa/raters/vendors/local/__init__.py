"""Models on this machine as raters: read through a shared prefix, their probabilities looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spa.raters.endpoints.chat_completions import CHAT_COMPLETION
from spa.raters.endpoints.endpoint import LLMEndpoint
from spa.raters.vendors.vendor import Vendor
from spa.records.problems import StudyProblem, mistake
from spa.records.raters import Rater, RaterProtocol

OVER_HTTP = 'none with provider = "local": it is for endpoints over HTTP'


def _open(rater: Rater, *, timeout: float, folder: Path, keep: bool) -> LLMEndpoint:
    """Return the model's endpoint; it answers in its own time, whatever the ``timeout``."""
    from spa.raters.vendors.local.endpoint import LocalEndpoint

    return LocalEndpoint(rater, base=folder, keep=keep)


def _problems(place: str, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    if protocol.answer_format == "schema":
        expected = '"json" or "text": a model on this machine cannot be held to a schema'
        yield mistake(f"{place}, answer_format", expected, '"schema"', "set one of them")


LOCAL = Vendor(
    key="local",
    about="this machine",
    open=_open,
    replies=CHAT_COMPLETION,
    refused_keys=dict.fromkeys(("max_completion_tokens", "reasoning_effort", "extra_body"), OVER_HTTP),
    problems=_problems,
    limit_keys=("max_tokens",),
    on_this_machine=True,
    probed=False,
)
