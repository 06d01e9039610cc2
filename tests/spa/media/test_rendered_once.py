"""Markdown is parsed once, however often, and in however many places, it is shown."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from spa.commands.check import overview_of
from spa.forms.effort import estimate_effort
from spa.forms.html import render_whole
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.media import markdown_html, markdown_reader
from spa.media.conversation import CONVERSATION
from spa.media.markdown import MARKDOWN
from spa.media.medium import Medium
from spa.responses.reading_evidence import minimum_seconds
from spa.server.preview import create_preview
from tests.spa.media.test_media import STUDY, SYSTEMS, made, shown_on

PARAGRAPH = "Some **words** and `code`, a list:\n\n- one $x^2$\n- two, with ![far](https://a.org/b.png) away\n\n"


def output_of(item: int, system: str) -> str:
    return f"Answer {item} of {system[2]}.\n\n" + PARAGRAPH * (15_000 // len(PARAGRAPH))


def in_turns(text: str) -> str:
    return json.dumps([{"role": "user", "content": f"Asked: {text[:20]}"}, {"role": "assistant", "content": text}])


@pytest.mark.parametrize("medium", [MARKDOWN, CONVERSATION], ids=lambda medium: medium.key)
def test_a_large_page_is_parsed_once(medium: Medium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a form that shows 60 kB, from reading the files over checks, pages asked for twice, a HIT and the prompt."""
    parsed = Counter[str]()
    reader = markdown_reader.markdown_reader()

    class Counting:
        def parse(self, source: str, environment: dict[str, object]) -> object:
            parsed[source] += 1
            return reader.parse(source, environment)

    monkeypatch.setattr(markdown_reader, "markdown_reader", Counting)
    markdown_html.rendered.cache_clear()
    rows = [
        {"item_id": f"i{item}", "system": system, "output": output_of(item, system)}
        for item in range(4)
        for system in SYSTEMS
    ]
    if medium is CONVERSATION:
        rows = [{**row, "output": in_turns(row["output"])} for row in rows]
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study_file = tmp_path / "study.toml"
    study_file.write_text(STUDY.format(kind=medium.key))
    overview_of(study_file)
    _, _, form = made(study_file)
    assert sum(len(one.text) for one in shown_on(form)) >= 55_000
    texts = load_texts("en", {})
    client = TestClient(create_preview(form, texts))
    for _ in range(2):
        for page in form.pages:
            assert client.get(f"/p/{page.page_id}").status_code == 200
            minimum_seconds(page, 10.0)
        render_whole(form, texts)
        render_prompt(form).chat_messages("")
        estimate_effort(form)
    assert len(parsed) == 8 * (2 if medium is CONVERSATION else 1)
    assert set(parsed.values()) == {1}
