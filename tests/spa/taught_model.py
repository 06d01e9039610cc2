"""A tiny Llama that is taught the right answers to one form, in the form's own words: an LLM whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.raters.prompt_messages import PromptWriter
from spa.records.form import Form, Question
from spa.records.raters import RaterProtocol
from spa.widgets import NumberAnswer, OptionsAnswer
from tests.spa.tiny_models import MARKS, TEMPLATE, llama_config

MOST_STEPS = 400
LEARNT = 0.01  # mean loss a token of the replies


def truth_of(form: Form) -> dict[str, int | str]:
    """Choose a right answer for every question, each different from its neighbours'."""
    chosen: dict[str, int | str] = {}
    for number, question in enumerate(form.questions("everybody")):
        match question.answer:
            case NumberAnswer(low=low, high=high):
                chosen[question.question_id] = low + (37 + 29 * number) % (high - low + 1)
            case OptionsAnswer(options=options) if options[0].score is not None:
                chosen[question.question_id] = int(options[(1 + 2 * number) % len(options)].value)
            case OptionsAnswer(options=options):
                chosen[question.question_id] = options[number % len(options)].value
    return chosen


def lessons(form: Form, truth: Mapping[str, int | str]) -> list[tuple[str, str]]:
    """Return prompts with their right replies: as JSON and as bare text."""
    found = []
    for answer_format in ("json", "text"):
        protocol = RaterProtocol(conversation="question", answer_format=answer_format)  # type: ignore[arg-type]
        for ask in turns_of(form, "question"):
            (message,) = PromptWriter(load_texts("en", {})).turn_messages(ask, protocol)
            found.append((str(message["content"]), reply_to(ask.questions[0], truth, answer_format)))
    return found


def reply_to(question: Question, truth: Mapping[str, int | str], answer_format: str) -> str:
    right = truth[question.question_id]
    return json.dumps({question.question_id: right}) if answer_format == "json" else str(right)


def tokenizer_of(texts: Sequence[str]) -> Any:
    """Train a tokeniser whose digits stand alone."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\d"), behavior="isolated")
    core.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=list(MARKS), initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<pad>")
    made.chat_template = TEMPLATE
    return made


def taught_llama(folder: Path, form: Form, truth: Mapping[str, int | str]) -> Path:
    """Teach a random Llama until it gives the right replies, and save it.

    Raises
    ------
    RuntimeError
        If it has not learnt them after some hundred steps.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    pairs = lessons(form, truth)
    tokenizer = tokenizer_of([text for pair in pairs for text in pair])
    config = llama_config(tokenizer, width=96, layers=1)
    config.initializer_range = 0.02
    config.tie_word_embeddings = True
    model = LlamaForCausalLM(config)
    ids, wanted = batch_of(tokenizer, pairs)
    learnt = wanted[:, 1:] != -100  # padding stands last, where no causal model looks
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    for step in range(MOST_STEPS):
        for group in optimiser.param_groups:
            group["lr"] = 4e-3 * min(1.0, (step + 1) / 10)
        read = model.model(input_ids=ids).last_hidden_state[:, :-1]
        loss = cross_entropy(model.lm_head(read[learnt]), wanted[:, 1:][learnt])
        if loss.item() < LEARNT:
            break
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    else:
        raise RuntimeError(f"the model has not learnt the answers: loss {loss.item():.3f}")
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def batch_of(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> tuple[Any, Any]:
    """Return all lessons as one batch, and what is to be learnt of them: the replies."""
    import torch

    rows, labels = [], []
    for text, reply in pairs:
        message = [{"role": "user", "content": text}]
        prompt = tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        read = tokenizer(prompt)["input_ids"]
        said = [*tokenizer(reply)["input_ids"], tokenizer.eos_token_id]
        rows.append([*read, *said])
        labels.append([-100] * len(read) + said)
    longest = max(map(len, rows))
    pad = tokenizer.pad_token_id
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    return ids, torch.tensor([row + [-100] * (longest - len(row)) for row in labels])
