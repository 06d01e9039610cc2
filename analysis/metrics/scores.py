"""What metrics are computed from, and what each gives: a value an output and, apart from these, one a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTexts:
    """The outputs of one system, with the texts that each is compared with and what the system was given."""

    outputs: Sequence[str]
    references: Sequence[Sequence[str]]  # shape (n_outputs, 0 or more)
    sources: Sequence[str]  # shape (n_outputs,); "" where the study has none


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScores:
    """One metric of one system.

    Parameters
    ----------
    metric : str
        Name in the tables.
    values : sequence of float, shape (n_outputs,)
        One an output.
    corpus : float
        The metric of all outputs together, as its authors define it; of many metrics no mean of ``values``.
    higher_is_better : bool or None
        ``None`` where neither is.
    signature : str
        Library, version and settings.
    """

    metric: str
    values: Sequence[float]
    corpus: float
    higher_is_better: bool | None
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSettings:
    """What metrics may depend on besides the texts; ``language`` is that of the outputs ("en", "zh")."""

    language: str | None = None  # where absent, of a study by its outputs, else English
    bertscore_model: Path | None = None
    bertscore_layer: int = -1
    spacy_model: str = "en_core_web_sm"
    loaded: dict[str, object] = field(default_factory=dict)  # models, each read once


Metric: TypeAlias = Callable[[SystemTexts, MetricSettings], list[MetricScores]]


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)
