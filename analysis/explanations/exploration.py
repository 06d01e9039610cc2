"""Keywords, separation and map of a study's explanations and comments, worked out together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from analysis.explanations.embedding import check_extra, embed
from analysis.explanations.keywords import Keyword, keywords
from analysis.explanations.separation import Separation, separation
from analysis.explanations.texts import ExplainedText, hash_of, masked
from analysis.statistics.coding import Floats
from analysis.statistics.record import Count, Record
from spa.errors import AnalysisError, how_to_install

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
