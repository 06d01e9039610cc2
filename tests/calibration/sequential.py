"""Whether live studies keep their error rate, and what they save; ``make calibrate`` writes ``sequential.md``."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.calibration import sequential_criteria, sequential_errors, sequential_replays, sequential_saving
from tests.calibration.sequential_errors import BATCH

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ERRORS = """# Live studies

Studies that are looked at after every person and ask no further about a pair that is decided (`make calibrate`, seed
{seed}).

## False decisions

Share of {runs:,} studies of {people} people (four pairs, familywise error rate 5 %, Monte-Carlo SE {error:.1f}) with
any false decision at any moment: a pair at 50 % said to differ, a wrong direction, a pair at the margin or beyond it
said to be equal. Without a margin only the first is promised to stay within 5 % by a theorem, of any answers and
people; with a margin all three are. Beside it, on the same answers: Holm's t-tests, read after every person from the
fifth on.

"""
CRITERIA = """
## Several criteria

All that decides is one family. Any false decision at any moment in {runs:,} studies of {people} people, by the
number of criteria with four pairs each; the answers of a person about one pair correlate over criteria. "apart": the
same answers, were each criterion a family with its own error rate, as in stores of earlier releases.

"""
SAVING = """
## What it saves

Preferences of SD .22, planned effect 60 %. Power is that of the first pair: the share of studies in which it is
decided for the better system, 80 % for both. "fixed" is the smallest number of people with which Holm's t-tests reach
it, "longest live" the smallest after which the live study has it; "people" and "questions a pair" are what it took on
average. Minutes: {start} a person for consent and instructions, 1 a pair. {runs:,} studies a row. A live study saves
on the pairs that differ clearly. It costs more where most pairs are even: those are asked up to the longest duration,
unless futile ones are dropped.

"""
REPLAYS = """
## Published ratings again

People's mean ratings of an item as the units, in {orders:,} random orders: what is found holds for these annotators
and further items. Planned: half a point, SD one point. "fixed": pairs that Holm's paired t-tests over all items decide;
"live": those decided live, on average; "median item": after how many items. The last columns are shares of pairs:
decided live for the other system, live only, over all items only.

"""


def main() -> None:
    """Run all designs."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.sequential", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="simulated studies a design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the published ratings")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    savings = max(given.runs // 3, 1)
    text = ERRORS.format(
        seed=given.seed,
        runs=given.runs,
        people=sequential_errors.PEOPLE,
        error=100 * (0.05 * 0.95 / given.runs) ** 0.5,
    )
    text += "\n".join(sequential_errors.table(given.runs, given.seed)) + "\n"
    text += CRITERIA.format(runs=max(savings // BATCH, 1) * BATCH, people=sequential_errors.PEOPLE)
    text += "\n".join(sequential_criteria.table(savings, given.seed)) + "\n"
    text += SAVING.format(start=sequential_saving.START_MINUTES, runs=savings)
    text += "\n".join(sequential_saving.table(savings, given.seed)) + "\n"
    if given.data.exists():
        orders = max(given.runs // 10, sequential_replays.BATCH)
        text += REPLAYS.format(orders=orders)
        text += "\n".join(sequential_replays.table(given.data, orders, given.seed)) + "\n"
    given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
