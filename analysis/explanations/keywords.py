"""The keywords of each group and criterion: YAKE where it is installed, else the terms of highest TF-IDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from analysis.explanations.texts import ExplainedText
from analysis.statistics.record import Count, Positive, Record

Method = Literal["YAKE", "TF-IDF"]
TOP = 30  # as Chhun et al. (2024), with terms of up to three words
LONGEST = 3  # words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Keyword(Record):
    """A keyword of the texts of one group on one criterion."""

    group: str
    criterion: str
    rank: Positive
    keyword: str
    score: float
    """YAKE: lower is more relevant; TF-IDF: higher."""
    method: Method
    n_texts: Count
    """In which it stands."""


def keyword_method() -> Method:
    """Return how keywords are found with what is installed."""
    return "YAKE" if find_spec("yake") is not None else "TF-IDF"


def keywords(texts: Sequence[ExplainedText], *, language: str = "en", method: Method | None = None) -> list[Keyword]:
    """Return up to 30 keywords for each group and criterion, the most relevant first.

    Parameters
    ----------
    texts : sequence of ExplainedText
        Explanations and comments.
    language : str
        Their language, for words that are never keywords.
    method : {"YAKE", "TF-IDF"}, optional
        By default YAKE where it is installed.

    References
    ----------
    Campos, R. et al. (2020). YAKE! Keyword extraction from single documents using multiple local features.
    Information Sciences, 509, 257-289.
    """
    parts: dict[tuple[str, str], list[str]] = {}
    for one in texts:
        parts.setdefault((one.group, one.criterion), []).append(one.text)
    method = method or keyword_method()
    find = _yake if method == "YAKE" else _tf_idf
    rows = []
    for (group, criterion), found in find(parts, language.split("-")[0]).items():
        own = [" ".join(text.lower().split()) for text in parts[group, criterion]]
        for rank, (keyword, score) in enumerate(found, start=1):
            there = sum(keyword.lower() in text for text in own)
            rows.append(
                Keyword(
                    group=group,
                    criterion=criterion,
                    rank=rank,
                    keyword=keyword,
                    score=score,
                    method=method,
                    n_texts=there,
                )
            )
    return rows


Parts = Mapping[tuple[str, str], Sequence[str]]
Found = dict[tuple[str, str], list[tuple[str, float]]]


def _yake(parts: Parts, language: str) -> Found:
    import yake

    extractor = yake.KeywordExtractor(lan=language, n=LONGEST, top=TOP)
    return {
        part: [(str(word), float(score)) for word, score in extractor.extract_keywords("\n".join(texts))]
        for part, texts in parts.items()
    }


def _tf_idf(parts: Parts, language: str) -> Found:
    """Weigh terms by their frequency in a part and their rarity among parts."""
    import numpy as np

    from analysis.explanations.embedding import vectoriser

    counter = vectoriser(language, longest=LONGEST)
    try:
        weights = counter.fit_transform("\n".join(texts) for texts in parts.values())
    except ValueError:  # no words at all
        return {part: [] for part in parts}
    terms = counter.get_feature_names_out()
    found: Found = {}
    for number, part in enumerate(parts):
        row = weights[number].toarray()[0]
        best = np.argsort(-row, kind="stable")[:TOP]
        found[part] = [(str(terms[place]), float(row[place])) for place in best if row[place] > 0]
    return found
