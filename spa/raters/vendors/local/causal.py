"""Models that write on from what they read: probabilities of what comes next, and what they write.

What was read last is kept as key-value cache. Prompts of one form share instructions and texts, so
that only what differs at the end is computed.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal

from spa.media import sent_media
from spa.raters.local.model_folder import LoadedModel
from spa.raters.vendors.local.local_prompt import LocalPrompt
from spa.raters.vendors.local.option_tree import OptionTree, Path, shared_length

CacheStrategy = Literal["packed", "in steps", "copied", "alone"]
REUSING: tuple[CacheStrategy, ...] = ("packed", "in steps")
LONG = 256  # tokens read in one plain pass before the places after them are looked at
CLOSE = {"float32": 1e-4}  # most that a probability may change when a prefix is reused
CLOSE_ROUGH = 2e-2  # for numbers of 16 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScores:
    """What a model gives to the tokens that may come next, and how much of the prompt was known."""

    log_probabilities: Mapping[Path, Mapping[int, float]]
    reused: int  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedText:
    """What a model wrote."""

    tokens: tuple[int, ...]
    reused: int


class CausalModel:
    """A causal model, of text or of files and text.

    ``strategy`` is how positions after the prompt are scored: "packed" (all in one pass, each seeing only what leads to
    it), "in steps" (one after another, the cache cropped each time), "copied" (each with a copy of the prompt's cache:
    for models with sliding windows or recurrence) or "alone" (each with the whole prompt). It is the first that
    reproduces the model's own probabilities in a trial when it is loaded.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._model = loaded.model
        self._device = loaded.device
        self._close = CLOSE.get(loaded.dtype, CLOSE_ROUGH)
        taken = inspect.signature(loaded.model.forward).parameters
        self._cuts = "logits_to_keep" in taken
        self._cache_name = "cache" if "cache" in taken else "past_key_values"  # before transformers 5.24
        self._file_tokens = _file_tokens(loaded.model.config)
        self._plain_places = "mrope_section" not in json.dumps(loaded.model.config.to_dict(), default=str)
        self._known: tuple[object, ...] = ()
        self._cache: Any = None
        self.strategy: CacheStrategy = self._choose_strategy()

    def score_options(self, prompt: LocalPrompt, tree: OptionTree) -> TokenScores:
        """Return the logarithms of the probabilities of every token that leads on to an option."""
        strategy = self.strategy if self._may_reuse(prompt) else "alone"
        cut = _cut(prompt, len(prompt.tokens) - tree.dropped)
        found, reused = self._logits(cut, tree.inner, strategy)
        chosen = {place: {token: float(row[token]) for token in tree.children(place)} for place, row in found.items()}
        return TokenScores(log_probabilities=chosen, reused=reused)

    def generate(self, prompt: LocalPrompt, generation: Any) -> GeneratedText:
        """Return what the model writes after a prompt."""
        import torch

        given: dict[str, Any] = dict(prompt.extra)
        reused = 0
        reusing = self.strategy in REUSING and self._may_reuse(prompt)
        if reusing:
            reused = self._reuse_prefix(prompt)
            given = {} if reused else given
        given = self._to_device(given)
        if reusing:
            given[self._cache_name] = self._cache
        ids = self._tensor(prompt.tokens)
        whole = self._model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=generation, **given
        )[0].tolist()
        if reusing:  # the token written last has not been read
            self._keep(_keys(prompt.files, whole[:-1]))
        return GeneratedText(tokens=tuple(whole[len(prompt.tokens) :]), reused=reused)

    def _logits(
        self, prompt: LocalPrompt, places: Sequence[Path], strategy: CacheStrategy
    ) -> tuple[dict[Path, Any], int]:
        """Return log-probabilities over the vocabulary at each place, and the number of tokens known before."""
        if strategy == "alone":
            return {place: self._without_cache(prompt, place) for place in places}, 0
        if strategy == "copied":
            return self._copied(prompt, places), 0
        reused = self._reuse_prefix(prompt)
        rest: Sequence[int] = prompt.tokens[reused:]
        last = None
        if prompt.extra and not reused:
            last, rest = self._read(rest, prompt.extra), ()
        elif len(rest) > LONG:
            self._read(rest[:-1])
            rest = rest[-1:]
        compute = self._packed if strategy == "packed" else self._in_steps
        found = compute(rest, places, last)
        self._keep(_keys(prompt.files, prompt.tokens))
        return found, reused

    def _packed(self, rest: Sequence[int], places: Sequence[Path], last: Any) -> dict[Path, Any]:
        """Look at all places in one pass: each token sees the prompt and the tokens that lead to it."""
        import torch

        nodes = [place for place in places if place]
        every = sorted({place[:length] for place in nodes for length in range(1, len(place) + 1)}, key=len)
        found: dict[Path, Any] = {} if last is None else {(): last}
        if not every:
            return {(): self._read(rest)} if rest else found
        past = self._cache.get_seq_length()
        start, size = past + len(rest), len(rest) + len(every)
        seen = torch.ones(size, past + size, dtype=torch.bool).tril(past)
        seen[len(rest) :, start:] = False
        row = {place: len(rest) + number for number, place in enumerate(every)}
        for place, number in row.items():
            for length in range(1, len(place) + 1):
                seen[number, past + row[place[:length]]] = True
        depths = [start + len(place) - 1 for place in every]
        mask = torch.zeros(seen.shape, dtype=self._model.dtype).masked_fill(~seen, torch.finfo(self._model.dtype).min)
        kept = len(every) + (1 if rest else 0)
        logits = self._forward(
            [*rest, *(place[-1] for place in every)],
            kept,
            attention_mask=mask[None, None].to(self._device),
            position_ids=self._tensor([*range(past, start), *depths]),
        )
        self._cache.crop(-len(every))
        if rest:
            found[()] = logits[0]
        return found | {place: logits[number - size] for place, number in row.items() if place in set(nodes)}

    def _in_steps(self, rest: Sequence[int], places: Sequence[Path], last: Any) -> dict[Path, Any]:
        found: dict[Path, Any] = {(): self._read(rest) if rest else last}
        for place in places:
            if place:
                found[place] = self._read(place)
                self._cache.crop(-len(place))
        return found

    def _copied(self, prompt: LocalPrompt, places: Sequence[Path]) -> dict[Path, Any]:
        """Look at each place with a copy of what is known after the prompt."""
        self._cache = self._empty()
        found: dict[Path, Any] = {(): self._read(prompt.tokens, prompt.extra)}
        known = self._cache
        for place in places:
            if place:
                self._cache = deepcopy(known)
                found[place] = self._read(place)
        self._forget()
        return found

    def _without_cache(self, prompt: LocalPrompt, place: Path) -> Any:
        longer = _cut(prompt, len(prompt.tokens) + len(place))
        return self._forward((*prompt.tokens, *place), 1, use_cache=False, **self._to_device(longer.extra))[0]

    def _read(self, tokens: Sequence[int], extra: Mapping[str, Any] | None = None) -> Any:
        """Read on, and return log-probabilities of what comes next."""
        return self._forward(tokens, 1, **self._to_device(extra or {}))[0]

    def _forward(self, tokens: Sequence[int], kept: int, **given: Any) -> Any:
        import torch

        if given.get("use_cache", True):
            given |= {self._cache_name: self._cache, "use_cache": True}
        if self._cuts:
            given["logits_to_keep"] = kept
        with torch.inference_mode():
            logits = self._model(input_ids=self._tensor(tokens), **given).logits
        return logits[0, -kept:].to("cpu", torch.float64).log_softmax(-1)

    def _reuse_prefix(self, prompt: LocalPrompt) -> int:
        """Cut the cache back to what it shares with a prompt, and return how many tokens these are."""
        keys = _keys(prompt.files, prompt.tokens)
        shared = shared_length(self._known, keys[:-1])  # at least one token is computed
        last_file = max((n for n, token in enumerate(prompt.tokens) if token in self._file_tokens), default=-1)
        if self._cache is None or not shared or shared <= last_file:
            self._forget()
            self._cache = self._empty()
            return 0
        self._cache.crop(shared - self._cache.get_seq_length())
        self._known = self._known[:shared]
        return shared

    def _keep(self, keys: tuple[object, ...]) -> None:
        """Note what the cache holds; where a model kept something else, forget it."""
        if self._cache.get_seq_length() == len(keys):
            self._known = keys
        else:
            self._forget()

    def _forget(self) -> None:
        self._cache, self._known = None, ()

    def _empty(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._model.config)

    def _may_reuse(self, prompt: LocalPrompt) -> bool:
        """Return whether a prompt may be read on from a cache: with files, only where places are counted plainly."""
        return not prompt.files or (self._plain_places and bool(self._file_tokens))

    def _choose_strategy(self) -> CacheStrategy:
        """Compare each strategy with reading anew on a few tokens, and return the first that agrees."""
        size = min(self._model.get_input_embeddings().num_embeddings, 90)
        tokens = [number for number in range(size) if number not in self._file_tokens][-12:]
        first = LocalPrompt(text="", tokens=tuple(tokens[:8]))
        second = LocalPrompt(text="", tokens=(*tokens[:5], *tokens[8:11]))
        places: list[Path] = [(), (tokens[1],), (tokens[2],), (tokens[2], tokens[-1])]
        right, _ = self._logits(second, places, "alone")
        plain = all(type(layer).__name__ == "DynamicLayer" for layer in self._empty().layers)
        strategies: tuple[CacheStrategy, ...] = (*(REUSING if plain else ()), "copied")
        for strategy in strategies:
            try:
                self._logits(first, [()], strategy)
                found, _ = self._logits(second, places, strategy)
            except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):  # a model without such a cache
                self._forget()
                continue
            self._forget()
            if all((found[place].exp() - right[place].exp()).abs().max() <= self._close for place in places):
                return strategy
        return "alone"

    def _tensor(self, tokens: Sequence[int]) -> Any:
        import torch

        return torch.tensor([list(tokens)], device=self._device)

    def _to_device(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value.to(self._device, self._model.dtype if value.is_floating_point() else None)
            for name, value in extra.items()
        }


def _keys(files: tuple[str, ...], tokens: Sequence[int]) -> tuple[object, ...]:
    """Return what a cache is known by: the tokens, and which files stand among them."""
    return tuple((token, files) if files else token for token in tokens)


def _file_tokens(config: Any) -> frozenset[int]:
    """Return the tokens that stand in the place of files."""
    names = (f"{models.processor_type}_token_{end}" for _, models in sent_media() for end in ("id", "index"))
    return frozenset(token for name in names if isinstance(token := getattr(config, name, None), int))


def _cut(prompt: LocalPrompt, size: int) -> LocalPrompt:
    """Return a prompt with fewer tokens, or room for more of text: what goes with each token is cut to fit."""
    import torch

    now = len(prompt.tokens)
    extra = {
        name: torch.nn.functional.pad(value[:, :size], (0, max(0, size - now))) if value.shape == (1, now) else value
        for name, value in prompt.extra.items()
    }
    return replace(prompt, tokens=prompt.tokens[:size], extra=extra)
