"""The main caveats of a report, in one order of severity, which docs/report.md publishes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import cast

from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.camps.subgroups_section import declared_differences
from analysis.comparisons.pair_tables import partly_paired
from analysis.comparisons.ratings import RatingTest
from analysis.contamination.contribution import contaminations
from analysis.contamination.results import seen_words
from analysis.printing.lookup import SOURCES, PairResult, grouped, pair_results, tests_by_source
from analysis.printing.words import percent, plural, sentence
from analysis.records.overview import WarningKind
from analysis.results.caveat_evidence import Known, Lines
from analysis.results.certainty_words import FEW_USED, p_words
from analysis.results.claims import better
from analysis.results.headline_rows import CaveatKind, HeadlineProblem
from analysis.results.live import about_live
from analysis.results.order_caveats import circle, disconnected
from analysis.results.sign_words import groups_with_signs, signs_of_group
from analysis.statistics.corrections import OUTSIDE_FAMILY
from analysis.statistics.record import Source
from spa.responses.outcomes import NEVER_SHOWN

MOST_PROBLEMS = 3
MOST_NAMED = 3  # pairs
LARGE_SHARE = 1 / 3  # of annotators excluded


def caveats(known: Known) -> list[HeadlineProblem]:
    """Return all caveats, the most severe first."""
    return [
        HeadlineProblem(text=text, section=section, kind=kind)
        for kind, make in SEVERITY
        for text, section in make(known)
    ]


def _verification(known: Known) -> Lines:
    """Say where a library computes figures otherwise."""
    found = known.results.verification
    if found is not None and found.n_different:
        first = found.differences[0]
        again = "no number" if first.recomputed is None else f"{first.recomputed:.12g}"
        yield (
            f"Do not rely on this report: {found.n_different} of {found.recomputed} figures that libraries computed "
            f"again differ from theirs, such as {first.path}: {first.figure:.12g}, by {first.call} {again}.",
            "settings",
        )


def _all_excluded(known: Known) -> Lines:
    for row in known.results.groups:
        if row.annotator_kind != "llm" and row.annotators and row.annotators <= row.excluded_annotators:
            yield f"{sentence(known.names.group(row.group))}: every annotator was excluded.", "excluded"


def _other_source_opposite(known: Known) -> Lines:
    """Say where another way of asking clearly finds the opposite on a leading pair."""
    for claim, evidence in known.supported:
        row = evidence.against
        ours = None if row is None else better(row, evidence.decided, evidence.fwer)
        if row is None or ours is None or known.source is None or known.group is None:
            continue
        for source in SOURCES:
            if source == known.source:
                continue
            same = [
                one
                for one in pair_results(known.results, source)
                if (one.test.group, one.test.criterion) == (known.group, claim.criterion)
                and {one.x, one.y} == {row.x, row.y}
                and one.winner not in (None, ours)
            ]
            for one in same[:1]:
                by = known.names.source_by_group(source, known.group)
                about = "" if len(known.supported) == 1 else f" on {known.names.criterion(claim.criterion)}"
                yield (
                    f"The opposite is clear in {by}{about}: {known.names.system(one.winner)} is better than "
                    f"{known.names.system(one.loser)} (adjusted {p_words(one.test.p_adjusted)}).",
                    "comparison",
                )


def _weights_reverse(known: Known) -> Lines:
    every = _every(known)
    said = {id(row.test) for claim, e in known.supported if claim.strength == "weights_reverse" and (row := e.against)}
    turned = [row for row in every if row.test.weights_reverse and id(row.test) not in said]
    if turned:
        pairs = _pairs(known, turned)
        yield (
            f"Who is ahead turns with how answers are weighed in {_of(turned, every)}: {pairs}.",
            known.section,
        )


def _live(known: Known) -> Lines:
    live = known.results.live
    if live is None:
        return
    for warning in about_live(known.results):
        if warning.kind != "looked_at":
            about = warning.about.removeprefix(": ")
            yield f"{sentence(known.names.group(warning.group or ''))}: {about}", live.answers


def _as_warned(kind: WarningKind) -> Callable[[Known], Lines]:
    """Return the maker of caveats that are warnings of one kind, as they stand."""

    def lines(known: Known) -> Lines:
        for row in known.results.warning_rows:
            if row.kind == kind:
                about = row.about.removeprefix(": ")
                text = sentence(about) if row.group is None else f"{sentence(known.names.group(row.group))}: {about}"
                yield text, "warnings"

    return lines


def _contamination(known: Known) -> Lines:
    for model in contaminations(known.results):
        yield from ((line, "contamination") for line in seen_words(model))


def _careless(known: Known) -> Lines:
    """Say who shows signs of careless answering and counts nevertheless."""
    yield from _signs(known, counts=True)


def _careless_excluded(known: Known) -> Lines:
    """Say where everybody who shows one is left out."""
    yield from _signs(known, counts=False)


def _signs(known: Known, *, counts: bool) -> Lines:
    for group, some_count in groups_with_signs(known.results).items():
        if some_count == counts:
            text = signs_of_group(known.results, known.names, group)
            named = group in ("human", "simulated")
            yield text if named else f"{sentence(known.names.group(group))}: {text}", "excluded"


def _one_gave_most(known: Known) -> Lines:
    """Say where one annotator gave most of a pair's answers; the test weighs each alike unless another was planned."""
    every = _every(known)
    uneven = [row for row in every if row.test.one_gave_most]
    if uneven:
        worst = max(uneven, key=lambda row: (row.test.most_of_one or 0) / (row.test.n_used or 1))
        llm = known.names.kind(worst.test.group) == "llm"
        one = known.names.units(worst.test.group, "assignment" if llm else "annotator", 1).removeprefix("1 ")
        test = worst.test
        often = f"; one gave half or more in {len(uneven)} of {_tests(every)}" if len(uneven) > 1 else ""
        text = f"One {one} gave {test.most_of_one} of {test.n_used} answers ({_pairs(known, [worst])}){often}."
        yield text, worst.source


def _part_used(known: Known) -> Lines:
    every = _every(known)
    shares = {
        id(row): row.test.n_used / row.test.n_answers
        for row in every
        if row.test.p_value is not None and row.test.n_used is not None and row.test.n_answers
    }
    part = [row for row in every if shares.get(id(row), 1.0) < FEW_USED]
    if part:
        least = min(part, key=lambda row: shares[id(row)])
        rest = "rests" if len(part) == 1 else "rest"
        yield (
            f"{sentence(_of(part, every))} {rest} on less than nine tenths of the answers about the pair: "
            f"{known.names.against(least.test)} on {least.test.n_used:,} of {least.test.n_answers:,}.",
            least.source,
        )
    rated = [row for row in every if isinstance(row.test, RatingTest)]
    mixed = {id(test) for test in partly_paired(row.test for row in rated if isinstance(row.test, RatingTest))}
    beside = [row for row in rated if id(row.test) in mixed]
    if beside:
        shown = f"{_pairs(known, beside[:1])}: {_paired(beside[0])}" if len(beside) == 1 else _pairs(known, beside)
        yield (
            f"Less than nine tenths of the ratings lie side by side ({shown}), so that "
            f"{_of(beside, rated, 'of ratings')} {'compares' if len(beside) == 1 else 'compare'} all of them.",
            "ratings",
        )


def _paired(row: PairResult) -> str:
    """Return "100 of 480": ratings that lie side by side, of all."""
    test = row.test
    paired = test.n_paired if isinstance(test, RatingTest) else None
    return "some" if paired is None or test.n_answers is None else f"{paired:,} of {test.n_answers:,}"


def _untested(known: Known) -> Lines:
    every, fwer = _every(known), known.results.settings.fwer
    rows = [row for row in every if row.test.decision is None and row.test.p_value is None]
    untested = [row for row in rows if better(row, None, fwer) is None]
    if untested:
        reason = _most(str(row.test.reason or "no reason was recorded") for row in untested)
        yield f"{sentence(_of(untested, every))} could not be run ({reason}).", known.section


def _level_not_held(known: Known) -> Lines:
    rows = [row.test for row in _every(known) if isinstance(row.test, RatingTest)]
    level = [row.level_problem for row in rows if row.level_problem]
    if level:
        yield f"{sentence(_of(level, rows, 'of ratings'))}: {_most(level)}.", "ratings"


def _highly_skewed(known: Known) -> Lines:
    """Name the comparisons whose tests rest on highly skewed values, by way of asking."""
    skewed = [row for row in _every(known) if row.test.highly_skewed]
    if skewed:
        by = grouped(skewed, lambda row: row.source)
        named = "; ".join(f"{known.names.source(source)}: {_pairs(known, rows)}" for source, rows in by.items())
        text = plural(len(skewed), "test rests", "tests rest")
        yield f"{text} on highly skewed values ({named}).", skewed[0].source


def _position(known: Known) -> Lines:
    for row in known.results.first_shown:
        if row.biased:
            about = f", {known.names.criterion(row.criterion)}" if len(known.supported) > 1 else ""
            place = "first" if row.first > row.second else "second"
            yield (
                f"{_who(known, row.group)}{about}: took the output shown {place} in both orders in "
                f"{max(row.first, row.second)} of {plural(row.n, 'comparison')} asked in both.",
                "choices",
            )


def _who(known: Known, group: str) -> str:
    """Return who answered at the start of a sentence, where a model's name keeps its letters."""
    who = known.names.group(group)
    return who if known.names.kind(group) == "llm" else sentence(who)


def _flips(known: Known) -> Lines:
    for row in known.results.both_orders:
        if row.exceeds:
            about = f", {known.names.criterion(row.criterion)}" if len(known.supported) > 1 else ""
            most = percent(known.results.settings.max_flips)
            yield (
                f"{_who(known, row.group)}{about}: {percent(row.flip_rate)} of choices changed with the order of the "
                f"two outputs (bound: {most}).",
                "both-orders",
            )


def _unpaired(known: Known) -> Lines:
    rows = known.results.ratings.pairs
    apart = sum(row.separated_by == "item_id" for row in rows)
    if apart:
        compare = "compares" if apart == 1 else "compare"
        yield (
            f"{sentence(_of(range(apart), rows, 'of ratings'))} {compare} systems without a common item_id.",
            "warnings",
        )


def _inconsistent(known: Known) -> Lines:
    for row in known.results.groups:
        if row.annotator_kind == "llm" and row.excluded_assignments > LARGE_SHARE * max(row.assignments, 1):
            yield (
                f"{known.names.group(row.group)} contradicted itself in {row.excluded_assignments} of "
                f"{plural(row.assignments, 'form')}.",
                "excluded",
            )


def _many_excluded(known: Known) -> Lines:
    for row in known.results.groups:
        kept = row.annotators - row.excluded_annotators
        if row.annotator_kind != "llm" and kept > 0 and row.excluded_annotators > LARGE_SHARE * row.annotators:
            units = known.names.units(row.group, "annotator", row.annotators)
            named = row.group == "human" or row.group == "simulated"
            of_group = "" if named else f" of {known.names.group(row.group)}"
            yield f"{row.excluded_annotators} of {units}{of_group} were excluded.", "excluded"


def _few_annotators(known: Known) -> Lines:
    for row in known.results.groups:
        kept = row.annotators - row.excluded_annotators
        if row.annotator_kind == "human" and 0 < kept < ENOUGH_ANNOTATORS:
            units = known.names.units(row.group, "annotator", kept)
            if row.group == "human":
                left = f"{'is' if kept == 1 else 'are'} left" if row.excluded_annotators else "answered"
                yield f"Only {units} {left}.", "asked"
            else:
                yield f"{sentence(known.names.group(row.group))}: only {units}.", "asked"


def _assumed_direction(known: Known) -> Lines:
    results = known.results
    if results.study is None and results.ratings.pairs and not results.settings.lower_is_better:
        bad = next((row.criterion for row in results.ratings.pairs if known.names.doubtful(row.criterion)), None)
        doubt = "" if bad is None else f", though of {known.names.criterion(bad)} low ones may be"
        example = "CRITERION" if bad is None else shlex.quote(known.names.criterion(bad))
        yield f"Whether high ratings are good is assumed{doubt} (--lower-is-better {example} changes it).", "ratings"


def _missing_answers(known: Known) -> Lines:
    rows = [row for row in known.results.missing if row.reason not in NEVER_SHOWN]
    n = sum(row.n for row in rows)
    systems = {row.system for row in rows}
    if n:
        one = next(iter(systems))
        whose = "" if len(systems) > 1 or one is None else f", all about {known.names.system(one)}"
        yield f"{plural(n, 'answer is', 'answers are')} missing{whose}.", "excluded"


def _dropped_items(known: Known) -> Lines:
    study = known.results.study
    if study is not None and study.dropped_items:
        yield f"{plural(len(study.dropped_items), 'item')} left the study before the draw.", "asked"


def _most(reasons: Iterable[str]) -> str:
    """Return the reason that is given most often, of several the first by its letters, whatever the order of rows."""
    counted = Counter(reasons)
    return min(counted, key=lambda one: (-counted[one], one))


def _every(known: Known) -> list[PairResult]:
    """Return the tests of all sources that something is concluded from: those of pairs that are compared."""
    return [
        row
        for source in tests_by_source(known.results)
        for row in pair_results(known.results, cast("Source", source))
        if row.test.reason != OUTSIDE_FAMILY
    ]


def _tests(rows: Sequence[PairResult]) -> str:
    return plural(len(rows), "test")


def _of(some: Sized, rows: Sized, what: str = "") -> str:
    """Return "2 of 6 tests", or "the only test" where there is one."""
    of = f" {what}" if what else ""
    return f"the only test{of}" if len(rows) == 1 else f"{len(some)} of {len(rows)} tests{of}"


def _pairs(known: Known, rows: Iterable[PairResult]) -> str:
    """Name pairs, each once, as many as a line holds."""
    pairs = list(dict.fromkeys(f"{known.names.system(row.x)}\u2013{known.names.system(row.y)}" for row in rows))
    more = [plural(len(pairs) - MOST_NAMED + 1, "more pair")] if len(pairs) > MOST_NAMED else []
    return ", ".join([*pairs[: MOST_NAMED - 1 if more else None], *more])


SEVERITY: tuple[tuple[CaveatKind, Callable[[Known], Lines]], ...] = (
    ("verification", _verification),
    ("all_excluded", _all_excluded),
    ("near_names", _as_warned("near_names")),
    ("codes", _as_warned("codes")),
    ("other_scales", _as_warned("other_scales")),
    ("places", _as_warned("places")),
    ("clean_outputs", _as_warned("clean_outputs")),
    ("category_weights", _as_warned("category_weights")),
    ("other_source_opposite", _other_source_opposite),
    ("weights_reverse", _weights_reverse),
    ("items_decide", _as_warned("items_decide")),
    ("circle", circle),
    ("disconnected", disconnected),
    ("live", _live),
    ("audit_drawn", _as_warned("audit_drawn")),
    ("careless", _careless),
    ("subgroups_differ", lambda known: declared_differences(known.results, known.names)),
    ("one_gave_most", _one_gave_most),
    ("documents", _as_warned("documents")),
    ("control_like", _as_warned("control_like")),
    ("controls", _as_warned("controls")),
    ("contamination", _contamination),
    ("part_used", _part_used),
    ("untested", _untested),
    ("level_not_held", _level_not_held),
    ("highly_skewed", _highly_skewed),
    ("position", _position),
    ("flips", _flips),
    ("uneven", _as_warned("uneven")),
    ("unpaired", _unpaired),
    ("inconsistent", _inconsistent),
    ("many_excluded", _many_excluded),
    ("careless_excluded", _careless_excluded),
    ("few_annotators", _few_annotators),
    ("unnamed", _as_warned("unnamed")),
    ("assumed_direction", _assumed_direction),
    ("constant_scores", _as_warned("constant_scores")),
    ("maybe_codes", _as_warned("maybe_codes")),
    ("output_lengths", _as_warned("output_lengths")),
    ("untouched_sliders", _as_warned("untouched_sliders")),
    ("missing_answers", _missing_answers),
    ("dropped_items", _dropped_items),
)
