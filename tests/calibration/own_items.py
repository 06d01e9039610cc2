"""What the first line says of systems that were rated on different items, by how many of these are of both.

``python -m tests.calibration.own_items --out FILE`` writes the table, as ``make calibrate`` does.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis import Plan, analyse
from analysis.answers.options import Reading
from analysis.answers.tables import check_frames
from tests.calibration.command import write_table

ITEMS, EACH, PEOPLE = 30, 2, 6  # items of each system, ratings of each of its outputs, and annotators
SHARED = (0, 1, 2, 3, 6, 15)
HEAD = """# Ratings of systems that have items of their own

What the first line of a report says (`make calibrate`, seed {seed}; {runs} studies a row of two systems, {fewer} of
six): `ahead`: the first system is better; `if`: it is, if the items of each are equally hard; `none`: no winner can be
named, as the systems were rated on different items; the rest name nobody, or another system first.

Each system has {items} items, `shared` of which all have, and {each} ratings of each output by {people} annotators in
all. Scores are 3.2 + annotator (SD 0.5) + item (0.6) + noise (0.8), rounded to 1 to 5. `equal`: systems and items are;
`easier`: the items that the first system alone has are 1 point easier, those of the last 1 point harder, and the
systems equal: `ahead` is wrong there; `better`: items are alike and the first system 1 point better: all three columns
are true, and `ahead` says most.
"""
CASES = {"equal": (0.0, 0.0), "easier": (1.0, 0.0), "better": (0.0, 1.0)}
SAID = ("ahead", "if", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnItems:
    """Systems, how many items all of them have, and by how much the first one's own are easier or itself better."""

    systems: int
    shared: int
    easier: float = 0.0
    better: float = 0.0

    def ratings(self, rng: np.random.Generator) -> pl.DataFrame:
        """Draw one study."""
        of_both, who = rng.normal(0, 0.6, self.shared), rng.normal(0, 0.5, PEOPLE)
        rows = []
        for system in range(self.systems):
            own = self.easier * ((system == 0) - (system == self.systems - 1)) + rng.normal(0, 0.6, ITEMS - self.shared)
            for item, level in enumerate((*of_both, *own)):
                name = f"i{item}" if item < self.shared else f"i{item} of {system}"
                for annotator in rng.choice(PEOPLE, EACH, replace=False):
                    value = 3.2 + who[annotator] + level + self.better * (system == 0) + rng.normal(0, 0.8)
                    rows.append((f"a{annotator}", name, f"s{system}", int(np.clip(round(value), 1, 5))))
        return pl.DataFrame(rows, schema=["annotator_id", "item_id", "system", "score"], orient="row")

    def said(self, rng: np.random.Generator) -> str:
        """Return which of the cases the first line of one study is."""
        headline = analyse(check_frames({"ratings": self.ratings(rng)}, Reading()), Plan()).headline
        assert headline is not None
        (claim,) = headline.claims
        if claim.strength == "items_decide":
            return "none"
        if claim.winner != "s0":
            return "another" if claim.winner else "nobody"
        return "if" if "if their items are equally hard" in headline.winner else "ahead"


def write(runs: int, seed: int) -> Iterator[str]:
    """Run all designs and yield the document with each that is done."""
    columns = ["systems", "shared", *(f"{case}: {' / '.join(SAID)}" for case in CASES)]
    lines = [_row(columns), _row(["---"] * len(columns))]
    fewer = max(runs // 2, 1)
    for systems, n in ((2, runs), (6, fewer)):
        for shared in SHARED:
            sys.stderr.write(f"{systems} systems, {shared} shared\n")
            cells = []
            for easier, better in CASES.values():
                design = OwnItems(systems=systems, shared=shared, easier=easier, better=better)
                rng = np.random.default_rng(seed)
                found = Counter(design.said(rng) for _ in range(n))
                cells.append(" / ".join(f"{100 * found[one] / n:.1f}" for one in SAID))
            lines.append(_row([str(systems), str(shared), *cells]))
            head = HEAD.format(seed=seed, runs=runs, fewer=fewer, items=ITEMS, each=EACH, people=PEOPLE)
            yield "\n".join([head, *lines]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_table("own_items", __doc__, write, runs=100, each="of two systems, and half as many of six")
