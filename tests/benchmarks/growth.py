"""What a report, a page, an admission and a fit of strengths cost as studies grow, each beside its peer in one run.

``python -m tests.benchmarks.growth --peers PYTHON`` writes growth.md and the log-log figure
of docs/cluster.md.
``PYTHON`` is that of an environment with evalica and choix; ``--only report`` measures reports alone, again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import polars as pl

from analysis.statistics.coding import Floats, Ints
from analysis.strengths.counting import count_pairs
from analysis.strengths.fit import fit_pairs
from tests.benchmarks import bench_admission, bench_pages, bench_report

ROOT = Path(__file__).resolve().parents[2]
PAGE, PICTURE = Path(__file__).with_name("growth.md"), ROOT / "docs" / "images" / "growth.svg"
TIMES = 5
REPORTED = (1_000, 10_000, 98_000, 998_000)
SYSTEMS = ((100, 1_000), (300, 3_000), (600, 6_000), (1_000, 20_000), (1_500, 6_000))  # with comparisons
REPORT = (sys.executable, "-c", "from spa.cli import run; run()", "report", "--out")
AVERAGES = """
import sys, polars as pl
table = pl.read_csv(sys.argv[1])
for unit in ("annotator_id", "item_id"):
    table.group_by("system", unit).agg(pl.col("score").mean())
"""
FITS = """
import json, sys, time, numpy as np
data = np.load(sys.argv[1])
x, y, won, k = data["x"], data["y"], data["won"] > 0, int(data["k"])
def evalica():
    import evalica
    names = [f"s{place}" for place in range(k)]
    winners = [evalica.Winner.X if one else evalica.Winner.Y for one in won]
    a, b = [names[place] for place in x], [names[place] for place in y]
    return lambda: evalica.bradley_terry(a, b, winners)
def choix():
    import choix
    pairs = np.where(won[:, None], np.column_stack([x, y]), np.column_stack([y, x])).tolist()
    return lambda: choix.ilsr_pairwise(k, pairs, alpha=1e-3)
found = {}
for make in (evalica, choix):
    work, took = make(), []
    for _ in range(5):
        began = time.process_time(); work(); took.append(time.process_time() - began)
    found[make.__name__] = sorted(took)[2]
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The median of :data:`TIMES` runs: CPU seconds, and MiB at the peak where whole processes are measured."""

    what: str
    by: str
    size: int
    seconds: float
    mib: float | None = None


def points(peers: str | None, only: str | None = None) -> Iterator[Point]:
    """Measure everything, or reports alone."""
    with tempfile.TemporaryDirectory() as name:
        yield from _reports(Path(name))
    if only is not None:
        return
    for figure in bench_admission.figures():
        if found := re.fullmatch(r"live admission, ([\d,]+) visits", figure.name):
            size = int(found[1].replace(",", ""))
            yield Point(what="admission", by="spa", size=size, seconds=figure.value / 1000)
        elif figure.name.startswith("bare insert"):
            bare = figure.value / 1000
    for size in (10, bench_admission.VISITS[-1]):
        yield Point(what="admission", by="SQLite, insert and commit", size=size, seconds=bare)
    for cost in bench_pages.costs():
        yield Point(what="page", by="spa", size=cost.visits, seconds=cost.ours)
        yield Point(what="page", by="bare FastAPI and SQLite", size=cost.visits, seconds=cost.bare)
    with tempfile.TemporaryDirectory() as name:
        yield from _strengths(Path(name), peers)


def _reports(folder: Path) -> Iterator[Point]:
    rng = np.random.default_rng(1)
    for rows in REPORTED:
        path, annotators = folder / f"{rows}.csv", max(10, rows // 2_000)
        frame = pl.DataFrame(
            {
                "annotator_id": rng.integers(0, annotators, rows),
                "item_id": rng.integers(0, max(20, rows // 500), rows),
                "system": rng.integers(0, 5, rows),
                "score": rng.integers(1, 6, rows),
            }
        ).unique(["annotator_id", "item_id", "system"])
        frame.with_columns(pl.format("s{}", "system").alias("system")).write_csv(path)
        report = [*REPORT, str(folder / "report"), "--ratings", str(path)]
        ours, peer = _in_turns(report, [sys.executable, "-c", AVERAGES, str(path)])
        yield Point(what="report", by="spa", size=rows, seconds=ours[0], mib=ours[1])
        yield Point(what="report", by="polars, two tables of means", size=rows, seconds=peer[0], mib=peer[1])


def _strengths(folder: Path, peers: str | None) -> Iterator[Point]:
    for systems, comparisons in SYSTEMS:
        rng = np.random.default_rng(1)
        strength = rng.normal(0, 0.5, systems)
        ring = np.arange(systems)
        x = np.concatenate([ring, ring, rng.integers(0, systems, comparisons)])  # each is won and lost by somebody
        y = (x + np.concatenate([ring * 0 + 1, ring * 0 + 1, rng.integers(1, systems, comparisons)])) % systems
        won = rng.random(len(x)) < 1 / (1 + np.exp(strength[y] - strength[x]))
        won[:systems], won[systems : 2 * systems] = True, False
        wins = won.astype(np.float64)
        names = [f"s{place}" for place in ring]

        def fit(x: Ints = x, y: Ints = y, wins: Floats = wins, names: Sequence[str] = names) -> object:
            return fit_pairs(count_pairs(x, y, wins, len(names)), names)

        took = [_seconds(fit) for _ in range(TIMES)]
        yield Point(what="fit of strengths", by="spa", size=systems, seconds=median(took))
        if peers is not None:
            np.savez(folder / "data.npz", x=x, y=y, won=wins, k=systems)
            made = subprocess.run(
                [peers, "-c", FITS, str(folder / "data.npz")], capture_output=True, text=True, check=True
            )
            for peer, seconds in json.loads(made.stdout).items():
                yield Point(what="fit of strengths", by=peer, size=systems, seconds=seconds)


def _seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def _in_turns(*commands: Sequence[str]) -> list[tuple[float, float]]:
    """Run whole processes in turn, and return the medians of each one's CPU seconds and MiB at the peak."""
    taken: list[list[tuple[float, float]]] = [[] for _ in commands]
    for _ in range(TIMES):
        for command, own in zip(commands, taken, strict=True):
            own.append(bench_report.measure(command))
    return [(median(used for used, _ in own), median(mib for _, mib in own)) for own in taken]


def table(found: Sequence[Point]) -> str:
    """Return what stands in the page: one row a size, ours and the peers beside it."""
    lines = ["| what | size | CPU, s | MiB | beside it, CPU s (MiB) | ratio |", "|---|---|---|---|---|---|"]
    for ours in (one for one in found if one.by == "spa"):
        peers = [one for one in found if one.by != "spa" and (one.what, one.size) == (ours.what, ours.size)]
        if ours.what == "admission":
            peers = [one for one in found if one.by != "spa" and one.what == "admission"][:1]
        beside = "; ".join(f"{one.by} {one.seconds:.3g}{f' ({one.mib:.0f})' if one.mib else ''}" for one in peers)
        ratio = "; ".join(f"{ours.seconds / one.seconds:.2g}" for one in peers)
        mib = "" if ours.mib is None else f"{ours.mib:.0f}"
        lines.append(f"| {ours.what} | {ours.size:,} | {ours.seconds:.3g} | {mib} | {beside} | {ratio} |")
    return "\n".join(lines)


def read_table(text: str) -> Iterator[Point]:
    """Read what :func:`table` wrote; a value of admissions' peer stands at each of their sizes."""
    for row in re.finditer(r"^\| (.+?) \| ([\d,]+) \| (\S+) \| (\d*) \| (.*?) \| .*\|$", text, re.MULTILINE):
        what, size = row[1], int(row[2].replace(",", ""))
        yield Point(what=what, by="spa", size=size, seconds=float(row[3]), mib=float(row[4]) if row[4] else None)
        for peer in filter(None, row[5].split("; ")):
            found = re.fullmatch(r"(.+?) ([\d.e-]+)(?: \((\d+)\))?", peer)
            assert found is not None
            mib = float(found[3]) if found[3] else None
            yield Point(what=what, by=found[1], size=size, seconds=float(found[2]), mib=mib)


COLOURS = {"report": "#0072b2", "page": "#cc79a7", "admission": "#009e73", "fit of strengths": "#d55e00"}
LEFT, TOP, WIDE, HIGH, ROOM = 70, 20, 430, 330, 200  # of the figure, in pixels
TEXT = '<text x="{:.1f}" y="{:.1f}" font-size="12" fill="{}" text-anchor="{}">{}</text>'
LINE = '<polyline points="{}" fill="none" stroke="{}" stroke-width="{}"{}/>'


def picture(found: Sequence[Point]) -> str:
    """Return the figure as SVG: CPU against size, both on logarithmic scales, peers dashed."""
    x_of = _scale([one.size for one in found], LEFT, LEFT + WIDE)
    y_of = _scale([one.seconds for one in found], TOP + HIGH, TOP)
    parts = []
    for power in range(7):
        if LEFT <= x_of(10**power) <= LEFT + WIDE:
            x = x_of(10**power)
            parts.append(LINE.format(f"{x:.1f},{TOP} {x:.1f},{TOP + HIGH}", "#ddd", 1, ""))
            parts.append(TEXT.format(x, TOP + HIGH + 18, "#333", "middle", f"{10**power:,}"))
    for power in range(-5, 3):
        if TOP <= y_of(10**power) <= TOP + HIGH:
            y = y_of(10**power)
            parts.append(LINE.format(f"{LEFT},{y:.1f} {LEFT + WIDE},{y:.1f}", "#ddd", 1, ""))
            parts.append(TEXT.format(LEFT - 6, y + 4, "#333", "end", f"{10**power:g}"))
    lines: dict[tuple[str, str], list[Point]] = {}
    for one in found:
        lines.setdefault((one.what, one.by), []).append(one)
    ends: list[float] = []
    for (what, by), own in sorted(lines.items(), key=lambda line: y_of(line[1][-1].seconds)):
        dash = "" if by == "spa" else ' stroke-dasharray="5 4"'
        points = " ".join(f"{x_of(one.size):.1f},{y_of(one.seconds):.1f}" for one in own)
        parts.append(LINE.format(points, COLOURS[what], 2, dash))
        ends.append(max(y_of(own[-1].seconds) + 4, ends[-1] + 14 if ends else 0))
        name = what if by == "spa" else by
        parts.append(TEXT.format(LEFT + WIDE + 8, ends[-1], COLOURS[what], "start", name))
    parts.append(TEXT.format(LEFT + WIDE / 2, TOP + HIGH + 38, "#333", "middle", "rows, visits or systems"))
    parts.append(TEXT.format(LEFT - 50, TOP - 6, "#333", "start", "CPU seconds"))
    size = f'viewBox="0 0 {LEFT + WIDE + ROOM} {TOP + HIGH + 50}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" role="img">'
    return f'{start}<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'


def _scale(values: Sequence[float], first: float, last: float) -> Callable[[float], float]:
    """Return where a value stands between two places, on a logarithmic scale over the values."""
    low, high = np.log10(min(values)), np.log10(max(values))
    return lambda value: float(first + (np.log10(value) - low) / (high - low) * (last - first))


def main() -> None:
    """Measure, and write page and picture."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.growth")
    parser.add_argument("--peers", metavar="PYTHON", help="Python of an environment with evalica and choix")
    parser.add_argument("--only", choices=["report"], help="measure these again, and keep the other rows")
    given = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    found = list(points(given.peers, given.only))
    if given.only is not None:
        found += [one for one in read_table(text) if one.what != given.only]
    before, _, rest = text.partition("<!-- measured: begin -->\n")
    after = rest.partition("<!-- measured: end -->")[2]
    PAGE.write_text(
        f"{before}<!-- measured: begin -->\n\n{table(found)}\n\n<!-- measured: end -->{after}", encoding="utf-8"
    )
    PICTURE.write_text(picture(found), encoding="utf-8")


if __name__ == "__main__":
    main()
