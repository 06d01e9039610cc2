"""What requests cost: estimated tokens, the user's price table, and the budget that no run exceeds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from spa.errors import StudyError, unreadable
from spa.media import model_files
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.records.form import Question
from spa.records.raters import Rater

TABLE = "prices.toml"  # beside the study file
MILLION = 1_000_000
CHARACTERS_A_TOKEN = 4.0  # of scripts written with letters; a Chinese or Japanese character counts as a token
LEAST_READ = 0.6  # of the tokens expected; texts hardly ever have more than 6.7 characters a token
TOKENS_AN_ANSWER = 10  # a key and a value of JSON
TOKENS_AN_EXPLANATION = 120
IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
Amount = Annotated[float, Field(ge=0)]


class Price(BaseModel):
    """What a model costs, for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: Amount
    output: Amount
    cached_input: Amount | None = None  # as input where absent
    cache_write: Amount | None = None  # of tokens that the endpoint keeps for the next request; as input where absent
    batch_factor: Annotated[float, Field(gt=0, le=1)] = 1.0  # of the price, through batch files

    def cost(self, prompt: int, completion: int, *, cached: int = 0, written: int = 0, batch: bool = False) -> float:
        """Return what a request costs.

        Of the ``prompt`` tokens ``cached`` were read from the endpoint's cache, and ``written`` put into it.

        >>> Price(input=2, output=10, cached_input=1).cost(1_000_000, 100_000, cached=500_000)
        2.5
        >>> Price(input=2, output=10, cached_input=1, cache_write=4).cost(1_000_000, 0, cached=500_000, written=250_000)
        2.0
        """
        cached_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input if self.cache_write is None else self.cache_write
        kept = cached * cached_price + written * write_price
        spent = (prompt - cached - written) * self.input + kept + completion * self.output
        return round(spent / MILLION * (self.batch_factor if batch else 1.0), 9)


class PriceTable(BaseModel):
    """Prices by model, in one currency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "USD"
    models: Mapping[str, Price] = Field(default_factory=dict)


def load_prices(path: Path | None, study: Path) -> PriceTable:
    """Read a price table: the file named, else ``prices.toml`` beside the study, else an empty one.

    Raise StudyError if the file named is not there, or holds anything but prices.
    """
    place = path or study.with_name(TABLE)
    if path is None and not place.is_file():
        return PriceTable()
    try:
        return PriceTable.model_validate(tomllib.loads(place.read_text(encoding="utf-8")))
    except OSError as error:
        raise StudyError(unreadable(place, error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{place}: expected TOML, got: {error}; correct it") from error
    except ValidationError as error:
        problems = [f"{place}: {'.'.join(map(str, one['loc']))}: {one['msg'].lower()}" for one in error.errors()]
        raise StudyError(*problems) from error


class RaterBudget:
    """What one rater may spend: ``spent`` by earlier runs counts, and costs of requests in progress are reserved.

    Without the ``price`` of its model nothing is counted; ``budget`` bounds all runs together.
    """

    def __init__(self, price: Price | None, *, budget: float | None = None, spent: float = 0.0, batch: bool = False):
        if budget is not None and price is None:
            raise StudyError(
                f"budget: expected the price of the model, got none; add it to {TABLE} beside the study file "
                "(0 for a model that costs nothing), or name a table with --prices"
            )
        self._price = price
        self.limit = budget  # the most that may be spent
        self._batch = batch
        self.reserved = 0.0  # for requests in progress
        self.spent = spent  # in all
        self.spent_now = 0.0  # by this run

    @property
    def counts(self) -> bool:
        """Whether anything can be counted: the price is known."""
        return self._price is not None

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Reserve the expected cost of a request; ``None`` where it would exceed the budget."""
        if self._price is None:
            return 0.0
        expected = self._price.cost(prompt_tokens, completion_tokens, batch=self._batch)
        if self.limit is not None and self.spent + self.reserved + expected > self.limit:
            return None
        self.reserved += expected
        return expected

    def pay(self, expected: float, reply: LLMReply) -> dict[str, Any]:
        """Replace a reservation by the actual cost; return the facts of a reply with its cost, if any is due and known.

        Where the endpoint returns no token counts, the reservation counts as the cost.
        """
        self.reserved = max(0.0, self.reserved - expected)
        if self._price is None or not reply.model_replied:
            return reply.facts
        cost = expected
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            cached = min(reply.cached_tokens or 0, reply.prompt_tokens)
            cost = self._price.cost(
                reply.prompt_tokens,
                reply.completion_tokens,
                cached=cached,
                written=min(reply.cache_write_tokens or 0, reply.prompt_tokens - cached),
                batch=self._batch,
            )
        self.spent += cost
        self.spent_now += cost
        return {**reply.facts, "cost": cost}


def budget_message(rater: Rater, rater_budget: RaterBudget) -> str:
    """Return one line: what is spent, and what to do."""
    reserved = f", and {rater_budget.reserved:.6g} reserved for requests in progress"
    return (
        f"rater {rater.id!r}: the next request could pass the budget of {rater_budget.limit:g} "
        f"({rater_budget.spent:.6g} is spent, {rater_budget.spent_now:.6g} of it by this run"
        f"{reserved if rater_budget.reserved > 1e-12 else ''}); "
        "raise it with --budget, what is answered is kept"
    )


def tokens_of(messages: Iterable[Mapping[str, Any]], model: str = "") -> int:
    """Estimate the tokens of messages, the most that a model may count where files count differently.

    >>> tokens_of([{"role": "user", "content": "Which text is better?"}])
    6
    """
    return token_range(messages, model)[1]


def token_range(messages: Iterable[Mapping[str, Any]], model: str) -> tuple[int, int]:
    """Estimate the fewest and the most tokens of messages, for a model by its name or type."""
    letters = whole = unsure = 0
    for message in messages:
        for part in parts_of(message):
            if (models := model_files(part)) is not None:
                fewest, most = models.tokens(part, model)
                whole, unsure = whole + fewest, unsure + most - fewest
                continue
            ideographs = 0 if part["text"].isascii() else len(IDEOGRAPH.findall(part["text"]))
            whole += ideographs
            letters += len(part["text"]) - ideographs
    least = whole + round(letters / CHARACTERS_A_TOKEN + 0.5)
    return least, least + unsure


def parts_of(message: Mapping[str, Any]) -> Sequence[Any]:
    """Return the texts and files of a message."""
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def answer_tokens(questions: Sequence[Question], *, explained: bool) -> int:
    """Estimate the tokens of a reply that answers questions."""
    return len(questions) * (TOKENS_AN_ANSWER + (TOKENS_AN_EXPLANATION if explained else 0))


def is_cut(request: LLMRequest, reply: LLMReply) -> bool:
    """Return whether an endpoint read far less than it was sent: some cut a long prompt and say nothing.

    Images are left out, as endpoints count them differently; a model on this machine counts exactly.
    """
    if reply.prompt_tokens is None or reply.from_cache:
        return False
    read = reply.prompt_tokens + (reply.cached_tokens or 0)  # a few servers count what they had read before apart
    texts = [part["text"] for message in request.messages for part in parts_of(message) if part.get("type") == "text"]
    letters = sum(map(len, texts))
    ideographs = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) - letters  # twice as many at most
    if read >= LEAST_READ * (letters / CHARACTERS_A_TOKEN + ideographs / 2 + 1):  # as a rule, and quickly seen
        return False
    return read < LEAST_READ * tokens_of({"content": text} for text in texts)


def expected_tokens(request: LLMRequest, model: str) -> tuple[int, int]:
    """Estimate the tokens that a request to a model reads, at most, and that its reply writes."""
    explained = request.protocol.explain != "no"
    return tokens_of(request.messages, model), request.samples * answer_tokens(request.questions, explained=explained)
