"""Runs the page "In R" on made tables and keeps what R found; ``python -m tests.r --out tests/golden/in_r.json``.

Needs R and the packages that the page names, and r-cran-knitr.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.r.made_tables import write_made

HERE = Path(__file__).parent
PAGE = HERE / "in-r.Rmd"


def found_by_r(folder: Path) -> dict[str, dict[str, list[float | str]]]:
    """Run the page's chunks in a folder of tables; return figures by kind and name."""
    command = ["Rscript", "--vanilla", str(HERE / "figures.R"), str(PAGE), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    figures: dict[str, dict[str, list[float | str]]] = {}
    for line in done.stdout.splitlines():
        kind, name, *values = line.split("\t")
        figures.setdefault(kind, {})[name] = [one if kind == "version" else float(one) for one in values]
    return figures


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    with TemporaryDirectory() as name:
        write_made(Path(name))
        out.write_text(json.dumps(found_by_r(Path(name)), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
