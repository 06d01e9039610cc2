"""Compare every reference number of three published studies with what this package computes; ``make golden``.

The reference numbers were computed with scipy, pingouin, krippendorff, irrCAC and statsmodels. Exits with 1 when one
differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.golden import hanna, sottana
from tests.golden.compare import Block, compare
from tests.golden.compare import Path as Place
from tests.golden.papers import as_markdown, as_page, compare_with_papers

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@cache
def figures(data: Path) -> dict[Place, Any]:
    """Compute everything from the raw files."""
    return dict([*sottana.figures(data), *hanna.figures(data), *hanna.user_study(data)])


def account(data: Path) -> dict[str, Block]:
    """Account for every leaf of the reference numbers."""
    return compare(json.loads((data / "expected_visible.json").read_text()), figures(data).items())


def told(blocks: Mapping[str, Block]) -> str:
    """Write the count by block, then what differs, then why some were not computed."""
    lines = [f"{'block':<62}{'agree':>8}{'differ':>8}{'not computed':>14}{'no figure':>11}"]
    why: Counter[str] = Counter()
    total = Block()
    for name, block in blocks.items():
        left_out = block.not_computed.total()
        lines.append(f"{name:<62}{block.agreeing:>8}{len(block.differing):>8}{left_out:>14}{block.no_figure:>11}")
        total.within += block.within
        total.no_figure += block.no_figure
        total.differing += block.differing
        why += block.not_computed
    all_told = f"{total.agreeing:>8}{len(total.differing):>8}{why.total():>14}{total.no_figure:>11}"
    lines += [f"{'all':<62}{all_told}", ""]
    lines += [f"agrees, {n}: {tolerance}" for tolerance, n in total.within.most_common()]
    lines += [f"differs: {line}" for line in total.differing]
    lines += [f"not computed, {n}: {reason}" for reason, n in why.items()]
    return "\n".join(lines)


def main() -> None:
    """Print the count."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with expected_visible.json and the studies")
    parser.add_argument("--papers", action="store_true", help="compare with what the papers print instead")
    parser.add_argument("--out", type=Path, help="with --papers: write the tables to this file")
    given = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    if not (given.data / "expected_visible.json").is_file():
        console.print(f"no reference numbers at {given.data}; name the folder with --data")
        sys.exit(2)
    if given.papers:
        rows = compare_with_papers(figures(given.data))
        lines = [f"differs, as known: {line}" for row in rows for line in row.known]
        unexpected = [f"differs: {line}" for row in rows for line in row.unexpected]
        console.print("\n".join([as_markdown(rows), "", *lines, *unexpected]), markup=False)
        if given.out is not None:
            given.out.write_text(as_page(rows), encoding="utf-8")
        sys.exit(1 if unexpected else 0)
    blocks = account(given.data)
    console.print(told(blocks), markup=False)
    sys.exit(1 if any(block.differing for block in blocks.values()) else 0)


if __name__ == "__main__":
    main()
