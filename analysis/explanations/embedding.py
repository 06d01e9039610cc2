"""Texts as vectors of length one: by a local model, else by TF-IDF with latent semantic analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.coding import Floats
from spa.errors import AnalysisError, how_to_install

DIMENSIONS = 100  # of latent semantic analysis
WITHOUT_SPACES = ("zh", "ja", "th")  # languages whose words are not set apart
EXTRA = "explanations"


def check_extra() -> None:
    """Raise an ``AnalysisError`` where scikit-learn is not installed."""
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise AnalysisError(f"explanations: expected the package scikit-learn, got none; {how_to_install(EXTRA)}")


def vectoriser(language: str, *, longest: int = 2) -> Any:
    """Return what counts the words of a language and pairs of them, or its characters where words are not set apart."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if language in WITHOUT_SPACES:
        return TfidfVectorizer(analyzer="char", ngram_range=(1, longest), sublinear_tf=True)
    words = "english" if language == "en" else None
    return TfidfVectorizer(stop_words=words, ngram_range=(1, longest), sublinear_tf=True)


def embed(texts: Sequence[str], *, language: str = "en", model: Path | None = None) -> Floats:
    """Return one vector of length 1 a text, shape (n_texts, n_dimensions); zeros for a text without known words.

    Parameters
    ----------
    texts : sequence of str
        At least two.
    language : str
        Of the texts.
    model : Path, optional
        Folder with a model of transformers whose last hidden states are averaged over a text's tokens; without it,
        TF-IDF of words and pairs of words, reduced to at most 100 dimensions.

    Raises
    ------
    PlatformError
        If the model cannot be used.
    """
    if model is not None:
        from spa.raters.local.embedding import embed_texts

        return _unit(embed_texts(model, texts))
    from sklearn.decomposition import TruncatedSVD

    try:
        weights = vectoriser(language.split("-")[0]).fit_transform(texts)
    except ValueError:  # no words at all
        return np.zeros((len(texts), 1))
    size = min(DIMENSIONS, weights.shape[0] - 1, weights.shape[1] - 1)
    if size < 2:
        return _unit(weights.toarray())
    with np.errstate(divide="ignore", invalid="ignore"):  # its shares of variance, where all texts are alike
        return _unit(TruncatedSVD(size, random_state=0).fit_transform(weights))


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = vectors / np.where(lengths > 0, lengths, 1.0)
    return scaled
