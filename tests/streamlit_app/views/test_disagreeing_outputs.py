"""What systems made of items on which elicitations disagree: every sample, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.monitoring.item_scores import ItemScore
from streamlit_app.views import systems
from tests.spa.study_files import long_rows, outputs_of


def test_every_sample_is_shown_and_lacking_ones_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = outputs_of(tmp_path, long_rows({f"i{n}": {"x": f"X {n}.", "y": f"Y {n}."} for n in range(2)}))
    (first,) = made.of("i0", "x")
    (lonely,) = made.of("i1", "y")
    cells = {("i0", "x"): (first, replace(first, sample=2, text="X again.")), ("i1", "y"): (lonely,)}
    score = ItemScore(source="ratings", group="human", value=4.0, n=3)
    lines: list[str] = []
    shown: list[str] = []
    page = SimpleNamespace(
        caption=lines.append, markdown=lines.append, number_input=lambda *_, **__: 1, columns=lambda n: [page] * n
    )
    loading = SimpleNamespace(
        workspace=lambda: SimpleNamespace(outputs=replace(made, cells=cells)),
        answers=lambda _: SimpleNamespace(tables=None),
        state=lambda: "",
    )
    names = SimpleNamespace(system=lambda one: f"System {one}", group=lambda one: one)
    monkeypatch.setattr(systems, "st", page)
    monkeypatch.setattr(systems, "loading", loading)
    monkeypatch.setattr(systems, "item_scores", lambda *_: {"i0": {"x": (score,)}, "i1": {"y": (score,)}})
    monkeypatch.setattr(systems, "show_material", lambda *_: None)
    monkeypatch.setattr(systems, "show_shown", lambda _, html, **__: shown.append(html))
    systems._outputs("x", "y", "overall", SimpleNamespace(names=names))  # type: ignore[arg-type]
    said = [line.replace("\\", "") for line in lines]
    assert [line for line in said if line.endswith("no output for this item.")] == [
        "System y: no output for this item.",
        "System x: no output for this item.",
    ]
    for title, text in (("System x, sample 1 of 2", "X 0."), ("System x, sample 2 of 2", "X again.")):
        assert title in shown[0]
        assert text in shown[0]
    assert shown[0].count("(n = 3) (all samples)") == 2
    assert "<h4>System y</h4>" in shown[1]
