"""What `spa contamination` would find, of scores that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.answers.study_texts import SEEN, UNSEEN, Source, StudyText, study_texts
from analysis.contamination.results import Contamination, ScoredText, contamination
from analysis.contamination.scores import FamiliarityScores
from analysis.report.contamination_page import write_page
from spa.study.load import load_study
from spa.study.outputs import load_outputs


def scored(texts: Sequence[StudyText], scores: Sequence[float]) -> list[ScoredText]:
    return [
        ScoredText(
            text=text,
            n_tokens=20,
            windows=1,
            scores=FamiliarityScores(
                min_k=score, min_k_plus_plus=score, log_likelihood=score, perplexity=1.0, zlib_ratio=score
            ),
        )
        for text, score in zip(texts, scores, strict=True)
    ]


def found_in(
    texts: Sequence[StudyText], scores: Sequence[float], *, seen: float = -3, model: str = "models/tiny"
) -> Contamination:
    """Return what is found beside 39 controls of each kind: unseen ones around -7, seen ones around ``seen``."""
    known: dict[Source, float] = {SEEN: seen, UNSEEN: -7}
    controls = [StudyText(source=kind, item_id=str(n), text="x") for kind in known for n in range(39)]
    spread = [middle + step for middle in known.values() for step in np.linspace(-2, 2, 39).tolist()]
    every = scored([*texts, *controls], [*scores, *spread])
    return contamination(every, model=model, fingerprint="ab", dtype="float32")


def write_contamination(study: Path) -> None:
    """Write that every text of a study looks seen to one model and none to another, beside the study."""
    loaded = load_study(study)
    texts = study_texts(loaded, load_outputs(loaded))
    for model, score in (("models/tiny", -4.0), ("models/<other>", -8.0)):
        write_page(found_in(texts, [score] * len(texts), model=model), [], study.parent)
