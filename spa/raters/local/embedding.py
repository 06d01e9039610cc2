"""Texts as vectors, by a model on this machine: the mean of its last hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spa.errors import PlatformError
from spa.raters.local.model_folder import LOADING_ERRORS, REQUIRED, choose_threads, require

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 16  # texts
LONGEST = 512  # tokens of a text that are read


def embed_texts(folder: Path, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the mean over a text's tokens of a model's last hidden states, shape (n_texts, n_dimensions).

    The folder holds a model (an encoder, a decoder, or one trained for sentences) that transformers can load. Of each
    text at most the first 512 tokens are read, or as many as the model can. Raise PlatformError if the libraries or
    the model are missing.
    """
    require(str(folder), "a model on this machine", *REQUIRED)
    import numpy as np
    import torch
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    except LOADING_ERRORS as error:
        problem = " ".join(str(error).split())[:200]
        raise PlatformError(f"{folder}: expected a folder with a model of transformers, got: {problem}") from error
    torch.set_num_threads(choose_threads())
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    longest = min(LONGEST, getattr(model.config, "max_position_embeddings", None) or LONGEST)
    rows = [tokenizer(text, truncation=True, max_length=longest)["input_ids"] or [0] for text in texts]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    found: dict[int, Any] = {}
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        found |= dict(zip(places, _means(model, [rows[place] for place in places]), strict=True))
    return np.array([found[place] for place in range(len(rows))], dtype=np.float64)


def _means(model: Any, rows: Sequence[Sequence[int]]) -> Any:
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = (torch.arange(longest)[None] < torch.tensor([[len(row)] for row in rows])).long()
    with torch.inference_mode():
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask[..., None]
    return ((states * weights).sum(1) / weights.sum(1)).double().numpy()
