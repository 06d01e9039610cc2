"""How probable a causal model finds each token of a text, and how that compares with all tokens at its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from spa.errors import PlatformError
from spa.raters.local.model_folder import LoadedModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WINDOW = 2048  # tokens, where the model names no longest text
MOST_LOGITS = 2**26  # numbers held at once
MOST_TOKENS = {"cpu": 512, "cuda": 8192}  # read at once; larger batches leave a processor's cache
LEAST_TOKENS = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenStatistics:
    """Natural log-probabilities of the tokens of a text, shape (n_tokens,); the first token has none."""

    log_probabilities: NDArray[np.float64]
    means: NDArray[np.float64]  # over the vocabulary at each place, weighted by probability
    variances: NDArray[np.float64]
    windows: int  # in how many parts the text was read


class _Window(NamedTuple):
    """Part of a text: its tokens, and how many of them at its start are context only."""

    text: int
    tokens: Sequence[int]
    context: int


def token_statistics(
    loaded: LoadedModel, texts: Sequence[str], *, window: int | None = None, batched: bool = True
) -> list[TokenStatistics | None]:
    """Score every token of some texts given the tokens before it, by a causal model.

    Texts are tokenised as the model's tokeniser does it by itself. One that is longer than the window is read in
    windows that overlap by half, so that each token is scored once and after at least half a window. ``window`` is the
    number of tokens read at once; by default as many as the model can, or 2048 where it does not say. With
    ``batched``, texts of similar length are read together, padded on the right, where no token sees what follows.

    Return ``None`` for a text of less than two tokens, of which none can be scored. Raise PlatformError if the model
    is not causal, or the window is longer than the model can read.
    """
    import numpy as np

    size = _window_size(loaded, window)
    windows = [part for number, text in enumerate(texts) for part in _windows(loaded, number, text, size)]
    found: list[list[NDArray[np.float64]]] = [[] for _ in texts]
    order = sorted(range(len(windows)), key=lambda place: len(windows[place].tokens))
    scored: dict[int, NDArray[np.float64]] = {}
    for batch in _batches(order, windows, loaded, batched=batched):
        parts = [windows[place] for place in batch]
        scored.update(zip(batch, _score(loaded, parts), strict=True))
    for place, part in enumerate(windows):
        found[part.text].append(scored[place])
    return [_joined(np.concatenate(parts, axis=1), len(parts)) if parts else None for parts in found]


def _joined(rows: NDArray[np.float64], windows: int) -> TokenStatistics:
    return TokenStatistics(log_probabilities=rows[0], means=rows[1], variances=rows[2], windows=windows)


def _window_size(loaded: LoadedModel, window: int | None) -> int:
    if loaded.kind != "causal":
        raise PlatformError(f"expected a causal model, got one of kind {loaded.kind!r}; name another model")
    longest = loaded.longest
    if window is not None and longest is not None and window > longest:
        raise PlatformError(f"--window: expected at most the {longest} tokens that the model can read, got {window}")
    return window or longest or WINDOW


def _windows(loaded: LoadedModel, number: int, text: str, size: int) -> Iterator[_Window]:
    tokens = loaded.tokenizer(text, verbose=False)["input_ids"]
    if len(tokens) < LEAST_TOKENS:
        return
    yield _Window(number, tokens[:size], 1)
    for end in range(size, len(tokens), size - size // 2):
        start = end - size // 2
        yield _Window(number, tokens[start : start + size], end - start)


def _batches(
    order: Sequence[int], windows: Sequence[_Window], loaded: LoadedModel, *, batched: bool
) -> Iterator[list[int]]:
    """Yield places of windows of similar length, as many as may be held at once."""
    most = min(MOST_TOKENS[loaded.device], MOST_LOGITS // loaded.model.get_input_embeddings().num_embeddings)
    batch: list[int] = []
    for place in order:
        if batch and (not batched or (len(batch) + 1) * len(windows[place].tokens) > most):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _score(loaded: LoadedModel, parts: Sequence[_Window]) -> Iterator[Any]:
    """Yield for each window an array of shape (3, n): log-probability, mean and variance of its own tokens."""
    import torch

    longest = max(len(part.tokens) for part in parts)
    ids = torch.tensor([[*part.tokens, *[0] * (longest - len(part.tokens))] for part in parts], device=loaded.device)
    lengths = torch.tensor([len(part.tokens) for part in parts], device=loaded.device)
    mask = (torch.arange(longest, device=loaded.device)[None] < lengths[:, None]).long()
    with torch.inference_mode():
        logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        for row, part in enumerate(parts):
            places = slice(part.context - 1, len(part.tokens) - 1)
            own = ids[row, part.context : len(part.tokens)].to("cpu")
            chunks = max(1, MOST_LOGITS // 8 // logits.shape[-1])
            scored = [
                _statistics(part_logits, part_ids)
                for part_logits, part_ids in zip(logits[row, places].split(chunks), own.split(chunks), strict=True)
            ]
            yield torch.cat(scored, dim=1).numpy()


def _statistics(logits: Any, ids: Any) -> Any:
    """Return log-probability, mean and variance at some places, in 64 bits."""
    import torch

    logs = logits.to("cpu", torch.float64).log_softmax(-1)
    probabilities = logs.exp()
    means = (probabilities * logs.nan_to_num(neginf=0)).sum(-1)
    variances = (probabilities * (logs - means[:, None]).square().nan_to_num(posinf=0)).sum(-1)
    return torch.stack([logs.gather(-1, ids[:, None])[:, 0], means, variances])
