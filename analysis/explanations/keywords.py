"""The keywords of each group and criterion: YAKE where it is installed, else the terms of highest TF-IDF."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal
from unicodedata import category

from analysis.explanations.embedding import WITHOUT_SPACES
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
        written = str.lower if language.split("-")[0] in WITHOUT_SPACES else _spaced
        own = [written(text) for text in parts[group, criterion]]
        counted = [(keyword, score, sum(written(keyword) in text for text in own)) for keyword, score in found]
        kept = [one for one in counted if one[2]][:TOP]  # YAKE's words are not always the text's, and may cross its end
        for rank, (keyword, score, there) in enumerate(kept, start=1):
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

    extractor = yake.KeywordExtractor(lan=language, n=LONGEST, top=2 * TOP)
    return {
        part: [(str(word), float(score)) for word, score in extractor.extract_keywords("\n\n".join(texts))]
        for part, texts in parts.items()
    }


def _tf_idf(parts: Parts, language: str) -> Found:
    """Weigh terms by their frequency in a part and their rarity among parts."""
    import numpy as np
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    from analysis.explanations.embedding import vectoriser

    if language in WITHOUT_SPACES:
        counter = vectoriser(language, longest=LONGEST)
    else:
        left_out = ENGLISH_STOP_WORDS if language == "en" else frozenset[str]()
        counter = TfidfVectorizer(analyzer=lambda text: list(phrases(text, left_out)), sublinear_tf=True)
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


def phrases(text: str, left_out: Collection[str] = ()) -> Iterator[str]:
    """Yield each run of up to three words that stand side by side, none of them left out or a single letter.

    Nothing stands between the words but white space, so that each phrase is one of the text.

    >>> list(phrases("A dull end, and dull throughout.", {"and"}))
    ['dull', 'dull end', 'end', 'dull', 'dull throughout', 'throughout']
    """
    run: list[str] = []
    for word in (*_words(text), None):
        if word is not None and len(word) > 1 and word not in left_out and not word.endswith("'t"):
            run.append(word)
            continue
        for first in range(len(run)):
            for size in range(1, min(LONGEST, len(run) - first) + 1):
                yield " ".join(run[first : first + size])
        run = []


def _words(text: str) -> Iterator[str | None]:
    """Yield words in small letters, their marks with them; ``None`` where more than white space parts two of them."""
    signs = "".join(" " if sign.isspace() else sign if _in_word(sign) else "|" for sign in text.lower())
    apart = re.sub(r"(?<![^ |])['\u2019-]|['\u2019-](?![^ |])", "|", signs)  # quotes and dashes
    for piece in re.findall(r"[^ |]+|\|", apart.replace("\u2019", "'")):
        yield None if piece == "|" else piece


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign in "'\u2019-" or category(sign).startswith("M")


def _spaced(text: str) -> str:
    """Return a text's words between spaces, so that whole words are found in it."""
    return " " + " ".join("|" if word is None else word for word in _words(text)) + " "
