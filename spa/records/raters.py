"""LLM raters as data: who answers, how they are asked, and the variants of asking.

A *protocol* is everything that may change an answer. A variant is the protocol of its rater with some keys
set anew; a grid is every combination of the values that it lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from spa.records.toml_table import Ident, Text, TomlTable

ADDED = (
    "explain",
    "guidelines",
    "reference",
    "persona",
    "item_notes",
    "examples",
    "frames_per_second",
)  # keys that let a rater read more than people do, or something else
SECRET = re.compile(r"auth|key|token|secret|cookie|password|signature", re.IGNORECASE)  # in the name of a header
FROM_ENVIRONMENT = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


class HashableTable(dict[str, Any]):
    """A table that can be hashed, as the rest of a protocol can; nobody changes it."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash what it holds."""
        return hash(json.dumps(self))


def _as_body(table: dict[str, Any]) -> HashableTable:
    try:
        return HashableTable(json.loads(json.dumps(table, sort_keys=True)))
    except TypeError as error:  # a date
        raise ValueError("expected values that JSON has") from error


# For all criteria, or a table by criterion, kept as pairs so that a protocol can be hashed.
Guidelines = Text | tuple[tuple[Ident, Text], ...]
Temperature = Annotated[float, Field(ge=0, le=2)]
Tokens = Annotated[int, Field(ge=1)]
Reading = Literal["strict", "first_number", "paper"]
Conversation = Literal["form", "page", "page_alone", "page_questions", "question"]
CONTINUED: tuple[Conversation, ...] = ("page", "page_questions")  # those with turns that follow earlier ones
ONE_QUESTION: tuple[Conversation, ...] = ("page_questions", "question")  # those that put one question at a time


def _pairs(given: object) -> object:
    return tuple(given.items()) if isinstance(given, dict) else given


class RaterExamples(TomlTable):
    """Answered examples of people before a rater's form, from items that it is not asked about."""

    number: Annotated[int, Field(ge=1, le=100)] = 6  # outputs, or pairs of them, with all that people said of each
    share: Annotated[float, Field(gt=0, lt=1)] = 0.25  # of all items, set apart for examples


class VariedKeys(TomlTable):
    """How an LLM is asked, as far as variants may differ."""

    temperature: Temperature | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None  # the same limit, sent under this name
    reasoning_effort: Text | None = None
    extra_body: Annotated[dict[str, Any], AfterValidator(_as_body)] | None = None  # what else a request says
    readout: Literal["verbalised", "logit"] = "verbalised"  # what it says, or the probabilities of the answers
    min_mass: Annotated[float, Field(ge=0, le=1)] = 0.5  # of probabilities: least chance that a reply begins with one
    # one message; page by page; each page alone; each page, its questions in turn; each question alone
    conversation: Conversation = "form"
    answer_format: Literal["schema", "json", "text"] = "schema"  # JSON enforced, JSON asked for, or free text
    reading: Reading = "strict"  # of free text
    attempts: Annotated[int, Field(ge=1, le=10)] = 2  # how often an unreadable answer is asked for
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1  # answers to the same form, each asked afresh
    persona: Text | None = None
    persona_place: Literal["system", "user"] = "system"  # whose message says it: before the form, or above it
    explain: Literal["no", "before", "after"] = "no"  # an explanation of each rating, before or after it
    explain_words: Text | None = None  # how it is asked for; the language's where absent; {question} is the question
    guidelines: Annotated[
        Guidelines | None, BeforeValidator(_pairs, json_schema_input_type=Text | dict[Ident, Text])
    ] = None
    reference: Ident | None = None  # a system whose output is shown for orientation
    item_notes: bool = False  # rubrics and references of items that people do not read
    frames_per_second: Annotated[float, Field(gt=0, le=30)] | None = None  # pictures, without sound, sent for a video

    @property
    def limit(self) -> int | None:
        """The most tokens in an answer; ``None`` where the endpoint decides."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def reasoned(self) -> bool:
        """Whether each probability is read after a reasoning of its own, in a request of its own."""
        return self.readout == "logit" and self.explain == "before"


class RaterProtocol(VariedKeys):
    """How an LLM is asked."""

    examples: RaterExamples | None = None  # each variant is then asked without them, too


class Variant(VariedKeys):
    """A protocol: that of the rater, with the keys given here instead of its own."""

    id: Ident


class Rater(RaterProtocol):
    """An LLM that answers the forms that people answer."""

    id: Ident
    model: Text
    maker: Text | None = None  # who made the model; systems with the same maker are its own
    provider: str = "chat"  # one of spa.raters.vendors
    batch: bool = False  # in the vendor's batches instead of one by one
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = None
    api_key_env: Text = "OPENAI_API_KEY"  # name of the environment variable, never the key
    headers: dict[str, str] = Field(default_factory=dict)  # of every request; "env:NAME" is looked up when it is sent
    query: dict[str, str] = Field(default_factory=dict)  # after the "?" of the address; the same
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8  # most requests under way at once
    cache: Path | None = None  # a file of answers, beside the study file or elsewhere, that studies share
    cache_sampled: bool = False  # whether it also holds answers that a temperature, or the endpoint, draws
    budget: Annotated[float, Field(gt=0)] | None = None  # stop before this much is spent, in the prices' currency
    variants: tuple[Variant, ...] = ()
    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(default_factory=dict)  # key -> values


class Jury(TomlTable):
    """Raters whose answers to a question are put together into one, when they are analysed; it asks nothing itself."""

    id: Ident
    raters: Annotated[tuple[Text, ...], Field(min_length=2)]  # each RATER, or RATER/VARIANT where it has variants
    by: Literal["mean", "median", "majority"] = "mean"
    ties: Literal["middle", "missing"] = "middle"  # what its answer is where its members are split
    least: Annotated[int, Field(ge=2)] = 2  # members that must have answered


def may_be_cached(protocol: RaterProtocol, *, sampled: bool) -> bool:
    """Return whether the same request gets the same answer, so that one asked before may stand for it.

    Sampled answers may where that is said; repeats only with seeds of their own, which tell their requests apart.
    """
    if protocol.repeats > 1:
        return sampled and protocol.seed is not None
    return sampled or protocol.temperature == 0 or (protocol.readout == "logit" and not protocol.reasoned)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterVariant:
    """A rater as it is asked once: who, under which variant, how."""

    rater: Rater
    variant: str | None  # None: the rater has no variants
    protocol: RaterProtocol

    @property
    def identical(self) -> bool:
        """Whether the rater reads and is asked what people read and are asked, and nothing else."""
        return all(getattr(self.protocol, key) in (None, "no", False) for key in ADDED)

    @property
    def name(self) -> str:
        """The rater's id, with the variant where there is one."""
        return self.rater.id if self.variant is None else f"{self.rater.id}/{self.variant}"

    @property
    def form_key(self) -> tuple[object, ...]:
        """What of the protocol decides about the form."""
        asked = self.protocol
        explained = asked.explain, asked.explain_words, asked.reasoned
        return *explained, asked.guidelines, asked.reference, asked.item_notes, asked.examples

    @property
    def fingerprint(self) -> str:
        """Hash of everything that may change an answer; repeats, attempts, addresses and the token limit do not."""
        return self.fingerprint_with(None)

    def fingerprint_with(self, max_tokens: int | None) -> str:
        """Return the hash with a token limit, as stores hold it from when the limit was part of it."""
        return _fingerprint(self.rater.model, self.protocol, max_tokens)


LATER = (
    "reasoning_effort",
    "extra_body",
    "min_mass",
    "item_notes",
    "examples",
    "persona_place",
    "explain_words",
    "frames_per_second",
)  # keys that count in a fingerprint where they are set


@lru_cache(maxsize=1024)  # it is asked for with every visit
def _fingerprint(model: str, protocol: RaterProtocol, max_tokens: int | None) -> str:
    later = {key for key in LATER if getattr(protocol, key) == getattr(RaterProtocol(), key)}  # unknown to old stores
    left_out = {"repeats", "attempts", "max_completion_tokens", *later}
    settings = protocol.model_copy(update={"max_tokens": max_tokens}).model_dump_json(exclude=left_out)
    return sha256(f"{model}\n{settings}".encode()).hexdigest()[:16]


def rater_variants(rater: Rater) -> tuple[RaterVariant, ...]:
    """Return every protocol by which a rater is asked: its variants, its grid, or its own where it has neither.

    Raise pydantic.ValidationError if the grid names an unknown key, or a value that its key does not take.
    """
    variants = [*rater.variants, *_of_grid(rater)]
    own = RaterProtocol().model_copy(update={key: getattr(rater, key) for key in RaterProtocol.model_fields})
    if not variants:
        return _with_and_without((RaterVariant(rater=rater, variant=None, protocol=own),))
    changed = ({key: getattr(one, key) for key in one.model_fields_set - {"id"}} for one in variants)
    return _with_and_without(
        tuple(
            RaterVariant(rater=rater, variant=one.id, protocol=own.model_copy(update=keys))
            for one, keys in zip(variants, changed, strict=True)
        )
    )


WITH, WITHOUT = "examples", "no examples"  # variants, or the ends of their names


def _with_and_without(variants: tuple[RaterVariant, ...]) -> tuple[RaterVariant, ...]:
    """Return each variant that has examples twice: without and with them, asked about the same items."""
    found: list[RaterVariant] = []
    for one in variants:
        if one.protocol.examples is None:
            found.append(one)
            continue
        for name, number in ((WITHOUT, 0), (WITH, one.protocol.examples.number)):
            shown = one.protocol.examples.model_copy(update={"number": number})
            protocol = one.protocol.model_copy(update={"examples": shown})
            variant = name if one.variant is None else f"{one.variant}, {name}"
            found.append(RaterVariant(rater=one.rater, variant=variant, protocol=protocol))
    return tuple(found)


def beside_examples(rater: Rater) -> Iterator[tuple[str, str]]:
    """Yield the names under which a rater is asked with examples, each with its name without them."""
    variants = [one for one in rater_variants(rater) if one.protocol.examples is not None]
    yield from ((shown.name, bare.name) for bare, shown in zip(variants[::2], variants[1::2], strict=True))


def _of_grid(rater: Rater) -> Iterator[Variant]:
    """Yield a variant for each combination, named after its values."""
    if not rater.grid:
        return
    for values in product(*rater.grid.values()):
        keys = dict(zip(rater.grid, values, strict=True))
        yield Variant(id=", ".join(f"{key}={value}" for key, value in keys.items()), **keys)
