"""Look at many random studies, and print what is wrong: ``python -m tests.analysis.random_study_run 0 100``.

The first page is compared with a second opinion; with ``changes`` behind the numbers, names, order and sides are
changed, too.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator

from analysis.results.files import to_json
from spa.errors import SpaError
from tests.analysis.random_studies import ASKED, random_study
from tests.analysis.random_study_changes import CHANGES, changed_figures
from tests.analysis.second_opinion import SecondOpinion


def faults(asked: str, seed: int, *, changes: bool) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one study: under which change, and where."""
    study = random_study(asked, seed)
    opinion = SecondOpinion(study=study, results=json.loads(to_json(study.analyse())))
    yield from (("second opinion", text) for text in opinion.disagreements())
    for change in CHANGES if changes else ():
        try:
            for path, before, after in changed_figures(study, change, seed):
                yield change, f"{path}: {str(before)[:100]} | {str(after)[:100]}"
        except SpaError as error:  # such as two answers about one pair, once its sides are swapped
            yield f"{change}, refused", f"{error}"


def main(first: int, last: int, *, changes: bool) -> int:
    """Print the faults of all kinds of studies with these seeds, some of each; return how many have any."""
    counted: Counter[str] = Counter()
    wrong = 0
    for seed in range(first, last):
        for asked in ASKED:
            try:
                found = [*faults(asked, seed, changes=changes)]
            except SpaError as error:
                found = [("refused", f"{error}")]
            for what, text in found[:3]:
                print(asked, seed, what, text, flush=True)  # noqa: T201
            counted.update({what for what, _ in found})
            wrong += bool(found)
    print(f"{wrong} of {(last - first) * len(ASKED)} studies: {dict(counted)}")  # noqa: T201
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:3]), changes="changes" in sys.argv)))
