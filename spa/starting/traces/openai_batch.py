"""Files of batches in the layout of OpenAI: what was asked and what came back, joined by ``custom_id``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from spa.starting.traces.layout import Placed, TraceTool, at, word
from spa.starting.traces.turns import Json
from spa.tables.paths import as_text

ASKED = ("messages", "input", "prompt")
NOT_ANSWERED = "no line of any file answers it"


def _joined(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield the answers with their requests, and the requests that nothing answers as failed.

    Ids may stand in several batches, one a model: then the request is that to the model that answered. Where requests
    of one id still differ, neither prompt nor id is known.
    """
    listed = list(records)
    asked: dict[str | None, list[Placed]] = {}
    for one in listed:
        if "body" in one.record:
            asked.setdefault(word(one.record, ("custom_id",)), []).append(one)
    used: set[int] = set()
    for one in listed:
        if "body" in one.record:
            continue
        same = asked.get(word(one.record, ("custom_id",)), [])
        model = word(one.record, ("response.body.model",)) or ""
        to_model = [
            asking
            for asking in same
            if (sent := word(asking.record, ("body.model",))) is not None and model.startswith(sent)
        ]
        to_model = _longest(to_model)
        fits = to_model or same
        used |= {id(asking) for asking in fits}
        if len({_question(asking) for asking in fits}) > 1:
            yield Placed(one.place, {key: value for key, value in one.record.items() if key != "custom_id"})
        elif fits:
            certain = len(to_model) == 1 or len(same) == 1
            request = fits[0].record if certain else _without_model(fits[0].record)
            yield Placed(one.place, {**one.record, "request": request})
        else:
            yield one
    answered = len(listed) - sum(map(len, asked.values()))
    for one in (one for group in asked.values() for one in group if answered and id(one) not in used):
        known = {"custom_id": one.record.get("custom_id"), "request": one.record, "error": NOT_ANSWERED}
        yield Placed(one.place, known)


def _longest(requests: list[Placed]) -> list[Placed]:
    """Return the requests to the model with the longest name of those with which the answering one's begins."""
    longest = max((len(word(one.record, ("body.model",)) or "") for one in requests), default=0)
    return [one for one in requests if len(word(one.record, ("body.model",)) or "") == longest]


def _question(request: Placed) -> str:
    return str(as_text([at(request.record, f"body.{key}") for key in ASKED]))


def _without_model(record: Mapping[str, Json]) -> dict[str, Json]:
    body = record.get("body")
    kept = {key: value for key, value in body.items() if key != "model"} if isinstance(body, dict) else body
    return {**record, "body": kept}


TOOL = TraceTool(
    name="batch of OpenAI",
    signs=(("custom_id",), ("response", "error", "body"), ("method", "url", "response", "error")),
    status=("response.status_code",),
    errors=("error",),
    given=tuple(f"request.body.{key}" for key in ASKED),
    made=("response.body",),
    systems=("request.body.model", "response.body.model"),
    answered_by=("response.body.model",),
    facts=("request.body.metadata",),
    items=("custom_id",),
    unrolled=_joined,
)
