"""A vendor: an oracle in this process. Its replies have a shape of their own, and a batch is handed in at one go."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from spa.journal import Journal, JournalEntry
from spa.media import recorded
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, ReplyFormat, mapping, read_reply
from spa.raters.vendors.batches import EndedBatch, SubmittedBatch
from spa.raters.vendors.vendor import Vendor
from spa.records.problems import StudyProblem, mistake
from spa.records.raters import Rater, RaterProtocol

ENDS = {"whole": "answered", "declined": "refused", "cut": "truncated"}


def read(found: Mapping[str, Any], body: str) -> LLMReply:
    """Read what the oracle says; its tokens are breaths."""
    said = mapping(found["says"][0])
    return LLMReply(
        outcome=ENDS[said["ends"]],
        body=body,
        text=said["words"] or "",
        detail=said.get("because", ""),
        prompt_tokens=found["breaths"]["in"],
        completion_tokens=found["breaths"]["out"],
        model=found["oracle"],
    )


REPLIES = ReplyFormat(
    recognises=lambda found: "oracle" in found,
    read=read,
    texts=lambda found: [said["words"] for said in found["says"]],
    tokens=lambda found: found["says"][0].get("tokens", []),
    split=lambda found: [{**found, "says": [said]} for said in found["says"]],
)


class OracleEndpoint:
    """Answers every question with its first option, or its highest number."""

    def __init__(self, rater: Rater) -> None:
        self.rater = rater
        self.asked: list[LLMRequest] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    @property
    def shown(self) -> str:
        """Where it is."""
        return "the oracle"

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return what it hears."""
        return {"hears": list(request.messages), "form": request.schema, "voice": self.rater.model}

    def record(self, request: LLMRequest) -> str:
        """Return what it hears, for the journal."""
        return json.dumps({"messages": [recorded(message) for message in request.messages], "parameters": {}})

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Answer."""
        return read_reply(self.answer(self.body(request)), lambda found: REPLIES)

    def answer(self, body: Mapping[str, Any]) -> str:
        """Return the oracle's reply."""
        form = body["form"] or {"properties": {}}
        words = json.dumps({name: first(kind) for name, kind in form["properties"].items()})
        says = [{"words": words, "ends": "whole"}]
        breaths = {"in": len(json.dumps(body["hears"])) // 4, "out": len(words) // 4}
        return json.dumps({"oracle": body["voice"], "says": says, "breaths": breaths})


def first(kind: Mapping[str, Any]) -> object:
    return kind["enum"][0] if "enum" in kind else kind.get("maximum", "Because.")


class OracleBatches:
    """Batches that are answered over night: a second run finds them."""

    kept: ClassVar[dict[str, bytes]] = {}  # by their hash, as long as the process lives

    def __init__(self, endpoint: OracleEndpoint, journal: Journal) -> None:
        self._endpoint, self._journal = endpoint, journal

    def content(self, requests: Sequence[tuple[str, LLMRequest]]) -> bytes:
        """Return one object with all requests."""
        return json.dumps({name: self._endpoint.body(request) for name, request in requests}).encode()

    async def submit(self, call: JournalEntry, digest: str, content: bytes) -> None:
        """Hand a batch in."""
        self.kept[digest] = content
        self._journal.finish(call, "ok", id=digest)

    async def look(self, batch: SubmittedBatch) -> EndedBatch | None:
        """Return the batch, which is answered by now."""
        there = batch.digest in self.kept
        return EndedBatch(status="completed" if there else "not_sent", batch_id=batch.digest, results=(batch.digest,))

    async def fetch(self, ended: EndedBatch) -> dict[str, LLMReply]:
        """Return the replies."""
        bodies = json.loads(self.kept.get(ended.batch_id, b"{}"))
        answers = {name: self._endpoint.answer(body) for name, body in bodies.items()}
        return {name: read_reply(body, lambda found: REPLIES) for name, body in answers.items()}


def open_oracle(rater: Rater, *, timeout: float, folder: Path, keep: bool) -> OracleEndpoint:
    return OracleEndpoint(rater)


def problems(place: str, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    """Refuse personas: an oracle speaks for itself."""
    if protocol.persona is not None:
        yield mistake(f"{place}, persona", "none: an oracle speaks for itself", "one", "remove it")


ORACLE = Vendor(
    key="oracle",
    about="an oracle",
    open=open_oracle,
    replies=REPLIES,
    refused_keys={"temperature": "none: an oracle does not waver"},
    problems=problems,
    probed=False,
    batch_key="oracle-batch",
    batch_about="an oracle, over night",
    batches=OracleBatches,
)
