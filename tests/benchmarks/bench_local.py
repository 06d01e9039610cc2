"""How much faster a form is answered where what its questions share is read once."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spa.elicitation.ratings import RatingTarget
from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.local.model_folder import LoadedModel, load_model
from spa.raters.local.token_statistics import token_statistics
from spa.raters.prompt_messages import PromptWriter, conversation_messages
from spa.raters.reading import ReplyTurn
from spa.raters.vendors.local.endpoint import LocalEndpoint
from spa.records.form import Answer, Exhibit, ExhibitsBlock, Form, Page, Question, Segment, TextBlock
from spa.records.raters import Rater, rater_variants
from tests.benchmarks.measure import Figure
from tests.spa.hand_made import FIVE, HUNDRED
from tests.spa.tiny_models import TEMPLATE, llama_config

STORY = (
    "The lighthouse keeper had counted the ships of every winter since his daughter left for the city. "
    "On the night of the great storm he counted one too many, and went down to the water with a lamp. "
)
CRITERIA = ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")
ROUNDS = 3


def six_questions(words: int, answer: Answer) -> Form:
    """Return a form with one story of so many words and six questions about it."""
    story = " ".join((STORY * (words // 30 + 1)).split()[:words])
    exhibit = Exhibit(
        exhibit_id="e1", caption="Story 1", label="A", item_id="i1", medium="text", segments=(Segment(text=story),)
    )
    questions = tuple(
        Question(
            question_id=f"q{number}",
            text=f"How would you rate the {criterion} of the story, all in all?",
            answer=answer,
            target=RatingTarget(label="A", item_id="i1", sample=1, criterion=criterion, elicitation="likert"),
        )
        for number, criterion in enumerate(CRITERIA, start=1)
    )
    told = TextBlock(markdown="Read the story and answer the questions. " * 5)
    blocks = (told, ExhibitsBlock(heading=None, exhibits=(exhibit,)), *questions)
    page = Page(page_id="p1", kind="rating", audience="everybody", title="Rate", blocks=blocks)
    return Form(assignment_id="a1", title="T", language="en", right_to_left=False, pages=(page,))


def saved_model(folder: Path, texts: Sequence[str]) -> int:
    """Save a random Llama of some thirty million parameters, with words cut as usual and digits one by one."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    marks = ["<|im_start|>", "<|im_end|>", "<pad>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=4000, special_tokens=marks, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token=marks[1], pad_token=marks[2])
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = llama_config(tokenizer, width=512, layers=10)
    config.vocab_size = 8192  # a table of words as large as the rest wants
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def requests(form: Form, protocol: Any) -> list[LLMRequest]:
    """Return the requests for every question of a form."""
    wording = PromptWriter(load_texts("en", {}))
    return [
        LLMRequest(messages=tuple(wording.turn_messages(ask, protocol)), questions=ask.questions, protocol=protocol)
        for ask in turns_of(form, protocol.conversation)
    ]


async def ratio(rater: Rater, form: Form) -> tuple[float, float, int]:
    """Return seconds with each question alone and with sharing, the best of some rounds, and tokens a prompt.

    Alone, too, a prompt is read once for all its answers.
    """
    wanted = requests(form, rater_variants(rater)[0].protocol)
    best = {"copied": float("inf"), "packed": float("inf")}
    async with LocalEndpoint(rater) as endpoint:
        model: Any = endpoint.running.model
        tokens = 0
        for _ in range(ROUNDS):
            for strategy in best:
                model.strategy = strategy
                model._forget()
                start = time.perf_counter()
                replies = [await endpoint.ask(request) for request in wanted]
                best[strategy] = min(best[strategy], time.perf_counter() - start)
                tokens = max(reply.prompt_tokens or 0 for reply in replies)
    return best["copied"], best["packed"], tokens


def pages_of_stories(words: int, pages: int = 4) -> Form:
    """Return a form with a story of so many words a page and two questions about it."""
    made = []
    for number in range(1, pages + 1):
        (page,) = six_questions(words, FIVE).pages
        exhibit = Exhibit(
            exhibit_id=f"e{number}",
            caption=f"Story {number}",
            label="A",
            item_id=f"i{number}",
            medium="text",
            segments=(Segment(text=f"{number}. " + (STORY * (words // 30 + 1))),),
        )
        two = (
            replace(question, question_id=f"q{2 * number + place}") for place, question in enumerate(page.questions[:2])
        )
        blocks = (page.blocks[0], ExhibitsBlock(heading=None, exhibits=(exhibit,)), *two)
        made.append(replace(page, page_id=f"p{number}", blocks=blocks))
    return Form(assignment_id="a1", title="T", language="en", right_to_left=False, pages=tuple(made))


async def pages_ratio(rater: Rater, form: Form) -> tuple[float, float, int]:
    """Return seconds a conversation page by page, every page read anew and only what is new, and tokens at the end."""
    protocol = rater_variants(rater)[0].protocol
    wording = PromptWriter(load_texts("en", {}))
    best = {"copied": float("inf"), "packed": float("inf")}
    async with LocalEndpoint(rater) as endpoint:
        model: Any = endpoint.running.model
        tokens = 0
        for _ in range(ROUNDS):
            for strategy in best:
                model.strategy = strategy
                model._forget()
                before: list[tuple[PromptTurn, tuple[ReplyTurn, ...]]] = []
                start = time.perf_counter()
                for page in turns_of(form, "page"):
                    messages = tuple(conversation_messages(wording, [*before, (page, ())], protocol))
                    reply = await endpoint.ask(
                        LLMRequest(messages=messages, questions=page.questions, protocol=protocol)
                    )
                    before.append((page, (ReplyTurn(text=reply.text, missing=()),)))
                    tokens = reply.prompt_tokens or 0
                best[strategy] = min(best[strategy], time.perf_counter() - start)
    return best["copied"], best["packed"], tokens


def figures() -> Iterator[Figure]:
    """Yield the ratio for a short and a long text, six questions each."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        return
    with tempfile.TemporaryDirectory() as held:
        forms = {
            f"{words} words, {scale}": six_questions(words, answer)
            for words in (150, 600)
            for scale, answer in (("1 to 5", FIVE), ("0 to 100", HUNDRED))
        }
        protocol = {"readout": "logit", "conversation": "question", "answer_format": "text"}
        rater = Rater(id="bench", model=held, provider="local", **protocol)
        asked = rater_variants(rater)[0].protocol
        read = [str(one.messages[0]["content"]) for form in forms.values() for one in requests(form, asked)]
        parameters = saved_model(Path(held), read)
        for shown, form in forms.items():
            alone, shared, tokens = asyncio.run(ratio(rater, form))
            size = f"{parameters / 1e6:.0f} million parameters, {tokens} tokens"
            yield Figure(
                name=f"local model, six questions ({shown}): shared prefix to each alone",
                value=alone / shared,
                unit="x",
                note=f"{size}, {shared / 6 * 1000:.0f} ms a question",
            )
        talker = Rater(
            id="bench", model=held, provider="local", conversation="page", answer_format="json", max_tokens=8
        )
        anew, shared, tokens = asyncio.run(pages_ratio(talker, pages_of_stories(300)))
        yield Figure(
            name="local model, four pages in one conversation: earlier pages known to read anew",
            value=anew / shared,
            unit="x",
            note=f"{parameters / 1e6:.0f} million parameters, {tokens} tokens at the end, 8 written a page",
        )
        loaded = load_model(talker, Path())
        seconds = {batched: _scoring_seconds(loaded, batched=batched) for batched in (True, False)}
        yield Figure(
            name="contamination, 60 texts: batches to one after the other",
            value=seconds[False] / seconds[True],
            unit="x",
            note=f"{parameters / 1e6:.0f} million parameters, {seconds[True]:.2f} s of CPU time",
        )


def _scoring_seconds(loaded: LoadedModel, *, batched: bool) -> float:
    texts = [STORY[: 40 + 7 * number % len(STORY)] for number in range(60)]
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        token_statistics(loaded, texts, batched=batched)
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    for figure in figures():
        print(replace(figure))  # noqa: T201
