"""Messages as a model on this machine reads them: its chat template where it has one, else the plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from spa.errors import PlatformError
from spa.media import model_files, sent_media
from spa.media.medium import ModelFiles
from spa.raters.local.model_folder import LoadedModel

BETWEEN = "\n\n"  # messages, where a model has no chat template


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrompt:
    """What a model reads: the text, its tokens, and files where there are any.

    ``extra`` is what a model with a processor takes beside the tokens; ``files`` are the digests of what it sees.
    """

    text: str
    tokens: tuple[int, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()


def local_prompt(
    loaded: LoadedModel, messages: Sequence[Mapping[str, Any]], template: Mapping[str, Any] | None = None
) -> LocalPrompt:
    """Return the prompt for a model, of messages as chat endpoints take them, with variables for its chat template.

    Raise PlatformError if the model reads text only and there are files, if its chat template does not take these
    messages, or if they are longer than it can read.
    """
    template = {} if template is None else template
    if (unread := unread_files(loaded, messages)) is not None:
        expected = f"a model that reads {unread} for a study of {unread}"
        raise PlatformError(f"expected {expected}, got one that {reads_instead(loaded)}")
    if loaded.processor is not None:
        prompt = _processed_prompt(loaded, messages, template)
    else:
        plain = [{**message, "content": _text(message)} for message in messages]
        templated = bool(getattr(loaded.tokenizer, "chat_template", None))
        text = _templated(loaded.tokenizer, plain, template) if templated else BETWEEN.join(m["content"] for m in plain)
        prompt = LocalPrompt(text=text, tokens=_tokens(loaded, text, templated=templated))
    if loaded.longest is not None and len(prompt.tokens) >= loaded.longest:
        raise PlatformError(
            f"a prompt is {len(prompt.tokens)} tokens long and the model reads {loaded.longest} at most; "
            'ask in parts (conversation = "question") or take another model'
        )
    return prompt


def unread_files(loaded: LoadedModel, messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what the messages hold and a model cannot read, such as "images"; ``None`` where it reads all of them."""
    types = {part["type"] for message in messages for part in _parts(message)}
    sent = ((medium, models) for medium, models in sent_media() if models.type in types)
    return next((medium.many for medium, models in sent if not _takes(loaded.processor, models)), None)


def reads_instead(loaded: LoadedModel) -> str:
    """Say what a model reads that does not read some files."""
    return "reads text only" if loaded.processor is None else "does not"


def _takes(processor: Any, models: ModelFiles) -> bool:
    """Return whether a processor, where there is one, takes in files of a medium."""
    parts = models.processor_parts
    return processor is not None and (not parts or any(getattr(processor, one, None) is not None for one in parts))


def _files_in(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[dict[str, Any], ModelFiles]]:
    """Yield the parts with files, each with how it goes to models."""
    for part in (part for message in messages for part in _parts(message)):
        if (models := model_files(part)) is not None:
            yield part, models


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return "".join(part["text"] for part in content) if isinstance(content, list) else str(content)


def _templated(cutter: Any, messages: Sequence[Mapping[str, Any]], template: Mapping[str, Any]) -> str:
    """Return the messages in the model's chat template, up to where its reply begins."""
    from jinja2 import TemplateError

    try:
        text: str = cutter.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True, **template)
    except TemplateError as error:
        raise PlatformError(f"the model's chat template does not take these messages ({error})") from error
    return text


def _tokens(loaded: LoadedModel, text: str, *, templated: bool) -> tuple[int, ...]:
    """Return the tokens of a text; a chat template has the marks of beginning and end in it already."""
    tokens: list[int] = loaded.tokenizer(text, add_special_tokens=not templated, verbose=False)["input_ids"]
    if loaded.kind == "causal" and not templated and tokens and tokens[-1] == loaded.tokenizer.eos_token_id:
        tokens = tokens[:-1]  # an end here would end the reply before it begins
    return tuple(tokens)


def _processed_prompt(
    loaded: LoadedModel, messages: Sequence[Mapping[str, Any]], template: Mapping[str, Any]
) -> LocalPrompt:
    """Return the prompt of a model that sees: what its processor makes of text and files."""
    processor = loaded.processor
    templated = bool(getattr(processor, "chat_template", None))
    if templated:
        text = _templated(processor, [{**one, "content": _template_parts(one)} for one in messages], template)
    else:
        text = BETWEEN.join("".join(_plain(processor, part) for part in _parts(one)) for one in messages)
    seen = list(_files_in(messages))
    files: dict[str, list[Any]] = {}
    options: dict[str, Any] = {}
    for part, models in seen:
        files.setdefault(models.processor_argument, []).append(models.decoded(part))
        options |= models.processor_options
    made = processor(
        text=[text], **files, **options, return_tensors="pt", add_special_tokens=not templated, verbose=False
    )
    tokens = tuple(made["input_ids"][0].tolist())
    extra = {name: value for name, value in made.items() if name not in ("input_ids", "attention_mask")}
    digests = tuple(sha256(json.dumps(part).encode()).hexdigest()[:16] for part, _ in seen)
    return LocalPrompt(text=text, tokens=tokens, extra=extra, files=digests)


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": str(content)}]


def _template_parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a message as chat templates take them."""
    parts = [(part, model_files(part)) for part in _parts(message)]
    return [dict(part) if models is None else {"type": models.processor_type} for part, models in parts]


def _plain(processor: Any, part: dict[str, Any]) -> str:
    """Return a part without a chat template: its text, or the mark in the place of which a file is seen."""
    if (models := model_files(part)) is None:
        return str(part["text"])
    return str(getattr(processor, f"{models.processor_type}_token", f"<{models.processor_type}>"))
