"""A model that hears, on this machine: it is asked as its own processor asks it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spa.media import medium_of
from spa.media.medium import Part
from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.reading import answer_values
from spa.records.raters import rater_variants
from tests.spa.hand_made import hand_made
from tests.spa.raters.test_rater_local import LOGIT, ask, rater, requests
from tests.spa.tiny_clips import copied_here, tone, wav
from tests.spa.tiny_models import byte_tokenizer, llama_config

pytestmark = pytest.mark.one_process("models")
MARKS = ("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
TEMPLATE = (
    "{% for one in messages %}{% for part in one['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% else %}<|audio_bos|><|AUDIO|><|audio_eos|>{% endif %}{% endfor %}{% endfor %}"
)


def tiny_qwen2_audio(folder: Path) -> Path:
    """Save a random Qwen2-Audio."""
    import torch
    import transformers

    tokenizer = byte_tokenizer(template=None, marks=MARKS)
    encoder = {"num_mel_bins": 16, "d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2}
    config = transformers.Qwen2AudioConfig(
        audio_config={**encoder, "encoder_ffn_dim": 32, "max_source_positions": 50},
        text_config=llama_config(tokenizer).to_dict(),
        audio_token_index=tokenizer.convert_tokens_to_ids(MARKS[0]),
    )
    torch.manual_seed(0)
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    ears = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)  # second
    processor = transformers.Qwen2AudioProcessor(feature_extractor=ears, tokenizer=tokenizer, chat_template=TEMPLATE)
    processor.save_pretrained(folder)
    return folder


def heard(request: LLMRequest, part: Part) -> LLMRequest:
    """Return a request whose message begins with a clip."""
    (message,) = request.messages
    return replace(request, messages=({**message, "content": [part, {"type": "text", "text": message["content"]}]},))


def test_probabilities_are_those_by_its_processor(tmp_path: Path) -> None:
    """Of a rating of what is heard in two tones, by a pass of its own without any of the code under test."""
    import torch
    from transformers import AutoModelForMultimodalLM, AutoProcessor

    folder = tiny_qwen2_audio(tmp_path / "model")
    one = rater(folder, **LOGIT)
    plain = requests(hand_made()[0], rater_variants(one)[0].protocol)[2]
    model = AutoModelForMultimodalLM.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    options = list(answer_values(plain.questions[0]))
    tones = [tone(hertz, seconds=0.3, loud=0.5) for hertz in (300, 3000)]
    files = medium_of("audio").files
    assert files is not None
    assert files.models is not None
    asked = []
    for number, samples in enumerate(tones):
        path = tmp_path / f"{number}.flac"
        path.write_bytes(copied_here(wav(samples), pictures=False).content)
        asked.append(heard(plain, files.models.part(path)))
    told = []
    for samples, reply in zip(tones, ask(one, asked), strict=True):
        text = f"<|audio_bos|><|AUDIO|><|audio_eos|>{plain.messages[0]['content']}"
        clip = ((samples * 32767).round() / 32768).astype("float32")
        given = processor(
            text=[text], audio=[clip], sampling_rate=16_000, return_tensors="pt", add_special_tokens=False
        )
        with torch.no_grad():
            row = model(**given).logits[0, -1].double().softmax(-1)
        masses = {
            one: float(row[processor.tokenizer(one, add_special_tokens=False)["input_ids"][0]]) for one in options
        }
        right = {option: mass / sum(masses.values()) for option, mass in masses.items()}
        told.append(json.loads(reply.body or "")["distribution"]["probabilities"])
        assert told[-1] == pytest.approx(right, rel=1e-3)
    assert told[0] != pytest.approx(told[1], rel=1e-4)
