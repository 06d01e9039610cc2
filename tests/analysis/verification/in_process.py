"""Figures computed again in this process, which has the libraries."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import polars as pl

from analysis import Plan, StudyFacts
from analysis import analyse as analyse_records
from analysis.records.results import Results
from analysis.results.verified import with_verification
from analysis.verification.outcome import Gathered, Verification, outcome_of
from analysis.verification.process import Verifier
from analysis.verification.worker import answers
from tests.analysis.made_answers import check


class Here(Verifier):
    """Keeps what it is to compute."""

    gathered: Gathered

    def start(self, gathered: Gathered) -> None:
        """Begin no process."""
        self.gathered = gathered


class Unasked(Here):
    """Knows what could be computed, and asks no library."""

    def load(self) -> None:
        """Begin no process."""

    @property
    def started(self) -> bool:
        """Whether there are claims."""
        return hasattr(self, "gathered")

    def finish(self) -> Verification:
        """Return that nothing was computed."""
        return outcome_of(self.gathered, ["no_process"] * len(self.gathered.claims), {})


def analysed(tables: Any, plan: Plan | None = None, study: StudyFacts | None = None) -> tuple[Results, Gathered]:
    """Return results with what came of computing them again, and what was claimed."""
    here = Here()
    results = analyse_records(tables, plan or Plan(), study=study, verifier=here)
    gc.freeze()  # as the process does: multipletests collects garbage in each call
    told = pickle.dumps([(claim.call, dict(claim.numbers)) for claim in here.gathered.claims])
    assert not any(name in told for name in (b"polars", b"analysis")), "the process has neither"
    replies, versions = answers(pickle.loads(told))
    return with_verification(results, outcome_of(here.gathered, replies, versions)), here.gathered


def verified(*, plan: Plan | None = None, llms: tuple[str, ...] = (), **frames: pl.DataFrame) -> Results:
    """Check and analyse frames."""
    return analysed(check(llms=llms, **frames), plan)[0]
