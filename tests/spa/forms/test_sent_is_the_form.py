"""What goes over the wire to a model says and asks what the page says and asks, for every shipped study."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest

from spa.commands.workspace import Workspace, open_workspace
from spa.forms.prompt import TextPart, answer_format, render_turn
from spa.forms.prompt_turns import Conversation, turns_of
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.prompt_messages import PromptWriter, all_prompts
from spa.raters.run import rate_visits
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from spa.server.http_server import serve_on_loopback
from spa.simulation.simulated_endpoint import SimulatedModel
from spa.simulation.true_utilities import TrueUtilities
from tests.spa.faulty_endpoint import EndpointTraffic, faulty_endpoint
from tests.spa.forms.test_form_equality import check_one_form
from tests.spa.rehearsed import built_example

EXAMPLES = ("stories", "zh", "ar", "images")
CONVERSATIONS = get_args(Conversation)


@contextmanager
def rated(folder: Path, example: str, conversation: str) -> Iterator[tuple[Workspace, EndpointTraffic]]:
    """Let a simulated model answer two forms of an example over HTTP."""
    study = built_example(folder, annotators=2, example=example)
    rater = Rater(id="judge", model="m", conversation=conversation, api_key_env="none")  # type: ignore[arg-type]
    with closing(open_workspace(study)) as workspace:
        ways = rater_variants(rater)
        seen = EndpointTraffic()
        names = workspace.store.assignments.ids()
        forms = [(workspace.form(name), workspace.store.assignments.key(name)) for name in names]
        truth = TrueUtilities(utilities={system.id: 0.0 for system in workspace.study.systems})
        model = SimulatedModel(forms, all_prompts(workspace.texts, ways), truth)
        with serve_on_loopback(faulty_endpoint(model, seen=seen)) as url:
            ways = rater_variants(rater.model_copy(update={"base_url": f"{url}/v1"}))
            endpoint = HTTPEndpoint(ways[0].rater, CHAT_API)
            summary = rate_visits(
                workspace, rater_visits(workspace.store, ways), PromptWriter(workspace.texts), endpoint=endpoint
            )
        assert (summary.finished, summary.missing) == (2, {})
        yield workspace, seen


def words_sent(message: dict[str, Any]) -> str:
    """Return the text of a message; of an image only that it is there."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] if part["type"] == "text" else "\n(image)\n" for part in content)


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_what_is_sent_is_the_form_and_its_declared_wrappers(tmp_path: Path, example: str, conversation: Any) -> None:
    with rated(tmp_path, example, conversation) as (workspace, seen):
        sent = sorted(words_sent(body["messages"][-1]) for body in seen.bodies)
        expected = []
        for name in workspace.store.assignments.ids():
            form = workspace.form(name)
            check_one_form(form)  # the page says what the prompt says
            for ask in turns_of(form, conversation):
                parts = render_turn(ask).parts
                own = "".join(part.text if isinstance(part, TextPart) else "\n(image)\n" for part in parts)
                expected.append(f"{own}\n{answer_format(ask.questions, workspace.texts)}\n")
        assert sent == sorted(expected)
        for body in seen.bodies:
            assert {message["role"] for message in body["messages"]} <= {"user", "assistant"}
            assert not [system.id for system in workspace.study.systems if system.id in json.dumps(body["messages"])]
