"""Whether tables meet: exclusions and LLMs name somebody who answered; what else has no answers is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import polars as pl

from analysis.answers.identity import union
from analysis.answers.same_names import CALLED, VERSIONED, did_you_mean, how_to_join
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.near_matches import nearest_names

LISTED = 3  # names that a problem spells out
BESIDE = {  # tables beside answers: the columns by which they meet these
    "annotators": ("annotator_id",),
    "reading": ("annotator_id", "item_id", "system"),
    "metrics": ("item_id", "system"),
    "corpus_metrics": ("system",),
    "outputs": ("item_id", "system"),
}


def check_joins(
    names: Mapping[str, Mapping[str, frozenset[str]]],
    frames: Mapping[str, pl.DataFrame],
    places: Mapping[str, str],
    llms: Sequence[str],
    answer_kinds: Collection[str],
) -> dict[str, list[str]]:
    """Refuse ids that meet no answer where they must, and return what is to be said of the others, by kind of table.

    Parameters
    ----------
    names : mapping of str to mapping of str to frozenset of str
        The different names of each column, by kind of table.
    frames : mapping of str to DataFrame
        Checked tables by kind.
    places : mapping of str to str
        What messages call each table.
    llms : sequence of str
        Annotators named as LLMs.
    answer_kinds : collection of str
        Those of ``frames`` that hold answers.

    Raises
    ------
    AnalysisError
        When an exclusion or an LLM has no answer, when no id of another table has one, or when an id of it that has
        none is nearly the same as one that has.
    """
    answers = {kind: names[kind] for kind in names if kind in answer_kinds}
    answered = union(answers, "annotator_id")
    problems: list[str] = [*unknown_llms(llms, answered)]
    if "exclusions" in frames:
        problems += _exclusions(frames, places["exclusions"], answered, answer_kinds)
    notes: dict[str, list[str]] = {}
    for kind in [kind for kind in BESIDE if kind in frames]:
        found = 0
        for role in BESIDE[kind]:
            known, own = union(answers, role), names[kind].get(role, frozenset())
            if not known or not own:
                continue
            problem, note = _beside(places[kind], role, own, known)
            problems += [problem] if problem else []
            found += problem is not None
            said = silent_annotators(frames, answer_kinds) if note and kind == "annotators" else [note] if note else []
            said += unlisted_people(frames, answer_kinds, own) if kind == "annotators" and not problem else []
            notes.setdefault(kind, []).extend(said)
        if kind == "metrics" and not found:
            problems += _outputs(frames, places[kind], answer_kinds)
    if problems:
        raise AnalysisError(*problems)
    return notes


def unknown_llms(llms: Sequence[str], answered: Collection[str]) -> Iterator[ArgumentProblem]:
    """Yield a problem for each of the first LLMs that answered nothing."""
    lacking = [llm for llm in llms if llm not in answered]
    for llm in lacking[:LISTED]:
        after = f": no table names this annotator{did_you_mean([llm], answered, 'annotator_id')}"
        more = f" ({len(lacking) - LISTED} more LLMs likewise)" if llm == lacking[-1] and len(lacking) > LISTED else ""
        yield ArgumentProblem("llms", in_python=f"={[llm]!r}", in_command=f" {llm}", after=after + more)


def unmet(place: str, subject: str, lacking: Sequence[str], n: int, known: Collection[str], role: str) -> str:
    """Return the problem of names that met no answer: how many of ``n``, three of them, and what may be meant."""
    shown, theirs = (
        ", ".join(shortened(repr(name), 30) for name in names[:LISTED]) for names in (lacking, sorted(known))
    )
    hint = how_to_join(lacking, known, role) or (f"; the answers have {theirs}: write both alike" if theirs else "")
    return f"{place}: expected {subject}, got {len(lacking):,} of {n:,} without answers: {shown}{hint}"


def _exclusions(
    frames: Mapping[str, pl.DataFrame], place: str, answered: Collection[str], answer_kinds: Collection[str]
) -> Iterator[str]:
    table = frames["exclusions"]
    ids = table["annotator_id"].unique(maintain_order=True).to_list()
    lacking = [name for name in ids if name not in answered]
    if lacking:
        yield unmet(place, "annotators who answered", lacking, len(ids), answered, "annotator_id")
    pairs = table.select("annotator_id", "assignment_id").drop_nulls().unique(maintain_order=True)
    pairs = pairs.filter(~pl.col("annotator_id").is_in(lacking))
    if pairs.is_empty():
        return
    own = pairs["annotator_id"].unique().to_list()
    given = pl.concat(
        frames[kind]
        .lazy()
        .filter(pl.col("annotator_id").is_in(own))
        .select(
            pl.col("annotator_id").cast(pl.String),
            (pl.col("assignment_id") if "assignment_id" in frames[kind].columns else pl.lit(None)).cast(pl.String),
        )
        .unique()
        for kind in frames
        if kind in answer_kinds
    ).collect()
    wrong = pairs.join(given, on=["annotator_id", "assignment_id"], how="anti", maintain_order="left")
    for annotator, assignment in wrong.head(LISTED).iter_rows():
        theirs = given.filter(pl.col("annotator_id") == annotator)["assignment_id"].drop_nulls().unique().sort()
        listed = ", ".join(shortened(repr(name), 30) for name in theirs.head(LISTED)) or "none in the answers"
        yield (
            f"{place}: expected an assignment of {shortened(repr(annotator), 30)} ({listed}), got "
            f"{shortened(repr(assignment), 30)}, so that nothing would be excluded"
        )
    if wrong.height > LISTED:
        yield f"{place}: {wrong.height - LISTED} more assignments are not those of their annotators"


def _beside(place: str, role: str, own: frozenset[str], known: frozenset[str]) -> tuple[str | None, str | None]:
    """Return the problem of names of a table beside answers, or what is to be said of those without answers."""
    lacking = own - known
    if not lacking:
        return None, None
    what = f"{CALLED[role]} that have answers"
    if lacking == own:
        return unmet(place, what, sorted(own), len(own), known, role), None
    near = nearest_names(lacking, known - own, versions=role in VERSIONED)
    if near:
        return unmet(place, what, sorted(near), len(own), known - own, role), None
    return None, without_answers(len(lacking), len(own), role)


def silent_annotators(frames: Mapping[str, pl.DataFrame], answer_kinds: Collection[str]) -> list[str]:
    """Say how many of the table of annotators have no answers, and how many of those were screened out."""
    table = frames.get("annotators")
    if table is None:
        return []
    answered = [
        frame["annotator_id"].unique().cast(pl.String) for kind, frame in frames.items() if kind in answer_kinds
    ]
    silent = table.filter(~pl.col("annotator_id").cast(pl.String).is_in(pl.concat(answered).to_list()))
    if silent.is_empty():
        return []
    screened = silent.filter(~pl.col("screening_passed")).height if "screening_passed" in silent.columns else 0
    said = without_answers(silent.height, table.height, "annotator_id")
    return [f"{said}, {screened:,} of them screened out" if screened else said]


def unlisted_people(
    frames: Mapping[str, pl.DataFrame], answer_kinds: Collection[str], listed: Collection[str]
) -> list[str]:
    """Say how many people answered of whom a table of annotators says nothing, so that it leaves none of them out."""
    people = [
        frame.filter(pl.col("annotator_kind") != "llm") if "annotator_kind" in frame.columns else frame
        for frame in (frames[kind] for kind in frames if kind in answer_kinds)
    ]
    answered = {str(name) for frame in people for name in frame["annotator_id"].unique().drop_nulls().to_list()}
    missing = answered - {*listed}
    return [f"{len(missing):,} of {len(answered):,} people who answered are not in it, and stay"] if missing else []


def without_answers(n: int, of: int, role: str) -> str:
    """Say how many names of a table beside answers have none."""
    return f"{n:,} of {of:,} {CALLED[role]} {'has' if n == 1 else 'have'} no answers"


def _outputs(frames: Mapping[str, pl.DataFrame], place: str, answer_kinds: Collection[str]) -> Iterator[str]:
    """Refuse metrics of which no output was judged, though their items and systems were."""
    metrics = frames["metrics"].select("item_id", "system").unique(maintain_order=True)
    judged = [
        frames[kind].lazy().select(pl.col("item_id").cast(pl.String), pl.col(name).cast(pl.String).alias("system"))
        for kind in frames
        if kind in answer_kinds and "item_id" in frames[kind].columns
        for name in ("system", "system_x", "system_y")
        if name in frames[kind].columns
    ]
    asked = [one.filter(pl.col("item_id").is_not_null()).unique() for one in judged]
    if asked:
        outputs = pl.concat(asked).collect(engine="streaming")
        if outputs.height and metrics.join(outputs, on=["item_id", "system"], how="semi").is_empty():
            item, system = metrics.row(0)
            yield (
                f"{place}: expected outputs that have answers, got {metrics.height:,} of which none has, such as item "
                f"{shortened(repr(item), 30)} of system {shortened(repr(system), 30)}"
            )
