"""BERTScore: words matched by the similarity of their vectors in a language model on this machine."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts, mean
from analysis.statistics.coding import Floats
from spa.errors import AnalysisError

LONGEST = 512  # tokens of a text; what follows is cut, and the signature says so


def bertscore(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute BERTScore's F1 in percent, without weights and rescaling; of several references the best counts.

    Raises
    ------
    AnalysisError
        Where no model was given, or it cannot be read.

    References
    ----------
    Zhang, T., Kishore, V., Wu, F., Weinberger, K. Q. and Artzi, Y. (2020). BERTScore: evaluating text generation with
    BERT. ICLR, equation 1.
    """
    model = settings.loaded.get("bertscore") or _Model(settings)
    settings.loaded["bertscore"] = model
    assert isinstance(model, _Model)
    values = [
        100 * max(greedy_f1(*model.vectors(text), *model.vectors(one)) for one in refs)
        for text, refs in zip(texts.outputs, texts.references, strict=True)
    ]
    libraries = f"spa-eval|version:{version('spa-eval')}|transformers:{version('transformers')}"
    signature = f"{libraries}|{model.signature}|idf:no|refs:best"
    return [
        MetricScores(metric="bertscore", values=values, corpus=mean(values), higher_is_better=True, signature=signature)
    ]


def greedy_f1(output: Floats, own: np.ndarray[Any, Any], reference: Floats, theirs: np.ndarray[Any, Any]) -> float:
    """Return F1 of each token's highest cosine with a token of the other text.

    Parameters
    ----------
    output, reference : array of float, shape (n_tokens, n_dimensions)
        Vectors of length 1.
    own, theirs : array of bool, shape (n_tokens,)
        Tokens that are averaged: all but special ones, which may be matched all the same, as in the authors' code.

    >>> one = np.eye(2)
    >>> round(greedy_f1(one, np.array([True, True]), one[:1], np.array([True])), 4)
    0.6667
    """
    cosines = output @ reference.T
    precision, recall = float(cosines.max(axis=1)[own].mean()), float(cosines.max(axis=0)[theirs].mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class _Model:
    """A model that was read, and the vectors of texts seen before."""

    def __init__(self, settings: MetricSettings) -> None:
        import torch
        import transformers
        from transformers import AutoModel, AutoTokenizer

        path = settings.bertscore_model
        if path is None:
            raise AnalysisError("expected --bertscore-model FOLDER with a model on this machine, got none")
        transformers.utils.logging.disable_progress_bar()  # the command has its own
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
            self.model = AutoModel.from_pretrained(path, local_files_only=True).eval()
        except (OSError, ValueError) as error:
            found = str(error).splitlines()[0]
            raise AnalysisError(f"{path}: expected a folder with a transformers model, got: {found}") from error
        self.torch = torch
        self.layer = settings.bertscore_layer
        longest = min(LONGEST, getattr(self.model.config, "max_position_embeddings", LONGEST))
        self.longest = min(longest, self.tokenizer.model_max_length)
        self.signature = f"model:{path.name}|layer:{self.layer}|tokens:{self.longest}"
        self.seen: dict[str, tuple[Floats, np.ndarray[Any, Any]]] = {}

    def vectors(self, text: str) -> tuple[Floats, np.ndarray[Any, Any]]:
        """Return one vector of length 1 a token, and which tokens are words."""
        if text not in self.seen:
            asked = self.tokenizer(
                text, return_tensors="pt", truncation=True, max_length=self.longest, return_special_tokens_mask=True
            )
            special = asked.pop("special_tokens_mask")[0].numpy().astype(bool)
            with self.torch.no_grad():
                states = self.model(**asked, output_hidden_states=True).hidden_states
            if not -len(states) <= self.layer < len(states):
                raise AnalysisError(f"expected --bertscore-layer from 0 to {len(states) - 1}, got {self.layer}")
            found = states[self.layer][0].double().numpy()
            found = found / np.linalg.norm(found, axis=1, keepdims=True)
            words = np.ones_like(special) if special.all() else ~special
            self.seen[text] = found, words
        return self.seen[text]
