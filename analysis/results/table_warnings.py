"""Warnings about tables that nobody explained: systems that are, or look like, attention checks; unmoved sliders."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl

from analysis.answers.controls import ControlCheck, called_control
from analysis.answers.tables import AnswerTables
from analysis.printing.words import listed, plural
from analysis.records.overview import WarningRow
from analysis.records.results import Results
from analysis.strengths.fit import DENSE
from spa.errors import shortened

NEARLY_ALWAYS = 0.9  # share won or lost against a single opponent
FEWEST = 10  # answers from which on that is told
SHOWN = 3  # systems, or values


def about_controls(results: Results) -> Iterator[WarningRow]:
    """Say what the controls left out and who failed them, and which other systems look like controls."""
    if results.controls:
        yield WarningRow(kind="controls", group=None, text=_failed(results))
    if results.study is not None:
        return
    doubts = _alike(results)
    if doubts:
        systems = [system for system, _ in doubts]
        options = " ".join(f"--control {shlex.quote(shortened(system, 40))}" for system in systems[:SHOWN])
        more = f"; and {len(doubts) - SHOWN} more" if len(doubts) > SHOWN else ""
        said = "; ".join(f"{shortened(system, 40)} ({why})" for system, why in doubts[:SHOWN])
        text = (
            f"looks like an attention check and is ranked as a system: {said}{more}. If so, take it out with {options}."
        )
        yield WarningRow(kind="control_like", group=None, text=text)


def _failed(results: Results) -> str:
    checks, allowed = results.controls, results.settings.max_failed_controls
    systems = listed([*dict.fromkeys(shortened(row.system, 40) for row in checks)])
    n = sum(row.left_out for row in checks)
    people = Counter(row.annotator_id for row in checks)
    failed: dict[str, list[ControlCheck]] = {}
    for row in checks:
        if row.failed:
            failed.setdefault(row.annotator_id, []).append(row)
    if not any(row.total for row in checks):
        return f"controls ({systems}): {plural(n, 'answer is', 'answers are')} in no test or ranking."
    start = f"controls ({systems}): {plural(n, 'answer is', 'answers are')} in no test or ranking; "
    if not failed:
        return f"{start}none of {plural(len(people), 'annotator')} failed one."
    worst = sorted(failed, key=lambda one: (-sum(row.failed for row in failed[one]), one))
    shown = "; ".join(f"{shortened(one, 40)} {_counted(failed[one])}" for one in worst[:SHOWN])
    more = f"; {len(worst) - SHOWN} more" if len(worst) > SHOWN else ""
    leave = (
        " Nobody left for it (--max-failed-checks N leaves out who failed more than N)."
        if allowed is None
        else f" Who failed more than {allowed} checks left."
    )
    return f"{start}{len(failed)} of {plural(len(people), 'annotator')} failed some ({shown}{more}).{leave}"


def _counted(rows: Sequence[ControlCheck]) -> str:
    return f"{sum(row.failed for row in rows)} of {sum(row.total for row in rows)}"


def _alike(results: Results) -> list[tuple[str, str]]:
    """Return the systems that look like controls, each with what says so."""
    if len({row.system for row in results.bradley_terry}) > DENSE:  # not all pairs of many systems have rows
        names = sorted({row.system for row in results.bradley_terry})
        return [(name, "by its name") for name in names if called_control(name)]
    met: dict[str, dict[str, list[tuple[int, float]]]] = {}  # system -> opponent -> answers and share won
    pairs = [(row.system_x, row.system_y, row.n_answers or row.n, row.win_rate) for row in results.choices.pairs]
    pairs += [(row.system_x, row.system_y, row.n, row.mean) for row in results.preferences if row.mean is not None]
    for x, y, n, share in pairs:
        met.setdefault(x, {}).setdefault(y, []).append((n, share))
        met.setdefault(y, {}).setdefault(x, []).append((n, 1 - share))
    rated = {row.system: None for row in results.ratings.means}
    found = [(system, "by its name") for system in sorted({*met, *rated}) if called_control(system)]
    for system, opponents in met.items():
        if len(met) < 3 or len(opponents) > 1 or called_control(system):
            continue
        [(opponent, answers)] = opponents.items()
        n = sum(count for count, _ in answers)
        share = sum(count * won for count, won in answers) / n
        baseline = len(met) > 3 and len(met[opponent]) == len(met) - 1  # everybody met it, by design
        if n >= FEWEST and not 1 - NEARLY_ALWAYS < share < NEARLY_ALWAYS and len(met[opponent]) > 1 and not baseline:
            outcome = "lost" if share < 0.5 else "won"
            found.append((system, f"met {shortened(opponent, 40)} alone and {outcome} nearly always"))
    return found


LONG = 50  # from the lowest to the highest answer: a scale with a slider, if nothing says what it is
MANY = 0.1  # share of answers in the middle
STEPS = 11  # values at most that buttons offer
PAGE = ("annotator_id", "assignment_id", "item_id", "criterion", "elicitation")
FEWEST_ON_A_PAGE = 3  # ratings of a page, before equal ones look like sliders where they stood


def about_sliders(tables: AnswerTables) -> Iterator[WarningRow]:
    """Say where many answers of people stand where sliders usually begin, and no file tells whether these were moved.

    A form of a study has an answer only where its slider was touched, which exported tables show by the outcome of the
    visit; importers that know where a slider began say themselves how many stand there.
    """
    middle = n = 0
    if tables.preferences is not None:
        stated = _of_people(tables.preferences)["value"]
        middle, n = int((stated == 0.5).sum()), len(stated)
    if tables.ratings is not None and _perhaps_long(tables, [tables.ratings]):
        for (criterion, way), rows in _of_people(tables.ratings).group_by(
            "criterion", "elicitation", maintain_order=True
        ):
            scale = next((one for one in tables.scales if one.criterion in (criterion, None)), None)
            value = rows["value"].cast(pl.Float64)
            low, high = (value.min(), value.max()) if scale is None else (scale.low, scale.high)
            if not isinstance(low, float) or not isinstance(high, float):
                continue
            if way == "continuous" or (way is None and high - low >= LONG and value.n_unique() > STEPS):
                middle, n = middle + int((value == (low + high) / 2).sum()), n + len(value)
    if n and middle >= MANY * n:
        text = (
            f"{middle:,} of {n:,} percentages and answers on long scales stand in the middle, where sliders usually "
            "begin; the tables do not tell whether those were moved (a form of spa-eval has no answer until then)."
        )
        yield WarningRow(kind="untouched_sliders", group=None, text=text)
    yield from _equal_pages(tables)


def _equal_pages(tables: AnswerTables) -> Iterator[WarningRow]:
    """Count the pages on which every rating of a long scale is one and the same, hidden references among them."""
    given = [table for table in (tables.ratings, tables.unranked.ratings) if table is not None]
    if not given or not _perhaps_long(tables, given):
        return
    rows = pl.concat([_of_people(table, "annotator_id", "assignment_id", "item_id") for table in given])
    spread = pl.col("value").max() - pl.col("value").min()
    scale = rows.group_by("criterion", "elicitation").agg(spread=spread, values=pl.col("value").n_unique())
    long = scale.filter(
        (pl.col("elicitation") == "continuous")
        | (pl.col("elicitation").is_null() & (pl.col("spread") >= LONG) & (pl.col("values") > STEPS))
        | any(one.high - one.low >= LONG for one in tables.scales)
    )
    rows = rows.join(long, on=["criterion", "elicitation"], how="semi", nulls_equal=True)
    pages = rows.group_by(PAGE).agg(n=pl.len(), low=pl.col("value").min(), high=pl.col("value").max())
    pages = pages.filter(pl.col("n") >= FEWEST_ON_A_PAGE)
    equal = pages.filter(pl.col("low") == pl.col("high"))
    if equal.is_empty():
        return
    starts = equal["low"].value_counts(sort=True).sort("count", "low", descending=[True, False])
    shown = ", ".join(f"{value:g} on {count:,}" for value, count in starts.head(SHOWN).iter_rows())
    n = equal["annotator_id"].n_unique()
    people = f"{n:,} {'person' if n == 1 else 'people'}"
    yield WarningRow(
        kind="untouched_sliders",
        group=None,
        text=f"{equal.height:,} of {pages.height:,} pages, of {people}, have one and the same rating "
        f"throughout ({shown}): perhaps untouched, as sliders stand at one value first; they count.",
    )


def _perhaps_long(tables: AnswerTables, given: Sequence[pl.DataFrame]) -> bool:
    """Tell whether some ratings may be on a scale with a slider; of most tables the ends show that none are."""
    values = [own["value"].drop_nulls().to_numpy() for own in given]
    values = [own for own in values if len(own)]
    spread = max(own.max() for own in values) - min(own.min() for own in values) if values else 0.0
    sliders = any("elicitation" in own.columns and (own["elicitation"] == "continuous").any() for own in given)
    return sliders or bool(spread >= LONG) or any(one.high - one.low >= LONG for one in tables.scales)


def _of_people(table: pl.DataFrame, *more: str) -> pl.DataFrame:
    """Return the answers of people that no form of a study asked for."""
    own = pl.col("visit").is_not_null() if "visit" in table.columns else pl.lit(value=False)
    way = pl.col("elicitation") if "elicitation" in table.columns else pl.lit(None, dtype=pl.String)
    kept = table.filter(pl.col("annotator_kind") == "human", pl.col("value").is_not_null(), ~own)
    texts = pl.col("criterion", *more).cast(pl.String)
    return kept.select(texts, way.cast(pl.String).alias("elicitation"), pl.col("value").cast(pl.Float64))
