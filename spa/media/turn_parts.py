"""Parts of turns, and items among them: texts, pictures, calls of tools and their returns, as providers write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from spa.errors import shortened
from spa.media.pictures import named

PICTURES = frozenset(("image", "image_url", "input_image"))  # types of such parts
ADDRESSES = (  # keys to the path or the address
    ("image_url", "url"),  # OpenAI
    ("image_url",),
    ("source", "url"),  # Anthropic
    ("image",),  # transformers, with the next two
    ("url",),
    ("path",),
    ("file", "path"),  # Gradio
    ("fileData", "fileUri"),  # Gemini
    ("file_data", "file_uri"),
    ("uri",),  # OpenTelemetry
)
DATA = (("source", "data"), ("inlineData", "data"), ("inline_data", "data"), ("content",), ("image", "bytes"))
TYPES = ("mime_type", "mimeType", "media_type")
BESIDE = frozenset(("type", "detail", "modality", "orig_name", "alt_text", "size", "is_stream", "meta", *TYPES))
KNOWN = BESIDE | {path[0] for path in (*ADDRESSES, *DATA)}
Role = Literal["system", "user", "assistant", "tool"]
NO_CONTENT = frozenset(  # keys that say nothing to a reader
    "id status annotations logprobs provider_data finish_reason metadata options index tool_call_id tool_use_id "
    "call_id audio_metadata cache_control caller citations container container_id created_at diagnostics "
    "encrypted_content example execution expires_at internal_metadata model namespace part_metadata phase "
    "prompt_cache_breakpoint response_metadata scheduling signature speech_metadata stop_details stop_reason "
    "stop_sequence thought_signature thoughtSignature toolset_name usage usage_metadata will_continue "
    "willContinue async".split()
)
TEXTS = ("text", "input_text", "output_text", "summary_text", "refusal", "audio", "input_audio", "output_audio")
REASONING = ("reasoning", "thinking", "redacted_thinking", "reasoning_text")
SAID = ("text", "content", "refusal", "transcript")  # keys of the text of a part
NAMED = {"functionCall", "function_call", "toolCall", "tool_call", "executableCode", "executable_code"}  # of Gemini
RETURNED = {
    *("functionResponse", "function_response", "toolResponse", "tool_response"),
    *("codeExecutionResult", "code_execution_result"),
}
_BYTES = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,")
GIVEN = ("arguments", "input", "args", "parameters", "action", "actions", "queries", "code", "operation")
RESULTS = ("response", "output", "outputs", "content", "result", "results", "tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side says; or, of the assistant, that it calls a tool: ``call`` is its name, ``text`` the arguments.

    ``name`` says who of several with one role speaks.
    """

    role: Role
    text: str
    call: str | None = None
    name: str | None = None


def kept_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object says: without nulls, empty lists and objects, and keys that say nothing."""
    return {
        key: value
        for key, value in members.items()
        if value is not None and key not in NO_CONTENT and (value not in ([], {}) or key in SAID)
    }


def is_call(kind: object) -> bool:
    """Return whether a type is that of a call: "tool_use", "function_call", "web_search_call"."""
    return isinstance(kind, str) and (kind == "tool_call" or kind.endswith(("_call", "tool_use")))


def is_result(kind: object) -> bool:
    """Return whether a type is that of what a call returned: "tool_result", "function_call_output"."""
    return isinstance(kind, str) and kind.endswith(("_call_output", "tool_result", "tool_call_response"))


def part_turns(part: object, role: Role, place: str) -> Iterator[Turn]:
    """Yield a part of a turn, or an item: text, a call of a tool, its result; nothing of reasoning without words."""
    if isinstance(part, str):
        yield Turn(role=role, text=part)
        return
    if not isinstance(part, dict):
        raise ValueError(f"{place}: expected text, got {described(part)}")
    kept = kept_of(part)
    kind = kept.get("type", "text")
    if kind in REASONING or kept.get("thought"):
        _refuse_reasoning(kept, place)
        return
    try:
        picture = None if is_call(kind) or is_result(kind) else picture_of(kept)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if picture is not None:
        yield Turn(role=role, text=picture)
    elif (key := next((key for key in NAMED if isinstance(kept.get(key), dict)), None)) is not None:
        yield call_of(kept[key], place, named=key)
    elif (key := next((key for key in RETURNED if isinstance(kept.get(key), dict)), None)) is not None:
        yield _result(kept_of(kept[key]), place)
    elif is_call(kind):
        yield from _call_and_result(kept, str(kind), place)
    elif is_result(kind):
        yield _result({"content": "", **kept} if str(kind).endswith("tool_result") else kept, place)
    else:
        yield _text_part(kept, kind, role, place)


def _text_part(kept: dict[str, Any], kind: object, role: Role, place: str) -> Turn:
    kept = {key: value for key, value in kept.items() if key not in ("type", "thought")}
    if kind in TEXTS:
        given = kept.get("input_audio", kept.get("audio"))
        if isinstance(given, dict) and isinstance(given.get("transcript"), str):
            return Turn(role=role, text=given["transcript"])
        found = [key for key in SAID if isinstance(kept.get(key), str)]
        if len(found) == 1 and kept.keys() == {found[0]}:
            return Turn(role=role, text=kept[found[0]])
        if "transcript" in found and kept.keys() <= {"transcript", "audio"}:
            return Turn(role=role, text=kept["transcript"])
    raise ValueError(f"{place}: expected a part with text, a tool call or its result, got {_unlike(kept, kind)}")


def _unlike(kept: Mapping[str, Any], kind: object) -> str:
    if kind not in TEXTS:
        return f"type {described(kind)}"
    if "audio" in kept or "input_audio" in kept:
        return "sound without its transcript; write it as text"
    return f"type {described(kind)} with {described(kept)}"


def _refuse_reasoning(kept: Mapping[str, Any], place: str) -> None:
    """Refuse reasoning that has words: whether people see it is for the author of a study to say."""
    words = [kept.get(key) for key in ("summary", "content", "text", "thinking", "reasoning")]
    if any(word and word != [] for word in words):
        raise ValueError(
            f"{place}: expected what is said, got a model's reasoning; take it out, or write it as text where people "
            "are to read it"
        )


def call_of(call: object, place: str, named: str = "") -> Turn:
    """Return a call of a tool."""
    if not isinstance(call, dict):
        raise ValueError(f"{place}: expected a call with name and arguments, got {described(call)}")
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = inner.get("name") or inner.get("tool_type")
    if "ode" in named and not name:  # of Gemini, whose code has no name
        name = "code"
    if not isinstance(name, str) or not name:
        raise ValueError(f"{place}: expected the name of the tool, got {described(name)}")
    given = next((inner[key] for key in GIVEN if inner.get(key) is not None), "")
    return Turn(
        role="assistant", text=given if isinstance(given, str) else json.dumps(given, ensure_ascii=False), call=name
    )


def _call_and_result(kept: dict[str, Any], kind: str, place: str) -> Iterator[Turn]:
    """Yield a call, which an item may name by its type, and what it returned, where that stands in the item."""
    own = kind.removesuffix("_call")
    if not kept.get("name") and not isinstance(kept.get("function"), dict):
        if own in ("function", "tool", "tool_use", "custom_tool", "mcp"):
            raise ValueError(f"{place}: expected the name of the tool, got {described(kept.get('name'))}")
        kept = {**kept, "name": own}
    yield call_of(kept, place)
    if kind == "image_generation_call":
        raise ValueError(f"{place}: expected a picture's path, got its bytes; write them to a file beside the table")
    found: dict[str, Any] = {
        key: kept[key] for key in ("output", "outputs", "result", "results", "error") if key in kept
    }
    if found:
        yield _result(found, place)


def _result(kept: Mapping[str, Any], place: str) -> Turn:
    found = next((kept[key] for key in RESULTS if key in kept), None)
    if found is None and "error" in kept:
        found = kept["error"]
    text = text_of(found, place)
    return Turn(role="tool", text=f"(error) {text}" if kept.get("is_error") else text)


def text_of(result: object, place: str) -> str:
    """Return a tool's result as text: of parts their text and pictures, of anything else JSON."""
    if isinstance(result, str):
        return result
    if result is None:
        raise ValueError(f"{place}: expected a tool's result, got nothing")
    if isinstance(result, list) and result and all(isinstance(one, dict) for one in result):
        kept = [kept_of(one) for one in result]
        try:
            texts = [picture_of(one) or _plain(one) for one in kept]
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        if all(text is not None for text in texts):
            return "\n".join(text for text in texts if text is not None)
    text = json.dumps(result, ensure_ascii=False)
    if _BYTES.search(text):
        raise ValueError(
            f"{place}: expected a tool's result, got a file's bytes; write them to a file beside the table"
        )
    return text


def _plain(part: Mapping[str, Any]) -> str | None:
    text = part.get("text")
    return text if isinstance(text, str) and part.keys() <= {"type", "text"} else None


def described(value: object) -> str:
    """Return what a message says was found."""
    names = {dict: "an empty object", list: "a list" if value else "an empty list", type(None): "nothing"}
    if isinstance(value, dict) and value:
        return f"an object with {shortened(', '.join(map(str, value)), 80)}"
    return names.get(type(value)) or shortened(repr(value), 60)


def picture_of(part: Mapping[str, Any]) -> str | None:
    """Return how Markdown shows the picture of a part; ``None`` of a part that is none.

    Raise ValueError where it holds bytes, or no address, or what is not known.

    >>> picture_of({"type": "image_url", "image_url": {"url": "a.png"}}), picture_of({"type": "text", "text": "a"})
    ('![](<a.png>)', None)
    """
    if not _is_picture(part):
        return None
    address = next((one for path in ADDRESSES if isinstance(one := _at(part, path), str)), None)
    if any(_at(part, path) is not None for path in DATA) or (address or "").startswith("data:"):
        raise ValueError("expected a picture's path, got its bytes (base64); write them to a file beside the table")
    if unknown := [key for key in part if key not in KNOWN]:
        raise ValueError(f"expected a picture with its path, got the key {shortened(repr(unknown[0]), 40)}")
    if not address:
        raise ValueError(f"expected a picture with its path, got type {shortened(repr(part.get('type')), 40)} without")
    inner = part.get("file")
    words = part.get("alt_text") or (inner.get("alt_text") if isinstance(inner, Mapping) else None)
    return named(address, str(words or ""))


def _is_picture(part: Mapping[str, Any]) -> bool:
    inside = (part.get(key) for key in ("file", "fileData", "file_data", "inlineData", "inline_data"))
    types = [one.get(key) for one in (part, *inside) if isinstance(one, Mapping) for key in TYPES]
    by_type = any(isinstance(one, str) and one.startswith("image/") for one in types)
    return part.get("type") in PICTURES or part.get("modality") == "image" or by_type


def _at(part: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        part = part.get(key) if isinstance(part, Mapping) else None
    return part
