"""What was compared, what was asked about it, and how forms were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from analysis.answers.study_facts import StudyReport
from analysis.figures.plain_text import shown_name
from analysis.methods.sentences import Sentence, of_each, said
from analysis.printing.lookup import OVERALL
from analysis.printing.names import Names
from analysis.printing.words import listed, plural, sentence
from analysis.records.results import Results
from spa.records.system_roles import UNRANKED

if TYPE_CHECKING:
    from spa.media.medium import MediumFiles

MOST_NAMED = 12  # systems, or criteria, that a sentence lists
MOST_QUOTED = 8  # questions
ASKED = {  # tables of answers without a study, and what was done to get them
    "ratings.means": "rated single outputs",
    "preferences": "stated how likely it is that one system is preferred to another (system-level probabilistic "
    "assessment, SPA)",
    "orders": "put several outputs of one item in order, the best first",
    "choices.pairs": "chose between two outputs of one item",
}
BALANCED = {
    "labels": "the letters of systems",
    "question_order": "the order of questions",
    "directions": "the direction of each pair",
}
SPA = "ethayarajh-jurafsky-2022-authenticity"
SYSTEMS = (
    "ratings.means.system",
    "preferences.system_x",
    "preferences.system_y",
    "choices.pairs.system_x",
    "choices.pairs.system_y",
)


def design(results: Results) -> Iterator[Sentence]:
    """Say what was compared, how, and by which criteria."""
    names, study = Names(results), results.study
    yield from _systems(results, names)
    if study is not None:
        yield from _items(study)
        yield from _copies(study)
    yield from _ways(results)
    yield from _scales(results, names)
    yield from _criteria(results, names)
    if study is not None:
        yield from _questions(study, names)
        yield from _forms(study)
        yield from _preregistered(study)


def who(results: Results) -> str:
    """Return who answered as the subject of a sentence: annotators, or LLMs where nobody else answered."""
    kinds = {row.annotator_kind for row in results.groups}
    if kinds != {"llm"}:
        return "annotators"
    if all(row.simulated for row in results.groups):
        return "simulated raters" if len(results.groups) > 1 else "a simulated rater"
    return "LLMs" if len(results.groups) > 1 else "an LLM"


def _systems(results: Results, names: Names) -> Iterator[Sentence]:
    study = results.study
    compared = [one for one in study.systems if one.role not in ("reference", *UNRANKED)] if study else []
    found = [one.id for one in compared] or list(names.systems)
    if not found:
        return
    shown = f" ({listed([names.system(one) for one in found])})" if len(found) <= MOST_NAMED else ""
    verb = "compared" if len(found) > 1 else "evaluated"
    yield from said(f"We {verb} {plural(len(found), 'system')}{shown}", *(("study.systems",) if compared else SYSTEMS))
    if human := [names.system(one.id) for one in compared if one.role == "human"]:
        yield from said(f"The outputs of {listed(human)} were written or made by people", "study.systems")
    if shown_only := [names.system(one.id) for one in study.systems if one.role == "reference"] if study else []:
        be = "was" if len(shown_only) == 1 else "were"
        yield from said(f"{listed(shown_only)} {be} shown as a reference and not compared", "study.systems")
    for role, what in (("hidden_reference", "hidden reference"), ("anchor", "anchor")):
        if rated := [names.system(one.id) for one in study.systems if one.role == role] if study else []:
            words = (
                f"{listed(rated)} {'was' if len(rated) == 1 else 'were'} rated among them as {plural(len(rated), what)}"
            )
            yield from said(f"{words} and not compared", "study.systems")


def _items(study: StudyReport) -> Iterator[Sentence]:
    if study.design is not None and study.design.items:
        pool = f"Items came from a pool of {study.design.items:,}"
        yield from said(pool, "study.design.items")
    if gone := study.dropped_items:
        rules = listed(list(dict.fromkeys(shown_name(row.rule) for row in gone)))
        be = "was" if len(gone) == 1 else "were"
        yield from said(f"{plural(len(gone), 'item')} {be} left out beforehand ({rules})", "study.dropped_items")


def _copies(study: StudyReport) -> Iterator[Sentence]:
    """Say what was made of clips before anybody heard or saw them."""
    for key, files, facts in clips_of(study):
        yield from said(f"Each {key} clip was shown as a copy, {files.copied}", *facts)


def clips_of(study: StudyReport | None) -> Iterator[tuple[str, MediumFiles, tuple[str, ...]]]:
    """Yield the media of outputs and items whose copies are to be told of, with the facts that name them."""
    from spa.media import all_media  # tables without a study need none of it

    if study is None or study.design is None:
        return
    kinds = {"study.design.kind": study.design.kind, "study.design.item_kind": study.design.item_kind}
    for medium in all_media():
        facts = tuple(fact for fact, kind in kinds.items() if kind == medium.key)
        if facts and medium.files is not None and medium.files.copied:
            yield medium.key, medium.files, facts


def _ways(results: Results) -> Iterator[Sentence]:
    study, subject = results.study, sentence(who(results))
    if study is not None and study.elicitations:
        from spa.elicitation import by_answers  # tables without a study need none of it

        known = by_answers()
        for way in study.elicitations:
            cites = (SPA,) if way == "spa" else ()
            if way in known and not known[way].in_methods:  # a member of another package
                yield from said(known[way].described.removesuffix("."), "study.elicitations")
            elif way in known:
                yield from said(f"{subject} {known[way].in_methods}", "study.elicitations", cites=cites)
    else:
        yield from _tables(results, subject)
    exposures = list(study.exposures if study is not None else ())
    fact = "study.exposures"
    if not exposures:
        exposures = sorted({row.exposure for row in results.preferences if row.exposure is not None})
        fact = "preferences.exposure"
    if exposures:
        outputs = of_each(exposures, "output", "outputs")
        yield from said(f"Before a preference was stated, {outputs} of each system had been read", fact)
    if study is not None and study.design is not None and study.design.directions == "both":
        yield from said("Each pair was asked about in both directions", "study.design.directions")


def _tables(results: Results, subject: str) -> Iterator[Sentence]:
    asked = {
        "ratings.means": bool(results.ratings.means),
        "preferences": bool(results.preferences),
        "orders": bool(results.orders),
        "choices.pairs": any(
            (row.group, row.criterion) not in {(one.group, one.criterion) for one in results.orders}
            for row in results.choices.pairs
        ),
    }
    for key, there in asked.items():
        if there:
            yield from said(f"{subject} {ASKED[key]}", key, cites=(SPA,) if key == "preferences" else ())
    ends = results.settings.comparison_ends
    if ends is not None and any(row.probabilities for row in results.choices.pairs):
        scale = f"{ends[1]:g} (the second) to {ends[0]:g} (the first)".replace("-", "\u2212")
        yield from said(f"They said by a number from {scale} which output is better", "settings.comparison_ends")


def _scales(results: Results, names: Names) -> Iterator[Sentence]:
    points = results.study.design.scale_points if results.study and results.study.design else None
    if points is not None:
        yield from said(f"The rating scale had {points} points", "study.design.scale_points")
    for scale in results.settings.scales:
        of = "Ratings" if scale.criterion is None else f"Ratings of {names.criterion(scale.criterion)}"
        yield from said(f"{of} were given on a scale from {scale.low:g} to {scale.high:g}", "settings.scales")


def criteria_of(results: Results) -> tuple[str, ...]:
    """Return the ids of what outputs were judged by, in the order of the results."""
    rows = (*results.preferences, *results.ratings.means, *results.choices.pairs, *results.orders)
    return tuple(dict.fromkeys(row.criterion for row in rows))


def _criteria(results: Results, names: Names) -> Iterator[Sentence]:
    found = criteria_of(results)
    if not found:
        return
    facts = ("preferences.criterion", "ratings.means.criterion", "choices.pairs.criterion", "orders.criterion")
    low = names.lower_is_better
    parts = [f"{names.criterion(one)}{' (lower is better)' if one in low else ''}" for one in found if one != OVERALL]
    on = listed(parts) if len(parts) <= MOST_NAMED else plural(len(parts), "criterion", "criteria")
    ways = [*(["overall"] if OVERALL in found else []), *([f"on {on}"] if parts else [])]
    yield from said(f"Judgements were made {' and '.join(ways)}", *facts)


def _questions(study: StudyReport, names: Names) -> Iterator[Sentence]:
    if not 0 < len(study.questions) <= MOST_QUOTED:
        return
    quoted = [f"\u201c{' '.join(row.text.split())}\u201d ({names.criterion(row.criterion)})" for row in study.questions]
    question = "question, as one form put it, was" if len(quoted) == 1 else "questions, as one form put them, were"
    yield from said(f"The {question} {listed(quoted)}", "study.questions")


def _forms(study: StudyReport) -> Iterator[Sentence]:
    yield from said("No form named a system or said which outputs were made by which", "study.systems")
    balanced: Sequence[str] = study.design.counterbalanced if study.design is not None else ()
    if balanced:
        be = "was" if len(balanced) == 1 and balanced[0] != "labels" else "were"
        what = sentence(listed([BALANCED[one] for one in balanced]))
        yield from said(f"{what} {be} counterbalanced across forms", "study.design.counterbalanced")


def _preregistered(study: StudyReport) -> Iterator[Sentence]:
    plan = study.preregistration
    if plan is None:
        return
    day = datetime.fromtimestamp(plan.frozen_at, UTC).date().isoformat()
    when = "before the first form was handed in"
    if plan.submissions:
        when = f"after {plural(plan.submissions, 'form')} had been handed in"
    yield from said(
        f"The analysis plan was frozen on {day} (UTC), {when} (SHA-256 {plan.sha256})",
        "study.preregistration.frozen_at",
        "study.preregistration.submissions",
        "study.preregistration.sha256",
    )
    if gone := len(plan.deviations):
        yield from said(f"The report lists {plural(gone, 'deviation')} from it", "study.preregistration.deviations")
