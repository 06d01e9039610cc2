"""Warnings of a results.json: what a reader must keep in mind, in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.answers.codes import AnswerCode, code_words
from analysis.answers.documents import Documents, documents_words
from analysis.answers.other_scales import OtherScale, other_scale_words
from analysis.answers.plan import Plan
from analysis.answers.same_names import NearNames, near_names_words
from analysis.answers.sidecars import read_record
from analysis.answers.span_tables import SpanDoubts
from analysis.answers.study_facts import StudyFacts
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.comparisons.pair_tables import partly_paired
from analysis.comparisons.ratings import RatingTest
from analysis.contamination.results import Contamination
from analysis.printing.lookup import left_out_of_metrics, tests_by_source
from analysis.printing.names import Names
from analysis.printing.words import listed, number, plural, shortened_list
from analysis.records.overview import WarningKind, WarningRow
from analysis.records.results import Results
from analysis.results.live import about_audit, about_live
from analysis.results.sign_words import about_signs
from analysis.results.small_designs import about_coverage
from analysis.statistics.corrections import OUTSIDE_FAMILY
from analysis.statistics.reason_codes import ReasonCode
from analysis.statistics.reasons import Reason, why

FEW_EXPOSURES = 4
LARGE_SHARE = 1 / 3
CONSTANT_SHARE = 0.1  # of items without a tau
SHOWN_CONSTANT = 3
SMALL_CLUSTERS = 6
MANY_NAMES, SHOWN_OF_MANY = 60, 10
MADE_BY_A_PROGRAM = "these answers were made by a program; they say nothing about people."
UNPAIRED = {
    "item_id": "compare systems without a common item_id, so the tests cannot be paired. If the systems answered the "
    "same "
    "inputs, item_id names outputs: put what names the input there (--map COLUMN=item_id).",
    "annotator_id": "compare systems that nobody rated on the same item, so the tests cannot be paired. If somebody "
    "did, "
    "annotator_id does not say so: put what names the person there (--map COLUMN=annotator_id).",
    "assignment_id": "compare systems that were rated in different assignments or variants, so the tests cannot be "
    "paired. If "
    "they were rated side by side, give both ratings one assignment_id, or leave the column out.",
}

MANY: Mapping[ReasonCode, ReasonCode] = {"between": "between_many", "rated_between": "rated_between_many"}
Missing = tuple[str, str, str, Reason | None]  # source, group and criterion of systems without a strength, and why
PAIRED_ONLY = (
    "strengths of ratings (ratings_bt) compare only what one annotator rated side by side; where that is little of a "
    "pair's ratings, they may point elsewhere than the means."
)
AS_DESIGNED = (
    "compare systems that nobody rated on the same item, as the study was designed, so the tests cannot be paired."
)


def warn(results: Results, plan: Plan) -> tuple[WarningRow, ...]:
    """Say what a reader must keep in mind, from the finished results."""
    return (
        *about_live(results),
        *about_audit(results),
        *_about_groups(results),
        *about_signs(results),
        *_about_repeats(results, plan),
        *_about_tests(results, plan),
        *_about_strengths(results),
        *about_coverage(results),
        *_about_metrics(results),
        *_about_constant_scores(results),
        *_about_study(results),
    )


def _about_metrics(results: Results) -> Iterator[WarningRow]:
    """Say which systems are taken for the references of metrics because of their values."""
    metrics: dict[tuple[str, ...], dict[str, None]] = {}
    for metric, systems in left_out_of_metrics(results).items():
        guessed = tuple(system for system in systems if system not in results.settings.references)
        if guessed:
            metrics.setdefault(guessed, {})[metric] = None
    for guessed, names in metrics.items():
        has, is_left = ("has", "is") if len(guessed) == 1 else ("have", "are")
        text = (
            f"metrics: {listed(guessed)} {has} the best value of {listed([*names])} in every item, as a reference has, "
            f"and {is_left} left out of {'its' if len(names) == 1 else 'their'} correlations (--reference names such "
            "systems)."
        )
        yield WarningRow(kind="metric_reference", group=None, text=text)


def _about_constant_scores(results: Results) -> Iterator[WarningRow]:
    """Say whose tau within an item leaves out more than a tenth of the items, as one side ties all their outputs."""
    found = [
        row
        for row in results.correlations
        if (row.level, row.method, row.upper_bound) == ("per_item", "kendall", False)
        and row.n_undefined > CONSTANT_SHARE * (row.n + row.n_undefined)
    ]
    if not found:
        return
    found.sort(key=lambda row: -row.n_undefined / (row.n + row.n_undefined))
    several = len({row.criterion for row in results.correlations}) > 1
    shown = [
        f"{row.a.partition(':')[2]}{f', {row.criterion},' if several else ''} "
        f"{row.n_undefined} of {row.n + row.n_undefined}"
        for row in found[:SHOWN_CONSTANT]
    ]
    more = len(found) - len(shown)
    listing = "; ".join([*shown, *([f"{more} more"] if more else [])])
    yield WarningRow(
        kind="constant_scores",
        group=None,
        text=f"tau within an item leaves out items whose outputs one side scores alike: {listing}. Compare by pairwise "
        "accuracy, which counts all items.",
    )


def outdated_files(results: Results, study: StudyFacts | None) -> Iterator[WarningRow]:
    """Warn of files beside the study that are of other texts than it has now."""
    if study is None:
        return
    outdated = [
        ("contamination", file) for file in study.contamination if read_record(file, Contamination).texts != study.texts
    ]
    if study.exploration is not None and results.exploration is None:
        outdated.append(("explanations", study.exploration))
    for command, file in outdated:
        text = (
            f"{file.path.name} is about other texts than those the study has now, so it is left out; run spa "
            f"{command} anew."
        )
        yield WarningRow(kind="outdated_file", group=None, text=text)


def about_names(near_names: Iterable[NearNames]) -> Iterator[WarningRow]:
    """Warn of names that are nearly the same."""
    for names in near_names:
        yield WarningRow(kind="near_names", group=None, text=near_names_words(names))


def about_documents(tables: Iterable[Documents]) -> Iterator[WarningRow]:
    """Warn of items that look like segments of documents."""
    for documents in tables:
        yield WarningRow(kind="documents", group=None, text=documents_words(documents))


def about_pairs(untested: Iterable[tuple[str, str, int]]) -> Iterator[WarningRow]:
    """Say how many pairs of many systems have no row, by group and criterion."""
    for group, criterion, n in untested:
        text = (
            f"{criterion}: {plural(n, 'pair')} of systems compared once and so without a test, left out of the tests "
            "of pairs; strengths and ranks are from all comparisons."
        )
        yield _of_group("untested", group, text)


def about_scores(codes: Sequence[AnswerCode], others: Sequence[OtherScale]) -> Iterator[WarningRow]:
    """Warn of values that may stand for "no answer", and of annotators on another scale."""
    kinds: tuple[tuple[WarningKind, bool], ...] = (("codes", True), ("maybe_codes", False))
    for kind, far in kinds:
        for text in code_words([one for one in codes if one.far == far]):
            yield WarningRow(kind=kind, group=None, text=text)
    for text in other_scale_words(others):
        yield WarningRow(kind="other_scales", group=None, text=text)


def about_spans(doubts: SpanDoubts | None) -> Iterator[WarningRow]:
    """Warn of what a table of marked errors leaves open."""
    for kind, text in () if doubts is None else doubts.words():
        yield WarningRow(kind=kind, group=None, text=text)


def _about_groups(results: Results) -> Iterator[WarningRow]:
    names = Names(results)
    for row in results.groups:
        if row.unnamed is not None:
            who = names.unnamed(row.group)
            text = f"nobody is named ({who}), so tests are by item; whether other people agree is not tested."
            yield _of_group("unnamed", row.group, text)
            continue
        group, annotators, kept = row.group, row.annotators, row.annotators - row.excluded_annotators
        if row.simulated:
            yield _of_group("simulated", group, MADE_BY_A_PROGRAM)
        if row.annotator_kind == "llm":
            if not row.simulated:
                what = "p-values" if results.live is None else "decisions"
                text = f"{what} of an LLM hold for further forms (or items) that it answers, not for people."
                yield _of_group("llm_scope", group, text)
            gone, share = row.excluded_assignments, row.excluded_assignments / max(row.assignments, 1)
            if gone:
                text = (
                    f"{gone} of {row.assignments} forms ({100 * share:.0f}%) failed self-consistency and were left out."
                )
                yield _of_group("inconsistent_assignments", group, text)
            if not kept:
                text = "left out entirely (its answers name no form and failed self-consistency)."
                yield _of_group("all_excluded", group, text)
            continue
        if row.annotator_kind == "simulated":
            yield _of_group("simulated", group, MADE_BY_A_PROGRAM)
        if 0 < kept < ENOUGH_ANNOTATORS:
            text = (
                f"only {kept} annotator{'s' if kept != 1 else ''}; what these few prefer need not be what people "
                "prefer."
            )
            yield _of_group("few_annotators", group, text)
        if kept <= 0:
            yield _of_group("all_excluded", group, "nobody is left after exclusions.")
        elif row.excluded_annotators / annotators > LARGE_SHARE:
            text = (
                f"{row.excluded_annotators} of {annotators} annotators were excluded; those left may not be "
                "representative."
            )
            yield _of_group("many_excluded", group, text)


def _about_repeats(results: Results, plan: Plan) -> Iterator[WarningRow]:
    gone = {(row.group, row.annotator_id) for row in results.exclusions if row.rule == "repeat_submissions"}
    whole = plan.repeat_submissions == "exclude"
    left = (
        "were left out entirely (--repeat-submissions first keeps the first)" if whole else "count only with the first"
    )
    for group, n in Counter(group for group, _ in sorted(gone)).items():
        text = f"{n} annotator{'s' if n != 1 else ''} submitted more than once; they {left}."
        yield _of_group("repeat_submissions", group, text)


def _about_tests(results: Results, plan: Plan) -> Iterator[WarningRow]:
    yield from _untested(results)
    asymmetric = [
        row for row in results.preference_directions if row.p_symmetry is not None and row.p_symmetry < plan.fwer
    ]
    for group in dict.fromkeys(row.group for row in asymmetric):
        pairs = {
            (row.criterion, row.exposure, *sorted((row.system_x, row.system_y)))
            for row in asymmetric
            if row.group == group
        }
        text = (
            f"on {len(pairs)} comparison{'s' if len(pairs) != 1 else ''} the two directions do not add up to 100% on "
            "average (symmetry test, uncorrected); see each direction by itself."
        )
        yield _of_group("asymmetric_directions", group, text)
    tests = Counter(row.group for row in results.ratings.pairs)
    apart = Counter((row.group, row.separated_by) for row in results.ratings.pairs if row.separated_by)
    for (group, column), n in apart.items():
        why = UNPAIRED[column] if results.study is None else AS_DESIGNED
        yield _of_group("unpaired_ratings", group, f"{n} of {tests[group]} tests of ratings {why}")
    yield from _about_weights(results)
    partly = partly_paired(results.ratings.pairs)
    for group in dict.fromkeys(row.group for row in partly):
        own = [row for row in partly if row.group == group]
        yield _of_group("few_paired", group, _few_paired(own, tests[group]))
        yield _of_group("paired_only", group, PAIRED_ONLY)
    yield from _about_items(results)
    for name, rows in (("preferences", results.preferences), ("choices", results.choices.pairs)):
        for group in sorted({row.group for row in rows if row.decision is None and 1 < row.n < SMALL_CLUSTERS}):
            text = f"some tests of {name} rest on fewer than {SMALL_CLUSTERS} values; read them with care."
            yield _of_group("few_values", group, text)


def _about_weights(results: Results) -> Iterator[WarningRow]:
    """Say in how many tests one annotator gave most answers, and where it matters who weighs how much."""
    llms = {row.group for row in results.groups if row.annotator_kind == "llm"}
    for source, rows in tests_by_source(results).items():
        for group in dict.fromkeys(row.group for row in rows if row.one_gave_most or row.weights_reverse):
            own = [row for row in rows if row.group == group]
            tests = f"{plural(len(own), 'test')} of {source}"
            who, many = ("form", "forms") if group in llms else ("annotator", "annotators")
            uneven, turned = [row for row in own if row.one_gave_most], [row for row in own if row.weights_reverse]
            if uneven:
                worst = max(uneven, key=lambda row: (row.most_of_one or 0) / (row.n_used or 1))
                text = (
                    f"in {len(uneven)} of {tests} one {who} gave half of the answers or more (up "
                    f"to {worst.most_of_one} of {worst.n_used}). {many.capitalize()} weigh the same, so that the few "
                    "answers of the others decide; with a planned unit item, or Welch's t, answers weigh the same."
                )
                yield _of_group("one_gave_most", group, text)
            if turned:
                text = (
                    f"in {len(turned)} of {tests} the mean over {many} and the mean over answers "
                    f"speak for different systems, since {many} gave different numbers of answers: no winner can be "
                    "named."
                )
                yield _of_group("weights_reverse", group, text)


def _about_items(results: Results) -> Iterator[WarningRow]:
    """Say what the items of both systems show, where different items of the two make the difference."""
    decided = [row for row in results.ratings.pairs if row.items_decide and row.verdict in ("x", "y")]
    for group in dict.fromkeys(row.group for row in decided):
        own = [row for row in decided if row.group == group]
        row = max(own, key=lambda one: abs(one.mean_difference))
        text = (
            f"{plural(len(own), 'test')} of ratings {'rests' if len(own) == 1 else 'rest'} on different items of the "
            f"two systems: {row.system_x} minus {row.system_y} is {number(row.mean_difference, 2)} over all, "
            f"{number(row.shared_difference or 0.0, 2)} on the {row.n_shared_items} items of both; rate both on the "
            "same items."
        )
        yield _of_group("items_decide", group, text)
    few = [row for row in results.ratings.pairs if row.own_items and not row.items_decide and not row.separated_by]
    for group in dict.fromkeys(row.group for row in few):
        own = [row for row in few if row.group == group]
        row = min(own, key=lambda one: one.n_shared_items or 0)
        text = (
            f"{plural(len(own), 'test')} of ratings {'compares' if len(own) == 1 else 'compare'} two systems mostly on "
            f"items that only one of them has ({row.system_x}\u2013{row.system_y}: {row.n_shared_items} of both), and "
            "that may be the easier ones; rate both on the same items."
        )
        yield _of_group("own_items", group, text)


def _few_paired(rows: Sequence[RatingTest], n_tests: int) -> str:
    """Say of how many ratings tests are that would else rest on few of them."""
    row = min(rows, key=lambda row: (row.n_paired or 0) / (row.n_answers or 1))
    of = f" of {row.system_x} and {row.system_y}" if n_tests > 1 else ""
    share = "" if row.n_paired is None else f" ({row.n_paired:,} of {row.n_answers:,} ratings{of})"
    return (
        f"in {len(rows)} of {n_tests} tests of ratings less than nine tenths{share} were given beside one of "
        "the other system by the same annotator, so that all are compared, annotators' differences among them."
    )


def _untested(results: Results) -> Iterator[WarningRow]:
    counted = Counter(
        (source, row.group, row.reason, row.p_unanimous is not None)
        for source, rows in tests_by_source(results).items()
        for row in rows
        if row.decision is None and row.p_value is None and row.reason != OUTSIDE_FAMILY
    )
    for (source, group, reason, unanimous), n in counted.items():
        instead = (
            "a bound on the chance of such agreement, corrected with the tests, stands instead"
            if unanimous
            else f"took no part in the correction ({reason})"
        )
        text = f"{n} test{'s' if n != 1 else ''} of {source} could not be run{';' if unanimous else ' and'} {instead}."
        yield _of_group("untested", group, text)


def _about_strengths(results: Results) -> Iterator[WarningRow]:
    counted: dict[Missing, list[str]] = {}
    few: dict[tuple[str, str, str], list[str]] = {}
    for row in results.bradley_terry:
        if row.strength is None:
            key = (row.source, row.group, row.criterion, row.reason)
            counted.setdefault(key, []).append(row.system)
        elif row.alike is not None:
            made = few.setdefault((row.source, row.group, row.alike), [])
            if row.criterion not in made:
                made.append(row.criterion)
    for order in results.order_strengths:
        if order.alike is not None:
            made = few.setdefault(("orders", order.group, order.alike), [])
            if order.criterion not in made:
                made.append(order.criterion)
    for (source, group, criterion, reason), systems in _merged(counted).items():
        if len(systems) > MANY_NAMES:
            systems = shortened_list(systems, SHOWN_OF_MANY)
        text = f"{group}, {criterion}: no Bradley-Terry strength ({source}) for {', '.join(systems)}: {reason}."
        yield WarningRow(kind="no_strength", group=group, text=text)
    for (source, group, alike), criteria in few.items():
        text = (
            f"{group}, {', '.join(criteria)}: strengths ({source}) give every {alike} the same total weight; weighted "
            "by answers, their intervals would rest on fewer than 4 degrees of freedom."
        )
        yield WarningRow(kind="few_clusters", group=group, text=text)


def _merged(counted: Mapping[Missing, list[str]]) -> dict[Missing, list[str]]:
    """Put systems between others together, each of which has other systems above and below it."""
    found: dict[Missing, list[str]] = {}
    alike = Counter((*about, reason.code) for *about, reason in counted if reason is not None)
    for (source, group, criterion, reason), systems in counted.items():
        several = reason is not None and alike[source, group, criterion, reason.code] > 1
        many = MANY.get(reason.code) if reason is not None and several else None
        found.setdefault((source, group, criterion, why(many) if many else reason), []).extend(systems)
    return found


def _about_study(results: Results) -> Iterator[WarningRow]:
    missing = sum(row.n for row in results.missing)
    if missing:
        text = f"{missing} answer{'s are' if missing != 1 else ' is'} missing; nothing was filled in for them."
        yield WarningRow(kind="missing_answers", group=None, text=text)
    exposures = sorted({row.exposure for row in results.preferences if row.exposure is not None})
    if len(exposures) == 1 and exposures[0] < FEW_EXPOSURES:
        text = (
            f"Annotators read {exposures[0]} output{'s' if exposures[0] != 1 else ''} of each system before judging; "
            f"the SPA paper advises at least {FEW_EXPOSURES}."
        )
        yield WarningRow(kind="few_outputs_read", group=None, text=text)
    if results.study is not None and results.study.uneven:
        text = f"Forms are those of a file, not balanced: {'; '.join(results.study.uneven)}."
        yield WarningRow(kind="uneven", group=None, text=text)
    dropped = len(results.study.dropped_items) if results.study else 0
    if dropped:
        text = (
            f"{dropped} item{'s were' if dropped != 1 else ' was'} left out before assignments were drawn, by the "
            "study's "
            "conditions on items."
        )
        yield WarningRow(kind="dropped_items", group=None, text=text)


def _of_group(kind: WarningKind, group: str, text: str) -> WarningRow:
    return WarningRow(kind=kind, group=group, text=f"{group}: {text}")
