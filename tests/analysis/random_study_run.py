"""Change many random studies, and print what changes with them: ``python -m tests.analysis.random_study_run 0 100``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from spa.errors import SpaError
from tests.analysis.random_studies import ASKED, random_study
from tests.analysis.random_study_changes import CHANGES, changed_figures


def faults(asked: str, seed: int) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one study: under which change, and where."""
    study = random_study(asked, seed)
    for change in CHANGES:
        for path, before, after in changed_figures(study, change, seed):
            yield change, f"{path}: {str(before)[:100]} | {str(after)[:100]}"


def main(first: int, last: int) -> int:
    """Print the faults of all kinds of studies with these seeds, some of each sort; return how many there are."""
    counted: Counter[str] = Counter()
    for seed in range(first, last):
        for asked in ASKED:
            try:
                found = [*faults(asked, seed)]
            except SpaError as error:
                found = [("refused", f"{error}")]
            for what, text in found[:3]:
                print(asked, seed, what, text, flush=True)  # noqa: T201
            counted.update({what for what, _ in found})
    print(dict(counted))  # noqa: T201
    return sum(counted.values())


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:3]))))
