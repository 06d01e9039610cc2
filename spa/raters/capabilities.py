"""Whether an endpoint supports what a rater uses, found out with a few tiny requests.

Some servers accept a parameter and ignore it. Only their answers show it; these are kept in the journal, so that a
rater is probed once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from spa.elicitation.ratings import RatingTarget
from spa.errors import PlatformError
from spa.journal import Journal, JournalEntry
from spa.media.medium import Medium
from spa.raters.budget import RaterBudget
from spa.raters.endpoints.absences import NO_FILES
from spa.raters.endpoints.absences import OUTCOMES as ABSENT
from spa.raters.endpoints.endpoint import LLMEndpoint, LLMReply, LLMRequest, mapping
from spa.raters.endpoints.failures import failure_message, remedy_for
from spa.raters.vendors import provider_here, read_body, texts_of, top_tokens, vendor_of
from spa.records.form import AnswerOption, Question
from spa.records.raters import Rater, RaterProtocol, RaterVariant
from spa.widgets import OptionsAnswer

KIND = "llm-capability"
MAX_REQUESTS = 6  # requests
SKIPPED = "skipped"
INFORMATIVE = ("answered", "truncated", "refused", *ABSENT, "http_400", "http_422")  # of an outcome
TOKENS = 16  # of an answer: the least that every API takes
SEED = 11
IMPROBABLE = "K7-mauve"  # what nobody answers who is not held to the schema
NUMBER = "Write one random number of twelve digits and nothing else."
GREET = [{"role": "user", "content": "Greet me in one word, in plain text."}]
GREETED = [*GREET, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And now in Spanish."}]
RANDOM = [{"role": "user", "content": NUMBER}]
SCHEMA_QUESTION = Question(
    question_id="answer",
    text="",
    answer=OptionsAnswer(options=(AnswerOption(value=IMPROBABLE, text=IMPROBABLE),)),
    target=RatingTarget(label="A", item_id="probe", sample=0, criterion="probe", elicitation="category"),
)
FREE: dict[str, Any] = {"answer_format": "text", "conversation": "question"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an endpoint does with what it is sent: "yes", "ignored", "refused", or "unknown" where it is not seen."""

    schema: str = "unknown"
    temperature: str = "unknown"  # whether samples at temperature 1 differ
    seed: str = "unknown"  # whether samples with one seed are equal
    top_p: str = "unknown"
    logprobs: str = "unknown"
    several: str = "unknown"  # samples in one response (n)
    usage: str = "unknown"
    sees: str = "unknown"  # whether it takes in files such as the study shows
    model: str | None = None  # as the endpoint names it
    requests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One tiny request."""

    key: str
    request: LLMRequest


def probes_for(rater: Rater, variants: Sequence[RaterVariant]) -> Iterator[Probe]:
    """Yield the requests that show what the variants rely on, at most six."""
    vendor = vendor_of(rater)
    used = [asked.protocol for asked in variants]
    put, draw = partial(_tiny_request, used[0]), partial(_tiny_request, used[0], RANDOM, temperature=1.0)
    if any(protocol.answer_format == "schema" for protocol in used):
        yield Probe(key="schema", request=put(GREET, answer_format="schema", tokens=4 * TOKENS, held=True))
    if any(protocol.readout == "logit" for protocol in used):
        talk = GREETED if any(protocol.reasoned for protocol in used) else GREET  # after a reply of its own
        yield Probe(key="logprobs", request=put(talk, readout="logit"))
    values: dict[str, Any] = {"seed": SEED, "top_p": 1e-6}
    for name, value in values.items():
        if any(getattr(protocol, name) is not None for protocol in used) and name not in vendor.refused_keys:
            yield Probe(key=name, request=draw(**{name: value}))
            yield Probe(key=f"{name} again", request=draw(**{name: value}))
    yield Probe(key="sample", request=draw(samples=2 if vendor.several else 1))
    yield Probe(key="sample again", request=draw())


def _sight(variants: Sequence[RaterVariant], medium: Medium | None) -> Iterator[Probe]:
    """Yield the requests that show whether a model takes in the files of a medium: the same words with one, without."""
    if medium is not None and medium.files is not None and medium.files.models is not None:
        frames = medium.files.models.frames is not None and variants[0].protocol.frames_per_second is not None
        if medium.files.models.trial is None or frames:
            return
        part, asked, _ = medium.files.models.trial()
        messages = [{"role": "user", "content": [part, {"type": "text", "text": asked}]}]
        yield Probe(key="sees", request=_tiny_request(variants[0].protocol, messages, tokens=4 * TOKENS))
        words = [{"role": "user", "content": [{"type": "text", "text": asked}]}]
        yield Probe(key="blind", request=_tiny_request(variants[0].protocol, words, tokens=4 * TOKENS))


def _tiny_request(
    own: RaterProtocol,
    messages: list[dict[str, Any]],
    *,
    held: bool = False,
    tokens: int = TOKENS,
    samples: int = 1,
    **keys: Any,
) -> LLMRequest:
    """Return a request with the rater's own words to the endpoint beside what is tried."""
    limit = "max_tokens" if own.max_completion_tokens is None else "max_completion_tokens"
    kept = {"reasoning_effort": own.reasoning_effort, "extra_body": own.extra_body}
    protocol = RaterProtocol().model_copy(update={**FREE, **kept, limit: tokens, **keys})
    questions = (SCHEMA_QUESTION,) if held else ()
    return LLMRequest(messages=tuple(messages), questions=questions, protocol=protocol, samples=samples)


def probe(
    endpoint: LLMEndpoint,
    variants: Sequence[RaterVariant],
    journal: Journal,
    rater_budget: RaterBudget,
    *,
    again: bool = False,
    medium: Medium | None = None,
) -> Capabilities:
    """Return what an endpoint, not opened yet, does: from the journal where it was probed before and not ``again``.

    ``medium`` is that of the outputs: whether the model takes in its files is found out too.

    Raise PlatformError if it refuses for a reason that holds for every request, or the budget is reached.
    """
    scope = scope_of(endpoint)

    async def send_probes() -> int:
        sent = 0
        async with endpoint:
            of_settings = list(probes_for(endpoint.rater, variants))[:MAX_REQUESTS]
            for trial in (*_sight(variants, medium), *of_settings):
                if again or not any(map(_is_informative, journal.calls(KIND, scope, trial.key))):
                    sent += 1
                    await _try(endpoint, trial, journal, rater_budget)
        return sent

    requests = asyncio.run(send_probes())
    calls = {call.key: call for call in journal.calls(KIND, scope) if _is_informative(call)}
    return read_capabilities(calls, requests=requests, medium=medium)


async def _try(endpoint: LLMEndpoint, trial: Probe, journal: Journal, rater_budget: RaterBudget) -> None:
    reserved = rater_budget.reserve(50, TOKENS)
    if reserved is None:
        raise PlatformError(f"rater {endpoint.rater.id!r}: the budget does not hold a request of the probe")
    body = json.dumps(endpoint.body(trial.request), sort_keys=True)
    begun = journal.begin(KIND, scope_of(endpoint), trial.key, body)
    reply = await endpoint.ask(trial.request)
    journal.finish(begun, reply.outcome, response=reply.body, **rater_budget.pay(reserved, reply))
    if remedy_for(reply.outcome).hopeless and reply.outcome not in ABSENT:
        raise PlatformError(failure_message(reply, endpoint.rater, endpoint.shown))


def scope_of(endpoint: LLMEndpoint) -> str:
    """Return what a probe holds for: this rater, model and address."""
    return f"{endpoint.rater.id}/{endpoint.rater.provider} {endpoint.rater.model} {endpoint.shown}"


def skip(endpoint: LLMEndpoint, journal: Journal) -> None:
    """Write down that the endpoint was not probed."""
    journal.finish(journal.begin(KIND, scope_of(endpoint), SKIPPED, "{}"), SKIPPED)


def _is_informative(call: JournalEntry) -> bool:
    """Return whether a call shows anything: an answer of no words does not, and is asked for again by the next run."""
    if call.outcome == "answered" and call.response is not None:
        reply = read_body(call.response)
        return bool(reply.text.strip()) or _has_probabilities(reply)
    return call.outcome in INFORMATIVE


def read_capabilities(
    calls: dict[str, JournalEntry], *, requests: int = 0, medium: Medium | None = None
) -> Capabilities:
    """Read what an endpoint does from the last response to each trial, by key."""
    bodies = {key: call.response or "" for key, call in calls.items() if call.outcome in ("answered", "truncated")}
    replies = {key: read_body(body) for key, body in bodies.items()}
    texts = {key: tuple(texts_of(reply)) for key, reply in replies.items()}
    drawn = [text for key in ("sample", "sample again", "seed") for text in texts.get(key, ())]
    varies = None if len(drawn) < 2 else len(set(drawn)) > 1
    return Capabilities(
        schema=_schema_support(calls.get("schema"), replies.get("schema")),
        temperature=_refused(calls, "temperature") or ("unknown" if varies is None else _support(varies)),
        seed=_refused(calls, "seed") or _same_samples(texts, "seed", "seed again", varies),
        top_p=_refused(calls, "top_p") or _same_samples(texts, "top_p", "top_p again", varies),
        logprobs=_refused(calls, "logprobs")
        or ("unknown" if "logprobs" not in replies else _support(_has_probabilities(replies["logprobs"]))),
        several="unknown" if "sample" not in texts else _support(len(texts["sample"]) > 1),
        usage="unknown" if not replies else _support(all(one.prompt_tokens is not None for one in replies.values())),
        model=next((reply.model for reply in replies.values() if reply.model), None),
        requests=requests,
        sees=_sees(calls.get("sees"), replies, medium),
    )


def _refused(calls: Mapping[str, JournalEntry], name: str) -> str | None:
    return "refused" if any(call.outcome == f"no_{name}" for call in calls.values()) else None


def _sees(call: JournalEntry | None, replies: Mapping[str, LLMReply], medium: Medium | None) -> str:
    if call is not None and (call.outcome == NO_FILES or call.outcome.startswith("http_")):
        return "refused"
    reply, blind = replies.get("sees"), replies.get("blind")
    models = None if medium is None or medium.files is None else medium.files.models
    if models is None or models.trial is None or reply is None or not reply.text.strip():
        return "unknown"
    *_, word = models.trial()
    if word in re.findall(r"\w+", reply.text.lower()):
        return "yes"
    dropped = blind is not None and reply.prompt_tokens is not None and reply.prompt_tokens == blind.prompt_tokens
    return "dropped" if dropped else "ignored"


def _support(seen: bool) -> str:
    return "yes" if seen else "ignored"


def _schema_support(call: JournalEntry | None, reply: LLMReply | None) -> str:
    if call is not None and call.outcome == "no_schema":
        return "refused"
    if reply is None:
        return "unknown"
    try:
        return _support(json.loads(reply.text) == {SCHEMA_QUESTION.question_id: IMPROBABLE})
    except ValueError:  # a thinking model may have had no room to answer
        return "unknown" if reply.outcome == "truncated" else "ignored"


def _same_samples(texts: dict[str, tuple[str, ...]], first: str, second: str, varies: bool | None) -> str:
    """Return whether two samples are equal; it shows nothing where all samples are."""
    one, other = texts.get(first), texts.get(second)
    if not one or not other or not varies:
        return "unknown"
    return _support(one[0] == other[0])


def _has_probabilities(reply: LLMReply) -> bool:
    body = mapping(json.loads(reply.body or "{}"))
    return any(token.get("top_logprobs") for token in top_tokens(body))


def problems(
    capabilities: Capabilities, rater: Rater, variants: Iterable[RaterVariant], shown: str, medium: Medium | None = None
) -> tuple[list[str], list[str]]:
    """Return what the rater cannot do without (errors) and what is to be known (warnings), a line each."""
    used = [asked.protocol for asked in variants]
    place = f"rater {rater.id!r}: {shown}"
    again = "; if the server has changed since, run the command with --probe"
    errors, warnings = [], []
    if any(protocol.answer_format == "schema" for protocol in used) and capabilities.schema in ("ignored", "refused"):
        does = "rejects JSON schemas" if capabilities.schema == "refused" else "accepts a JSON schema but ignores it"
        errors.append(f'{place} {does} (response_format); set answer_format = "json" in the rater{again}')
    if any(protocol.readout == "logit" for protocol in used) and capabilities.logprobs == "ignored":
        instead = 'set readout = "verbalised" (with answer_format = "json"), or run the model here'
        errors.append(f'{place} accepts logprobs but returns none; {instead} (provider = "{provider_here()}"){again}')
    files = "files" if medium is None else medium.many
    if capabilities.logprobs == "refused" and any(protocol.readout == "logit" for protocol in used):
        errors.append(f'{place} refuses logprobs; set readout = "verbalised" (with answer_format = "json"){again}')
    if capabilities.sees == "refused":
        start = "start the server with its projector (--mmproj)"
        errors.append(f"{place} refuses {files}; name a model that takes {files}, or {start}{again}")
    if capabilities.sees == "dropped":
        errors.append(
            f"{place} takes {files} and does not read them (as many prompt tokens with one as without); name a model "
            f"that reads {files}{again}"
        )
    if capabilities.sees == "ignored":
        warnings.append(
            f"{place} answers without a look: it may take in no {files}; read its first answers (--limit 1)"
        )
    temperatures = sorted({protocol.temperature for protocol in used if protocol.temperature is not None})
    if capabilities.temperature == "ignored" and len(temperatures) > 1:
        listed = ", ".join(f"{one:g}" for one in temperatures)
        errors.append(
            f"{place} ignores temperature: variants at {listed} would all be asked at its default; keep one{again}"
        )
    elif capabilities.temperature == "ignored" and any(
        protocol.temperature or protocol.repeats > 1 for protocol in used
    ):
        why = "samples at temperature 1 are identical, so repeats add no information"
        warnings.append(f"{place} ignores temperature: {why}")
    for name in ("temperature", "seed", "top_p"):
        asked = [getattr(protocol, name) for protocol in used if getattr(protocol, name) is not None]
        if asked and getattr(capabilities, name) == "refused":
            errors.append(
                f"{place} takes no {name}; remove it from the rater and its variants ({name} = {asked[0]:g}){again}"
            )
    for name in ("seed", "top_p"):
        if any(getattr(protocol, name) is not None for protocol in used) and getattr(capabilities, name) == "ignored":
            warnings.append(f"{place} accepts {name} but ignores it")
    if capabilities.usage == "ignored":
        warnings.append(f"{place} does not report token counts; costs are estimates")
    return errors, warnings


def as_record(capabilities: Capabilities | None) -> dict[str, Any]:
    """Return what is printed as JSON; where the probe was skipped, that."""
    return {"probe": SKIPPED} if capabilities is None else {"probe": "made", **asdict(capabilities)}
