"""Messages as a model on this machine reads them: its chat template where it has one, else the plain text."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from spa.errors import PlatformError
from spa.raters.endpoints.endpoint import mapping
from spa.raters.local.loading import LoadedModel

BETWEEN = "\n\n"  # messages, where a model has no chat template


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrompt:
    """What a model reads: the text, its tokens, and images where there are any.

    ``extra`` is what a vision model takes beside the tokens; ``images`` are the digests of what it sees.
    """

    text: str
    tokens: tuple[int, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[str, ...] = ()


def local_prompt(
    loaded: LoadedModel, messages: Sequence[Mapping[str, Any]], template: Mapping[str, Any] | None = None
) -> LocalPrompt:
    """Return the prompt for a model, of messages as chat endpoints take them, with variables for its chat template.

    Raise PlatformError if the model reads text only and there are images, if its chat template does not take these
    messages, or if they are longer than it can read.
    """
    template = {} if template is None else template
    images = [url for message in messages for url in image_urls(message)]
    if images and loaded.kind != "vision":
        raise PlatformError("expected a model that reads images for a study of images, got one that reads text only")
    if loaded.kind == "vision":
        prompt = _vision_prompt(loaded, messages, images, template)
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


def image_urls(message: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a message's images."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [str(mapping(part.get("image_url")).get("url")) for part in parts if part.get("type") == "image_url"]


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


def _vision_prompt(
    loaded: LoadedModel, messages: Sequence[Mapping[str, Any]], urls: Sequence[str], template: Mapping[str, Any]
) -> LocalPrompt:
    """Return the prompt of a vision model: what its processor makes of text and images."""
    processor = loaded.processor
    templated = bool(getattr(processor, "chat_template", None))
    if templated:
        text = _templated(processor, [{**one, "content": _parts(one)} for one in messages], template)
    else:
        mark = getattr(processor, "image_token", "<image>")
        text = BETWEEN.join(
            "".join(mark if part["type"] == "image" else part["text"] for part in _parts(one)) for one in messages
        )
    seen = [_image(url) for url in urls]
    made = processor(
        text=[text], images=seen or None, return_tensors="pt", add_special_tokens=not templated, verbose=False
    )
    tokens = tuple(made["input_ids"][0].tolist())
    extra = {name: value for name, value in made.items() if name not in ("input_ids", "attention_mask")}
    digests = tuple(sha256(url.encode()).hexdigest()[:16] for url in urls)
    return LocalPrompt(text=text, tokens=tokens, extra=extra, images=digests)


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content)}]
    return [{"type": "image"} if part["type"] == "image_url" else dict(part) for part in parts]


def _image(url: str) -> Any:
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        return image.convert("RGB")
