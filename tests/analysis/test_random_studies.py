"""Random studies: no figure of theirs depends on names or on the order of rows and columns.

``python -m tests.analysis.random_study_run 0 100`` does the same, and more, of many studies.
"""

from __future__ import annotations

import pytest

from tests.analysis.random_studies import random_study
from tests.analysis.random_study_changes import changed_figures

# Of each, something once changed: the group that the first page names, the sign of a discrepancy, the reason why a
# model was not fitted, the system that a problem is put down to, what is drawn about circles.
CASES = (
    ("together", 2, "shuffled"),
    ("together", 3, "shuffled"),
    ("ratings", 0, "shuffled"),
    ("two_kinds", 4, "systems"),
    ("choices", 0, "criteria"),
)


@pytest.mark.parametrize(("asked", "seed", "change"), CASES)
def test_random_studies_do_not_depend_on_names_and_rows(asked: str, seed: int, change: str) -> None:
    assert changed_figures(random_study(asked, seed), change, seed) == []
