"""Tiny random models that see, of families whose processors need torchvision (one num2words, too)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.spa.tiny_models import VISION_TEMPLATE, byte_tokenizer, llama_config

QWEN_MARKS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
QWEN_TEMPLATE = VISION_TEMPLATE.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
ROPE = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]}
SIGHT = {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64}


def tiny_qwen2_5(folder: Path) -> Path:
    """Save a random Qwen2.5-VL."""
    import transformers

    tokenizer, text, marks = _qwen()
    config = transformers.Qwen2_5_VLConfig(
        text_config={**text, "rope_parameters": ROPE},
        vision_config={**SIGHT, "fullatt_block_indexes": [1], "window_size": 112},
        tie_word_embeddings=False,
        **marks,
    )
    processor = transformers.Qwen2_5_VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(),
        video_processor=transformers.Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=QWEN_TEMPLATE,
    )
    return _saved(transformers.Qwen2_5_VLForConditionalGeneration, config, processor, folder)


def tiny_qwen3(folder: Path) -> Path:
    """Save a random Qwen3-VL."""
    import transformers

    tokenizer, text, marks = _qwen()
    config = transformers.Qwen3VLConfig(
        text_config={**text, "rope_parameters": {**ROPE, "mrope_interleaved": True}},
        vision_config={**SIGHT, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]},
        tie_word_embeddings=False,
        **marks,
    )
    size = {"shortest_edge": 65_536, "longest_edge": 16_777_216}
    processor = transformers.Qwen3VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(patch_size=16, size=size),
        video_processor=transformers.Qwen3VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=QWEN_TEMPLATE,
    )
    return _saved(transformers.Qwen3VLForConditionalGeneration, config, processor, folder)


def tiny_smolvlm2(folder: Path) -> Path:
    """Save a random SmolVLM2, which cuts images to pieces."""
    import transformers

    pieces = (f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7))
    marks = ("<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *pieces)
    tokenizer = byte_tokenizer(template=None, marks=marks)
    config = transformers.SmolVLMConfig(
        text_config=llama_config(tokenizer).to_dict(),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 16,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
        scale_factor=2,
        tie_word_embeddings=False,
    )
    edges = {"size": {"longest_edge": 128}, "max_image_size": {"longest_edge": 64}}
    sampling = {"fps": 1, "max_frames": 4, "video_size": {"longest_edge": 64}}
    processor = transformers.SmolVLMProcessor(
        image_processor=transformers.SmolVLMImageProcessor(**edges, do_image_splitting=True),
        video_processor=transformers.SmolVLMVideoProcessor(**edges, do_image_splitting=False, video_sampling=sampling),
        tokenizer=tokenizer,
        image_seq_len=4,
        chat_template=VISION_TEMPLATE,
    )
    return _saved(transformers.SmolVLMForConditionalGeneration, config, processor, folder)


SEEING: dict[str, Callable[[Path], Path]] = {
    "qwen2.5-vl": tiny_qwen2_5,
    "qwen3-vl": tiny_qwen3,
    "smolvlm2": tiny_smolvlm2,
}


def _qwen() -> tuple[Any, dict[str, Any], dict[str, int]]:
    """Return a tokeniser, the configuration of the text model, and the numbers of the marks of pictures."""
    tokenizer = byte_tokenizer(template=None, marks=QWEN_MARKS)
    text = llama_config(tokenizer, head_dim=16).to_dict()
    kept = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    more = ("num_key_value_heads", "head_dim", "max_position_embeddings", "initializer_range")
    names = ("vision_start", "vision_end", "image", "video")
    marks = {
        f"{name}_token_id": tokenizer.convert_tokens_to_ids(mark) for name, mark in zip(names, QWEN_MARKS, strict=True)
    }
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    return tokenizer, {name: text[name] for name in (*kept, *more)} | ends, marks


def _saved(kind: Any, config: Any, processor: Any, folder: Path) -> Path:
    import torch

    torch.manual_seed(0)
    model = kind(config)
    model.generation_config.eos_token_id = processor.tokenizer.eos_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
