"""Models that see, of families whose processors need torchvision: they are asked as their own processor asks them.

PyPI's torchvision is made for torch with CUDA and stands beside no torch without, so these run where both fit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spa.raters.reading import answer_values
from spa.records.raters import rater_variants
from tests.spa.hand_made import hand_made
from tests.spa.raters.test_rater_local import LOGIT, ask, rater, requests, with_image
from tests.spa.tiny_models import models as models
from tests.spa.tiny_vision import SEEING

try:
    import num2words  # noqa: F401
    import torchvision  # noqa: F401
except (ImportError, RuntimeError) as error:
    pytest.skip(f"no torchvision that fits torch, or no num2words: {error}", allow_module_level=True)

pytestmark = [pytest.mark.one_process("models"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.mark.parametrize("family", SEEING)
def test_probabilities_are_those_by_its_processor(models: Path, family: str) -> None:
    """Of a rating of what is seen in two colours, by a pass of its own without any of the code under test."""
    import torch
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = SEEING[family](models / family)
    one = rater(folder, **LOGIT)
    plain = requests(hand_made()[0], rater_variants(one)[0].protocol)[2]
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    options = list(answer_values(plain.questions[0]))
    tokens = [processor.tokenizer(option, add_special_tokens=False)["input_ids"] for option in options]
    assert all(len(token) == 1 for token in tokens)
    told = []
    for colour, reply in zip(("red", "blue"), ask(one, [with_image(plain, c) for c in ("red", "blue")]), strict=True):
        (message,) = with_image(plain, colour).messages
        parts = [
            {"type": "text", "text": part["text"]} if "text" in part
            else {"type": "image", "image": Image.new("RGB", (40, 30), colour)}
            for part in message["content"]
        ]  # fmt: skip
        given = processor.apply_chat_template(
            [{**message, "content": parts}],
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.no_grad():
            row = model(**given).logits[0, -1].double().softmax(-1)
        masses = {option: float(row[token[0]]) for option, token in zip(options, tokens, strict=True)}
        right = {option: mass / sum(masses.values()) for option, mass in masses.items()}
        told.append(json.loads(reply.body or "")["distribution"]["probabilities"])
        assert told[-1] == pytest.approx(right, rel=1e-3)
    assert told[0] != pytest.approx(told[1], rel=1e-3)
