"""A local model as a rater's endpoint: ``provider = "local"``.

The recorded body has the shape of a chat completion, with versions, device, settings, and the distribution where that
was requested.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import randbelow
from typing import Any, NamedTuple, Self

from spa.errors import PlatformError, StudyError
from spa.media import recorded
from spa.raters.endpoints.chat_completions import CHAT_COMPLETION
from spa.raters.endpoints.distribution import answer_values
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, read_reply
from spa.raters.local.model_folder import LoadedModel, check_extra, choose_threads, load_model, versions
from spa.raters.vendors.local.causal import CausalModel
from spa.raters.vendors.local.local_prompt import LocalPrompt, local_prompt, reads_instead, unread_files
from spa.raters.vendors.local.option_tree import SameTokens, option_tree
from spa.raters.vendors.local.seq2seq import EncoderDecoderModel
from spa.records.raters import Rater, RaterProtocol, rater_variants

MAX_TOKENS = 1024  # in an answer, where the rater sets no max_tokens
SEEDS = 2**31


class RunningModel(NamedTuple):
    """A loaded model with its settings."""

    loaded: LoadedModel
    model: CausalModel | EncoderDecoderModel
    threads: int


class LocalEndpoint:
    """A model on this machine; an asynchronous context manager.

    One request is computed at a time, in a thread of its own. The rater's ``model`` is a folder, which begins at
    ``base`` if it is relative, a GGUF file or the name of a model on the Hugging Face hub. If it is to ``keep`` the
    model, it may be entered many times and stays loaded.
    """

    def __init__(self, rater: Rater, *, base: Path | None = None, keep: bool = False) -> None:
        check_extra(rater)
        for asked in rater_variants(rater):
            if asked.protocol.answer_format == "schema":
                raise StudyError(
                    f'rater {asked.name!r}: expected answer_format = "json" or "text" with provider = "local", got '
                    '"schema", which only a remote endpoint can enforce; set one of them'
                )
        self.rater = rater
        self._base = Path() if base is None else base
        self._keep = keep
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="local model")
        self._running: RunningModel | None = None

    async def __aenter__(self) -> Self:
        if self._running is None:
            self._running = await asyncio.get_running_loop().run_in_executor(self._thread, self._start)
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._keep:
            return
        self._running = None
        self._thread.shutdown(wait=True, cancel_futures=True)

    @property
    def shown(self) -> str:
        """The model's name as the rater gives it."""
        return f"the local model {self.rater.model}"

    @property
    def running(self) -> RunningModel:
        """The model, once it is loaded."""
        if self._running is None:
            raise RuntimeError("a local endpoint is asked inside `async with`")
        return self._running

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return what the model is given, and what decides about what is computed."""
        parameters = {"model": self.rater.model, **recorded_parameters(request.protocol)}
        return {"messages": request.messages, "parameters": parameters}

    def record(self, request: LLMRequest) -> str:
        """Return the request as JSON for the journal; a file is named by its digest."""
        if (unread := unread_files(self.running.loaded, request.messages)) is not None:
            expected = f"a model that reads {unread} for a study of {unread}"
            got = f"{self.rater.model!r}, which {reads_instead(self.running.loaded)}"
            raise PlatformError(f"rater {self.rater.id!r}: expected {expected}, got {got}; name another model")
        messages = [recorded(message) for message in request.messages]
        record = {**self.body(request), "messages": messages, "versions": versions()}
        return json.dumps(record, ensure_ascii=True, sort_keys=True)

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Let the model answer."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, request)

    def _start(self) -> RunningModel:
        import torch

        loaded = load_model(self.rater, self._base)
        threads = choose_threads()
        torch.set_num_threads(threads)
        made = EncoderDecoderModel(loaded) if loaded.kind == "encoder-decoder" else CausalModel(loaded)
        return RunningModel(loaded=loaded, model=made, threads=threads)

    def _answer(self, request: LLMRequest) -> LLMReply:
        protocol = request.protocol
        template = thinking_disabled(self.running.loaded) if protocol.readout == "logit" else {}
        try:
            prompt = local_prompt(self.running.loaded, request.messages, template)
            logit = protocol.readout == "logit"
            result = self._distribution(request, prompt) if logit else self._text(prompt, protocol)
        except PlatformError as error:
            raise PlatformError(f"rater {self.rater.id!r}, model {self.rater.model!r}: {error}") from error
        return read_reply(json.dumps({**self._facts(), **result}, ensure_ascii=True), lambda found: CHAT_COMPLETION)

    def _facts(self) -> dict[str, Any]:
        running = self.running
        return {
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.rater.model,
            "system_fingerprint": running.loaded.fingerprint,
            "local": {
                "kind": running.loaded.kind,
                "device": running.loaded.device,
                "dtype": running.loaded.dtype,
                "threads": running.threads,
                "reading": running.model.strategy,
                "versions": versions(),
            },
        }

    def _distribution(self, request: LLMRequest, prompt: LocalPrompt) -> dict[str, Any]:
        """Return the probabilities of the answers to the one question asked; no reason beside it has any."""
        question = next((one for one in request.questions if answer_values(one)), request.questions[0])
        tokenizer = self.running.loaded.tokenizer
        options = answer_values(question)
        if not options:
            raise PlatformError(f"question {question.question_id} has no answers to compare")
        try:
            tree = option_tree(
                prompt.text if self.running.loaded.kind != "encoder-decoder" else "",
                options,
                lambda texts: tokenizer(list(texts), add_special_tokens=False)["input_ids"],
            )
        except SameTokens as error:
            raise PlatformError(f"its tokeniser encodes {error} alike; use another model") from error
        looked = self.running.model.score_options(prompt, tree)
        found = tree.distribution(looked.log_probabilities)
        return {
            "choices": [_choice(None, "stop")],
            "usage": _usage(len(prompt.tokens), 0, looked.reused),
            "distribution": {
                "question": question.question_id,
                "probabilities": dict(found.probabilities),
                "mass": found.mass,
                "places": len(tree.inner),
                "template": thinking_disabled(self.running.loaded),
            },
        }

    def _text(self, prompt: LocalPrompt, protocol: RaterProtocol) -> dict[str, Any]:
        import torch

        settings = generation_settings(protocol)
        seed = settings.pop("seed", None)
        loaded = self.running.loaded
        with torch.random.fork_rng(devices=[] if loaded.device == "cpu" else None):
            if seed is not None:
                torch.manual_seed(seed)
            generated = self.running.model.generate(prompt, _generation_config(loaded, settings))
        ended = bool(generated.tokens) and generated.tokens[-1] in loaded.ends
        text = loaded.tokenizer.decode(generated.tokens, skip_special_tokens=True)
        return {
            "choices": [_choice(text, "stop" if ended else "length")],
            "usage": _usage(len(prompt.tokens), len(generated.tokens), generated.reused),
            "generation": {**settings, "seed": seed},
        }


def thinking_disabled(loaded: LoadedModel) -> dict[str, Any]:
    """Return what makes a chat template begin with the answer, where it may begin with thoughts."""
    cutter = loaded.tokenizer if loaded.processor is None else loaded.processor
    template = getattr(cutter, "chat_template", None)
    return {"enable_thinking": False} if isinstance(template, str) and "enable_thinking" in template else {}


def recorded_parameters(protocol: RaterProtocol) -> dict[str, Any]:
    """Return what of a protocol decides about what is computed."""
    names = ("readout", "temperature", "top_p", "seed", "max_tokens")
    return {name: value for name in names if (value := getattr(protocol, name)) is not None}


def generation_settings(protocol: RaterProtocol) -> dict[str, Any]:
    """Return how a text is generated: the most probable words, or drawn at the protocol's temperature.

    Nothing is left to a folder's own defaults. Where the protocol has no seed, one is drawn, to be recorded.

    >>> generation_settings(RaterProtocol(temperature=0.0, max_tokens=8))
    {'do_sample': False, 'max_new_tokens': 8}
    """
    settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": protocol.max_tokens or MAX_TOKENS}
    if protocol.temperature:
        settings |= {
            "do_sample": True,
            "temperature": protocol.temperature,
            "top_p": 1.0 if protocol.top_p is None else protocol.top_p,
            "seed": randbelow(SEEDS) if protocol.seed is None else protocol.seed,
        }
    return settings


def _generation_config(loaded: LoadedModel, settings: Mapping[str, Any]) -> Any:
    from transformers import GenerationConfig

    plain = {"temperature": 1.0, "top_p": 1.0, "top_k": 0 if settings["do_sample"] else 50}
    ends = list(loaded.ends) or None
    pad = loaded.tokenizer.pad_token_id
    if pad is None and ends:
        pad = ends[0]
    others = {"num_beams": 1, "repetition_penalty": 1.0, "eos_token_id": ends, "pad_token_id": pad}
    if loaded.kind == "encoder-decoder":
        others["decoder_start_token_id"] = loaded.model.config.decoder_start_token_id
    return GenerationConfig(**{**plain, **others, **settings})


def _choice(text: str | None, finish: str) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}


def _usage(read: int, wrote: int, reused: int) -> dict[str, Any]:
    return {
        "prompt_tokens": read,
        "completion_tokens": wrote,
        "total_tokens": read + wrote,
        "prompt_tokens_details": {"cached_tokens": reused},
    }
