"""Tokens of pictures by size and model, against what processors of transformers count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.media.image_tokens import APART, RULES, image_tokens

SEEN = {  # by the processors of transformers 5.24.0 with their usual settings
    "Qwen/Qwen2.5-VL-7B-Instruct": {(64, 64): 4, (512, 512): 324, (1920, 1080): 2691, (4000, 3000): 15301},
    "qwen3_vl": {(512, 512): 256, (1024, 1024): 1024, (1920, 1080): 2040, (4000, 3000): 11750},
    "HuggingFaceM4/Idefics3-8B-Llama3": {(64, 64): 3105, (1024, 1024): 3105, (1920, 1080): 2372},
    "llava_next": {(64, 64): 1175, (1024, 1024): 2927, (1920, 1080): 1947, (4000, 3000): 2339},
}
SAID = {  # in the providers' documentation
    "gpt-4o-2024-11-20": {(1024, 1024): 765, (2048, 4096): 1105},
    "gpt-4.1-mini": {(1024, 1024): 1659, (1800, 2400): 2353},
    "gemini-2.5-flash": {(384, 384): 258},
    "google/gemma-3-4b-it": {(4000, 3000): 256},
}


@pytest.mark.parametrize("model", [*SEEN, *SAID])
def test_tokens_are_those_that_are_counted(model: str) -> None:
    """A family that is known has one number for each size."""
    for size, tokens in {**SEEN, **SAID}[model].items():
        assert image_tokens(*size, model) == (tokens, tokens)


@given(st.integers(1, 8000), st.integers(1, 8000))
def test_an_unknown_model_has_a_range_with_all(width: int, height: int) -> None:
    """It reaches from the family that counts fewest to the one that counts most; every count is at least one."""
    fewest, most = image_tokens(width, height, "somebody's own model")
    counts = [rule(width, height) for name, rule in RULES if name != APART]
    assert all(1 <= fewest <= least <= last <= most for least, last in counts)
    assert (fewest, most) == (min(least for least, _ in counts), max(last for _, last in counts))


@given(st.integers(1, 8000), st.integers(1, 8000), st.sampled_from(["qwen2-vl", "gpt-4o", "gpt-5-mini", "pixtral"]))
def test_a_turned_picture_costs_about_the_same(width: int, height: int, model: str) -> None:
    """Of width and height, only rows of patches tell the two apart."""
    one, other = image_tokens(width, height, model)[0], image_tokens(height, width, model)[0]
    assert abs(one - other) <= (64 if model == "pixtral" else 0)
