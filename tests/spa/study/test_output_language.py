"""Languages of outputs: what is said, else what most letters tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spa.study.load import load_study
from spa.study.output_language import language_of, script_of
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings

TEXTS = {
    "en": "Words of a text.",
    "zh": "这是一篇文章。",
    "ja": "これは文章です。",
    "ko": "이것은 글입니다.",
    "ar": "هذا نص قصير.",
    "ru": "Это короткий текст.",
    "th": "นี่คือข้อความ",
}


@pytest.mark.parametrize(
    ("text", "script"),
    [*((text, "latin" if name == "en" else name) for name, text in TEXTS.items()), ("12 % (3)", None), ("", None)],
)
def test_script_is_that_of_most_letters(text: str, script: str | None) -> None:
    assert script_of(text) == script
    assert script_of(f"BLEU {text} {text} {text}") == (script or "latin")


@pytest.mark.parametrize(
    ("form", "outputs", "said", "language"),
    [
        ("en", "en", None, "en"),
        ("en", "zh", None, "zh"),
        ("en", "ja", None, "ja"),
        ("zh", "zh", None, "zh"),
        ("zh", "en", None, "und"),
        ("ar", "ar", None, "ar"),
        ("zh", "en", "de", "de"),
        ("en", "zh", "zh-Hant", "zh-Hant"),
    ],
)
def test_language_of_outputs(form: str, outputs: str, said: str | None, language: str, tmp_path: Path) -> None:
    """Letters from the left under a form in another script may be of any language."""
    rows = [
        {"item_id": str(item), "system": system, "output": f"{TEXTS[outputs]} {item} {number}"}
        for item in range(5)
        for number, system in enumerate(("alpha", "beta"))
    ]
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    key = "" if said is None else f'language = "{said}"\n'
    path = tmp_path / "study.toml"
    path.write_text(
        f'id = "s"\ntitle = "S"\nlanguage = "{form}"\n[outputs]\nfiles = ["outputs.jsonl"]\n{key}'
        '[[systems]]\nid = "alpha"\n[[systems]]\nid = "beta"\n[likert]\n'
    )
    study = load_study(path)
    found = load_outputs(study)
    assert language_of(study, found) == language
    told = [line for line in study_warnings(study, found) if "metrics go by the outputs" in line]
    assert len(told) == (said is None and language != form)
