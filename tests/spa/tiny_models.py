"""Tiny models built in code, with random weights: real parts of `transformers`, nothing downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing_part

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VISION_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKS = ("<|im_start|>", "<|im_end|>", "<pad>", "<image>")


def need_local_models() -> None:
    """Skip (fail on CI) where torch or transformers is missing."""
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        missing_part(f"{' and '.join(missing)} not installed; pip install --group local")


def byte_tokenizer(*, template: str | None = TEMPLATE, words: tuple[str, ...] = (), marks: tuple[str, ...] = ()) -> Any:
    """Build a byte-level BPE tokeniser: one token a byte, and one a word for the words given.

    A word's beginnings become tokens too, since BPE puts words together from the left.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges: list[tuple[str, str]] = []
    for word in words:
        merges += [(word[:end], word[end]) for end in range(1, len(word)) if (word[:end], word[end]) not in merges]
    every = [*alphabet, *dict.fromkeys(left + right for left, right in merges)]
    core = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(every)}, merges=merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([*MARKS, *marks])
    made = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<pad>", model_max_length=100_000
    )
    made.chat_template = template
    return made


def llama_config(tokenizer: Any, *, width: int = 64, layers: int = 2, **more: Any) -> Any:
    """Return the configuration of a small Llama."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=65_536,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.3,  # far from uniform, so that mistakes show
        **more,
    )


def tiny_llama(folder: Path, *, template: str | None = TEMPLATE, words: tuple[str, ...] = (), **more: Any) -> Path:
    """Save a random Llama with its tokeniser."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    tokenizer = byte_tokenizer(template=template, words=words)
    LlamaForCausalLM(llama_config(tokenizer, **more)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_mistral(folder: Path) -> Path:
    """Save a random Mistral whose layers see the last 16 tokens only."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    tokenizer = byte_tokenizer()
    config = MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=16,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    MistralForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_gguf(path: Path) -> Path:
    """Save a random Llama with its tokeniser as a GGUF file."""
    import gguf
    import numpy as np

    tokenizer = byte_tokenizer(words=("ab",))
    width, heads, kv_heads, layers = 64, 4, 2, 2
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(65_536)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(width // heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in MARKS else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_chat_template(TEMPLATE)
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(tokens), width), "output": (len(tokens), width)}
    shapes["output_norm"] = (width,)
    for layer in range(layers):
        shapes |= {f"blk.{layer}.{name}": (width, width) for name in ("attn_q", "attn_output")}
        shapes |= {f"blk.{layer}.{name}": (width * kv_heads // heads, width) for name in ("attn_k", "attn_v")}
        shapes |= {f"blk.{layer}.{name}": (2 * width, width) for name in ("ffn_gate", "ffn_up")}
        shapes |= {f"blk.{layer}.ffn_down": (width, 2 * width)}
        shapes |= {f"blk.{layer}.{name}": (width,) for name in ("attn_norm", "ffn_norm")}
    for name, shape in shapes.items():
        values = rng.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tiny_t5(folder: Path) -> Path:
    """Save a random T5."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = byte_tokenizer(template=None)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        initializer_factor=2.0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def sentencepiece_t5(folder: Path, text: Path) -> Path:
    """Save a random T5 whose tokeniser is a SentencePiece model of a text, as older checkpoints bring it."""
    import sentencepiece
    from transformers import T5Config, T5ForConditionalGeneration

    folder.mkdir()
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "spiece"), vocab_size=1000, hard_vocab_limit=False, minloglevel=2,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
    )  # fmt: skip
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer", "extra_ids": 0}')
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    T5ForConditionalGeneration(T5Config(vocab_size=1100, decoder_start_token_id=0, **sizes)).save_pretrained(folder)
    return folder


def tiny_llava(folder: Path) -> Path:
    """Save a random LLaVA: images of 28 pixels a side become 4 tokens each."""
    import torch
    from transformers import CLIPImageProcessorPil, CLIPVisionConfig, LlavaConfig, LlavaForConditionalGeneration
    from transformers.models.llava.processing_llava import LlavaProcessor

    torch.manual_seed(0)
    tokenizer = byte_tokenizer(template=None)
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=28,
        patch_size=14,
        initializer_range=0.3,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=llama_config(tokenizer, width=32),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    images = CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    processor = LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=VISION_TEMPLATE,
        image_token="<image>",
        num_additional_image_tokens=1,
    )
    model = LlavaForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder for models of this session; one thread, since several that wait for each other take minutes under load."""
    need_local_models()
    import torch

    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OMP_NUM_THREADS", "1")
        yield tmp_path_factory.mktemp("models")
