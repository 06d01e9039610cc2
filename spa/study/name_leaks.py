"""What tells annotators which system wrote an output: its name, and models that speak of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from spa.media import medium_of
from spa.records.materials import Material
from spa.records.outputs import Outputs
from spa.records.platforms import platforms_of
from spa.records.study import Study

SHOWN = 3  # names that a line lists
NUMBERED = re.compile(r"([^\W\d_]{3,}[\s_-]*\d[\w.]*)(?=[\s_-])")  # "Llama-3" of "Llama-3-8B-Instruct"
SAYS_I = r"(?:\b(?:I am|I[’']m|As|[Mm]y name is|[Cc]all me|I,)|我是|我叫|作为) ?"
KNOWN = re.compile(  # models and makers; those that are words, too, where a model speaks of itself
    r"(?<![A-Za-z])(?:ChatGPT|OpenAI|Anthropic|DeepMind|Google AI|Meta AI|Mistral AI|xAI|DeepSeek|Qwen|Tongyi|"
    r"GPT-?[345](?:\.5|o)?)(?![A-Za-z])|通义千问|文心一言|豆包"
    rf"|{SAYS_I}(?P<own>Claude|Gemini|Bard|Llama|Le Chat|Mistral|Grok|Copilot|Gemma|Vicuna|Alpaca|Kimi|Ernie)\b"
    r"(?! [A-Z])"
    r"|\b(?:model|assistant|AI|chatbot)\b[^.!?\n]{0,40}\b(?:created|made|developed|trained|built|designed) by (?:the )?"
    r"(?P<maker>[A-Z][\w.-]*\w(?: [A-Z][\w.-]*\w){0,3})"
)
FIRST_WORD = re.compile(r"[^\W\d_]{2,}")  # of a system's name: "Falcon" of "falcon-40b-instruct"


def name_leaks(study: Study, outputs: Outputs) -> Iterator[str]:
    """Warn of every place that names a system, unless ``allowed_names`` lets it; a single letter names nobody."""
    names = {
        name.casefold(): name
        for one in study.systems
        if one.role == "system"
        for name in (one.id, one.name)
        if name is not None and len(name) > 1
    }
    for allowed in study.allowed_names:
        names.pop(allowed.casefold(), None)
    made = [(one.system, one.item_id, _words_shown(one)) for one in outputs.all()]
    items = {item.item_id: _words_shown(item) for item in outputs.items}
    texts = {"item texts": [*items.values()], "outputs": [text for _, _, text in made]}
    texts["rubrics and references"] = [_words_shown(note) for note in outputs.item_notes.values()]
    for _, name in sorted(names.items()):
        word = _pattern(name)
        places = [place for place, text in _texts_shown(study) if word.search(text)]
        for what, searched in texts.items():
            if count := sum(1 for text in searched if word.search(text)):
                places.append(f"{count} {what}")
        if places:
            yield (
                f'"{name}", the name of a system, appears in {", ".join(places)}: annotators may recognise it; '
                f'change it, or set allowed_names = ["{name}"]'
            )
    yield from _told(study, names.values(), made, items)


def _told(
    study: Study, names: Iterable[str], made: Sequence[tuple[str, str, str]], items: Mapping[str, str]
) -> Iterator[str]:
    """Say which outputs name a model or its maker otherwise than by a system's whole name, and unasked."""
    whole = [_pattern(name) for name in names]
    words = {
        *(one.maker for one in study.systems if one.maker),
        *(one for name in names for one in NUMBERED.findall(name)),
    }
    parts = [(word, _pattern(word)) for word in sorted(words)]
    parts += [(word, _introduced(word)) for word in sorted(_first_words(study))]
    found: dict[str, list[tuple[str, str]]] = {}
    for system, item_id, text in made:
        known = [one["own"] or one["maker"] or one[0] for one in KNOWN.finditer(text)]
        spelled = {word.casefold(): word for word in (*(word for word, part in parts if part.search(text)), *known)}
        told = {*spelled.values()}
        asked = items[item_id].casefold()
        if not any(word.search(text) for word in whole):
            for word in sorted(told):
                if word.casefold() not in asked:
                    found.setdefault(word, []).append((system, item_id))
    if found:
        listed = [
            f"{word}, {len(own)} of {own[0][0]}" + ", ..." * (len({one for one, _ in own}) > 1)
            for word, own in found.items()
        ]
        told_in = {one for own in found.values() for one in own}
        yield (
            f"{len(told_in)} of {len(made)} outputs name a model or its maker ({'; '.join(listed[:SHOWN])}"
            f"{'; ...' * (len(listed) > SHOWN)}): annotators may recognise the system; change them"
        )


def _first_words(study: Study) -> set[str]:
    """Return the words with which names of systems begin, by which a model may call itself, unless they are let."""
    allowed = {name.casefold() for name in study.allowed_names}
    names = [name for one in study.systems if one.role == "system" for name in (one.id, one.name) if name]
    found = (FIRST_WORD.match(name) for name in names if name.casefold() not in allowed)
    return {one[0] for one in found if one is not None}


def _introduced(word: str) -> re.Pattern[str]:
    """Match a word where a text speaks of itself by it ("As Falcon, I"), in capitals as names are."""
    return re.compile(rf"{SAYS_I}(?![a-z])(?i:{re.escape(word)})(?![^\W_])(?! [A-Z])")


def _words_shown(shown: Material) -> str:
    """Return all that a text tells, without the addresses of files within it, which nobody is shown."""
    text = medium_of(shown).told(shown.text) if shown.text else ""
    for one in shown.within:
        text = text.replace(one.name, "")
    return text


def _pattern(name: str) -> re.Pattern[str]:
    """Match a name as a word of its own, however its parts are joined ("GPT-4", "gpt 4")."""
    parts = [re.escape(part) for part in re.split(r"[\s_-]+", name) if part] or [re.escape(name)]
    # Chinese, Japanese and Korean writing puts no spaces around a name.
    before, after = (r"(?<!\w)" if name[0] < "\u2e80" else "", r"(?!\w)" if name[-1] < "\u2e80" else "")
    return re.compile(before + r"[\s_-]*".join(parts) + after, re.IGNORECASE)


def _texts_shown(study: Study) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of all that the study file puts before an annotator, or an LLM."""
    yield "title", study.title
    yield "[outputs] item_name", study.outputs.item_name or ""
    yield "[instructions]", study.instructions.text or ""
    yield "[consent]", study.consent.text or ""
    for criterion in study.criteria:
        options = " | ".join(option.text for option in criterion.options)
        words = (criterion.name, criterion.question, criterion.low, criterion.high, criterion.guidelines, options)
        yield f"[[criteria]] {criterion.id}", " | ".join(one or "" for one in words)
    for key, section in study.sections.items():
        yield f"[{key}]", " | ".join(section.words())
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
            yield (
                f"[[raters]] {rater.id}",
                f"{variant.persona or ''} | {variant.explain_words or ''} | {variant.guidelines or ''}",
            )
    for platform in platforms_of(study):
        for key in platform.shown:
            yield f"[{platform.key}] {key}", str(study.platforms[platform.key].get(key, ""))
