"""Where annotators would read which system they judge: in the study's own words, in items and in outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spa.study.outputs import Outputs
from spa.study.study import Study

OFFERED = ("title", "description", "keywords")  # keys of [prolific] and [mturk] that people read


def find_name_leaks(study: Study, outputs: Outputs) -> Iterator[str]:
    """Tell every place that names a system, unless ``allowed_names`` lets it; a single letter names nobody."""
    names = {
        name.casefold(): name
        for one in study.systems
        if one.role == "system"
        for name in (one.id, one.name)
        if name is not None and len(name) > 1
    }
    for allowed in study.allowed_names:
        names.pop(allowed.casefold(), None)
    for _, name in sorted(names.items()):
        word = _pattern(name)
        places = [place for place, text in _words(study) if word.search(text)]
        texts = {"item texts": [item.text for item in outputs.items], "outputs": [one.text for one in outputs.all()]}
        for what, searched in texts.items():
            if count := sum(1 for text in searched if word.search(text or "")):
                places.append(f"{count} {what}")
        if places:
            yield (
                f'"{name}", the name of a system, appears in {", ".join(places)}: annotators may recognise it; '
                f'change it, or set allowed_names = ["{name}"]'
            )


def _pattern(name: str) -> re.Pattern[str]:
    """Match a name as a word of its own, however its parts are joined ("GPT-4", "gpt 4")."""
    parts = [re.escape(part) for part in re.split(r"[\s_-]+", name) if part] or [re.escape(name)]
    # Chinese, Japanese and Korean writing puts no spaces around a name.
    before, after = (r"(?<!\w)" if name[0] < "\u2e80" else "", r"(?!\w)" if name[-1] < "\u2e80" else "")
    return re.compile(before + r"[\s_-]*".join(parts) + after, re.IGNORECASE)


def _words(study: Study) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of all that the study file puts before an annotator, or an LLM."""
    yield "title", study.title
    yield "[instructions]", study.instructions.text or ""
    yield "[consent]", study.consent.text or ""
    for criterion in study.criteria:
        options = " | ".join(option.text for option in criterion.options)
        words = (criterion.name, criterion.question or "", criterion.guidelines or "", options)
        yield f"[[criteria]] {criterion.id}", " | ".join(words)
    for table, scale in (("likert", study.likert), ("continuous", study.continuous)):
        yield f"[{table}]", f"{scale.low or ''} | {scale.high or ''}" if scale is not None else ""
    for question in study.screening:
        yield f"[[screening]] {question.id}", " | ".join((question.question, *question.options))
    for interview in study.interview:
        yield f"[[interview]] {interview.id}", interview.question
    for check in study.attention_checks:
        yield f"[[attention_checks]] {check.id}", " | ".join((check.question, *check.options))
    for key, text in study.texts.items():
        yield f"[texts] {key}", text
    for rater in study.raters:
        for variant in (rater, *rater.variants):
            yield f"[[raters]] {rater.id}", f"{variant.persona or ''} | {variant.guidelines or ''}"
    for platform, table_of in study.bridges.items():
        for key in OFFERED:
            yield f"[{platform}] {key}", str(table_of.get(key, ""))
