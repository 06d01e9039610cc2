"""Keywords, separation and map of a study's explanations and comments, worked out together."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from unicodedata import category

import numpy as np

from analysis.explanations.embedding import WITHOUT_SPACES, check_extra, embed
from analysis.explanations.separation import Separation, separation
from analysis.explanations.texts import ExplainedText, hash_of, masked
from analysis.statistics.coding import Floats
from analysis.statistics.record import Count, Positive, Record
from spa.errors import AnalysisError, how_to_install

Method = Literal["YAKE", "TF-IDF"]
TOP = 30  # as Chhun et al. (2024), with terms of up to three words
LONGEST = 3  # words
Parts = Mapping[tuple[str, str], Sequence[str]]
KeywordsByGroup = dict[tuple[str, str], list[tuple[str, float]]]


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


MOST = 2000  # texts that are embedded, drawn at random of more
FEWEST_NEIGHBOURS, NEIGHBOURS, DISTANCE = 10, 15, 0.1  # of UMAP


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MapPoint(Record):
    """Where one text stands on the map."""

    group: str
    criterion: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExplorationResults(Record):
    """Keywords, separation and map of explanations and comments, without the texts."""

    texts: str
    """Hash of all texts."""
    n_texts: Count
    embedding: str
    projection: str
    keyword_note: str
    keywords: tuple[Keyword, ...]
    separations: tuple[Separation, ...]
    points: tuple[MapPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What was found in the texts."""

    texts: tuple[ExplainedText, ...]  # those on the map
    n_texts: int  # of all
    fingerprint: str  # of all
    points: Floats  # shape (n_texts on the map, 2)
    projection: str
    embedding: str
    keywords: tuple[Keyword, ...]  # of all texts
    separations: tuple[Separation, ...]

    def keyword_note(self) -> str:
        """Say how keywords were found."""
        if self.keywords and self.keywords[0].method == "TF-IDF":
            return f"Keywords are the terms of highest TF-IDF, as YAKE is not installed: {how_to_install('keywords')}"
        return "Keywords are those of YAKE; a lower score is more relevant."

    def results(self) -> ExplorationResults:
        """Return what a report shows."""
        return ExplorationResults(
            texts=self.fingerprint,
            n_texts=self.n_texts,
            embedding=self.embedding,
            projection=self.projection,
            keyword_note=self.keyword_note(),
            keywords=self.keywords,
            separations=self.separations,
            points=tuple(
                MapPoint(group=text.group, criterion=text.criterion, x=float(x), y=float(y))
                for (x, y), text in zip(self.points, self.texts, strict=True)
            ),
        )

    def map_rows(self) -> list[dict[str, object]]:
        """Return a row a point, with its text."""
        return [
            {"point": number, "x": float(x), "y": float(y), **asdict(text)}
            for number, ((x, y), text) in enumerate(zip(self.points, self.texts, strict=True))
        ]


def explore(
    texts: Sequence[ExplainedText],
    criteria: Sequence[str],
    *,
    rng: np.random.Generator,
    language: str = "en",
    model: Path | None = None,
) -> Exploration:
    """Find keywords, embed the texts with the names of criteria masked, test separation there, and draw the map.

    Parameters
    ----------
    texts : sequence of ExplainedText
        Explanations and comments.
    criteria : sequence of str
        Names and ids of the criteria, which are masked in the embedding.
    rng : numpy.random.Generator
        Draws texts where there are more than 2,000, shuffles, and starts UMAP.
    language : str
        Of the texts.
    model : Path, optional
        Folder with a model that embeds; TF-IDF without it.

    Raises
    ------
    AnalysisError
        If there are less than two texts, or scikit-learn is not installed.
    PlatformError
        If the model cannot be used.
    """
    check_extra()
    if len(texts) < 2:
        raise AnalysisError(
            f"explanations: expected at least two explanations or comments, got {len(texts)}; ask raters with "
            'explain = "after", or people with reason = true or [[interview]]'
        )
    drawn = sorted(rng.choice(len(texts), MOST, replace=False)) if len(texts) > MOST else range(len(texts))
    shown = [texts[place] for place in drawn]
    vectors = embed([masked(one.text, criteria) for one in shown], language=language, model=model)
    points, projection = project(vectors, rng=rng)
    groups = list(dict.fromkeys(one.group for one in shown))
    own = {group: [place for place, one in enumerate(shown) if one.group == group] for group in groups}
    return Exploration(
        texts=tuple(shown),
        n_texts=len(texts),
        fingerprint=hash_of(texts),
        points=points,
        projection=projection,
        embedding="TF-IDF" if model is None else f"the model {model.name}",
        keywords=tuple(keywords(texts, language=language)),
        separations=tuple(
            separation(
                group,
                vectors[places],
                [shown[place].criterion for place in places],
                [shown[place].unit for place in places],
                rng=rng,
            )
            for group, places in own.items()
        ),
    )


def project(vectors: Floats, *, rng: np.random.Generator) -> tuple[Floats, str]:
    """Return a point in the plane for each vector, and by what: UMAP, or PCA without umap-learn or with few texts.

    References
    ----------
    McInnes, L., Healy, J. & Melville, J. (2018). UMAP: uniform manifold approximation and projection. arXiv:1802.03426.
    """
    if len(vectors) > FEWEST_NEIGHBOURS and vectors.any() and find_spec("umap") is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImportWarning)  # that TensorFlow is absent
            from umap import UMAP

        neighbours = min(NEIGHBOURS, len(vectors) - 1)
        start = "spectral" if len(vectors) > 4 * NEIGHBOURS else "random"
        mapper = UMAP(
            n_neighbors=neighbours,
            min_dist=DISTANCE,
            metric="cosine",
            init=start,
            random_state=int(rng.integers(2**31)),
            n_jobs=1,
        )
        return np.asarray(mapper.fit_transform(vectors), float), "UMAP"
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : min(2, len(sizes))] = (left * sizes)[:, :2]
    return points, "PCA"


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


def _yake(parts: Parts, language: str) -> KeywordsByGroup:
    import yake

    extractor = yake.KeywordExtractor(lan=language, n=LONGEST, top=2 * TOP)
    return {
        part: [(str(word), float(score)) for word, score in extractor.extract_keywords("\n\n".join(texts))]
        for part, texts in parts.items()
    }


def _tf_idf(parts: Parts, language: str) -> KeywordsByGroup:
    """Weigh terms by their frequency in a part and their rarity among parts."""
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
    found: KeywordsByGroup = {}
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
