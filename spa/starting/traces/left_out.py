"""What was left out of traces, counted by its kind, in the words of a reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

RECORDING = (  # "true" alone writes texts into logs beside the spans
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
)
LEFT_OUT = {  # kind of what was left out: what one is called, and several
    "inner": ("inner span", "inner spans"),
    "failed": ("failed try", "failed tries"),
    "fallbacks": (
        "fallback: an answer of a second system within one request",
        "fallbacks: answers of a second system within one request",
    ),
    "other": (
        "span that answers nobody, such as an embedding or a tool",
        "spans that answer nobody, such as embeddings and tools",
    ),
    "silent": ("span that holds no text", "spans that hold no text"),
    "twice": ("span that stands there twice", "spans that stand there twice"),
    "no text": ("answer without a text, such as a call of a tool", "answers without a text, such as calls of tools"),
    "choices": (
        "further choice of a request that asked for several",
        "further choices of requests that asked for several",
    ),
    "several systems": (
        "answer to which several systems contributed",
        "answers to which several systems contributed",
    ),
    "no system": ("answer of which no system is known", "answers of which no system is known"),
    "no prompt": ("answer without a prompt", "answers without a prompt"),
    "repeats": (
        "repeated answer of one system to one prompt",
        "repeated answers of one system to one prompt",
    ),
}


def left_out_lines(left: Mapping[str, int]) -> Iterable[str]:
    """Yield a line for each kind of what was left out."""
    for kind, (one, several) in LEFT_OUT.items():
        if count := left[kind]:
            yield f"{count:,} {one if count == 1 else several}"
    if count := left["traces without a root"]:
        traces, spans = "trace" if count == 1 else "traces", left["of those"]
        yield f"{count:,} {traces} without a root span ({spans:,} span{'s' * (spans > 1)}): sampled or cut off"


def nothing_answered(left: Mapping[str, int]) -> str:
    """Say what traces without any answer hold, and what to do."""
    lines = "; ".join(left_out_lines(left)) or "no request"
    advice = "; export whole traces, the root spans among them" if left["traces without a root"] else ""
    if left["silent"]:
        advice = f"; let the tool record texts in its spans, as OpenTelemetry does with {RECORDING}"
    return f"expected requests that were answered with a text, got none ({lines}){advice}"
