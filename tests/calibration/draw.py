"""Answers of many simulated studies at once, as tidy tables in which each study is a group of its own.

People differ in taste: every annotator has an own liking of every system, normal about the common
one. So the answers of one annotator hang together, and so do the tests of one study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, ndtr

from analysis.statistics.coding import Floats

Style = Callable[[np.random.Generator, Floats], Floats]
SKEWED = (0.4, 0.9)  # a weak no from four in five and a strong yes from one in five: 0.5 on average


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """How many annotate, how they differ, and what they like: strengths on the logit scale, or rating points."""

    annotators: int
    liking: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    taste: float = 0.8  # spread of an annotator's liking of a system

    @property
    def pairs(self) -> np.ndarray:
        """Pairs of systems, shape (n_pairs, 2)."""
        return np.array(list(combinations(range(len(self.liking)), 2)))

    def tastes(self, rng: np.random.Generator, studies: int) -> Floats:
        """Draw likings, shape (studies, annotators, systems)."""
        drawn = rng.normal(0, self.taste, (studies, self.annotators, len(self.liking)))
        return np.asarray(np.array(self.liking) + drawn, dtype=np.float64)


def slider(rng: np.random.Generator, gap: Floats) -> Floats:
    """Answer in whole percent, scattered about the chance that follows from the liking."""
    share: Floats = np.clip(expit(gap).astype(np.float64) + rng.normal(0, 0.1, gap.shape), 0, 1)
    return np.round(share, 2)


def often_half(rng: np.random.Generator, gap: Floats) -> Floats:
    """Answer 50 % three times in five."""
    return np.where(rng.random(gap.shape) < 0.6, 0.5, slider(rng, gap))


def extremes(rng: np.random.Generator, gap: Floats) -> Floats:
    """Answer 0 % or 100 % only."""
    return (gap + rng.normal(0, 0.5, gap.shape) > 0).astype(np.float64)


def skewed(rng: np.random.Generator, gap: Floats) -> Floats:
    """Answer 40 % mostly and 90 % rarely: for equal systems the mean is 50 %, and what lies beyond is highly skewed."""
    spread = np.sqrt(2) * 0.8
    high = ndtr(gap / spread) > 0.8
    return np.where(high, SKEWED[1], SKEWED[0])


def preferences(
    rng: np.random.Generator,
    studies: int,
    people: People,
    *,
    style: Style = slider,
    both: bool = False,
    exposures: int = 1,
) -> pl.DataFrame:
    """Draw preference probabilities of every annotator for every pair, in one direction or in both."""
    likes = people.tastes(rng, studies)
    x, y = people.pairs.T
    gap = np.repeat((likes[..., x] - likes[..., y])[:, :, None, :], exposures, axis=2)
    value = style(rng, gap)
    study, annotator, exposure, pair = np.indices(value.shape)
    columns = {"exposure": exposure + 1, "system_x": x[pair], "system_y": y[pair], "preference": value}
    table = _table(study, annotator, people.annotators, columns)
    if not both:
        return table
    turned = np.clip(np.round(1 - value + rng.normal(0, 0.04, value.shape), 2), 0, 1)
    columns |= {"system_x": y[pair], "system_y": x[pair], "preference": turned}
    return pl.concat([table, _table(study, annotator, people.annotators, columns)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """How many items, whether each annotator has others, and how far an item favours a system (``taste``)."""

    number: int = 10
    own: bool = False
    taste: float = 0.0


def ratings(
    rng: np.random.Generator,
    studies: int,
    people: People,
    items: Items = Items(),
    *,
    steps: bool = True,
    split: bool = False,
    criteria: int = 1,
) -> pl.DataFrame:
    """Draw ratings: 3 + liking + item + the item's own favour + annotator + noise, in steps of 1 to 5 or plain.

    With ``split`` each annotator sees one system only.
    """
    systems = len(people.liking)
    shape = (studies, people.annotators, items.number, systems)
    liking = people.tastes(rng, studies)[:, :, None, :]
    favour = _favours(rng, items, people, studies, systems)
    ease = np.linspace(-0.6, 0.6, items.number)[:, None]  # the same items in every study
    person = rng.normal(0, 0.4, (studies, people.annotators, 1, 1))
    tables = []
    for criterion in range(criteria):
        value = 3 + liking + favour + ease + person + rng.normal(0, 0.8, shape)
        value = np.clip(np.round(value), 1, 5) if steps else value
        study, annotator, item, system = np.indices(shape)
        if items.own:
            item = item + annotator * items.number
        columns = {"item_id": item, "system": system, "score": value, "criterion": np.full(shape, criterion)}
        kept = annotator % systems == system if split else np.ones(shape, dtype=bool)
        chosen = {name: column[kept] for name, column in columns.items()}
        tables.append(_table(study[kept], annotator[kept], people.annotators, chosen))
    return pl.concat(tables)


def choices(
    rng: np.random.Generator,
    studies: int,
    people: People,
    items: Items = Items(),
    *,
    ties: float = 0.2,
) -> pl.DataFrame:
    """Draw choices of every annotator for every item and pair; a share of them are ties."""
    liking = people.tastes(rng, studies)[:, :, None, :]
    liking = liking + _favours(rng, items, people, studies, len(people.liking))
    x, y = people.pairs.T
    share = expit(liking[..., x] - liking[..., y])
    won = np.where(rng.random(share.shape) < share, "x", "y")
    winner = np.where(rng.random(share.shape) < ties, "tie", won)
    study, annotator, item, pair = np.indices(share.shape)
    if items.own:
        item = item + annotator * items.number
    columns = {"item_id": item, "system_x": x[pair], "system_y": y[pair], "winner": winner}
    return _table(study, annotator, people.annotators, columns)


def _favours(rng: np.random.Generator, items: Items, people: People, studies: int, systems: int) -> Floats:
    judges = people.annotators if items.own else 1
    drawn: Floats = rng.normal(0, 1, (studies, judges, items.number, systems))
    return items.taste * drawn


def _table(study: Any, annotator: Any, annotators: int, columns: Mapping[str, Any]) -> pl.DataFrame:
    who = study.astype(np.int64) * annotators + annotator
    named = {"group": study, "annotator_id": who, **columns}
    return pl.DataFrame({name: column.ravel() for name, column in named.items()})
