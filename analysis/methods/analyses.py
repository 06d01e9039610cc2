"""Which tests were run, how they were corrected, and what else was estimated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.figures.plain_text import shown_name
from analysis.methods.sentences import Sentence, of_each, said
from analysis.printing.live_words import chance_of_error
from analysis.printing.names import Names
from analysis.printing.words import listed, plural, sentence
from analysis.records.results import Results

RATED = {  # by the test: what was done, over which units, and what is cited
    "paired t": (
        "Two ratings of one item by one annotator were subtracted, averaged within {units}, and tested against no "
        "difference over these by two-sided paired t-tests",
        (),
    ),
    "Welch t": (
        "Mean ratings of two systems, averaged within {units}, were compared by Welch\u2019s two-sided t-test",
        ("welch-1947-generalization",),
    ),
    "clustered t": (
        "Where too few ratings of two systems came from one annotator and one item, all their mean ratings were "
        "compared by two-sided t-tests with standard errors that are robust to clusters",
        (),
    ),
}
COMPARED = {
    "preferences": "preferences (a stated probability is that part of a win)",
    "choices": "choices (a tie is half a win)",
    "ratings_bt": "ratings (the higher of two wins, a tie is half a win)",
}
ALPHA = "krippendorff_alpha_"
METHODS = {"kendall": "Kendall\u2019s tau-b", "spearman": "Spearman\u2019s rho", "pearson": "Pearson\u2019s r"}
CORRECTED = {
    "holm": ("Holm\u2019s method", "holm-1979-simple"),
    "bh": ("the method of Benjamini and Hochberg", "benjamini-hochberg-1995-controlling"),
    "by": ("the method of Benjamini and Yekutieli", "benjamini-yekutieli-2001-control"),
}


def analyses(results: Results) -> Iterator[Sentence]:
    """Say what was tested and estimated, at which levels, and with which software."""
    names = Names(results)
    if results.live is not None:
        yield from _live(results)
    else:
        yield from _tests(results, names)
        yield from _families(results)
        yield from _equivalence(results)
    yield from _strengths(results)
    yield from _agreement(results, names)
    yield from _with_people(results)
    yield from _audits(results, names)
    yield from _software(results)


def _units(rows: Sequence[Any], names: Names) -> str:
    """Return what tests generalise over: "annotators", or "annotators (people) and items (gpt-4 (LLM))"."""
    by_unit: dict[str, list[str]] = {}
    for row in rows:
        llm = names.kind(row.group) == "llm"
        unit = "items" if row.unit == "item" else "the forms of an LLM" if llm else "annotators"
        by_unit.setdefault(unit, []).append(names.group(row.group))
    if len(by_unit) == 1:
        return next(iter(by_unit))
    return listed([f"{unit} ({listed(list(dict.fromkeys(groups)))})" for unit, groups in by_unit.items()])


def _run(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row.p_value is not None]


def _tests(results: Results, names: Names) -> Iterator[Sentence]:
    if asked := _run(results.preferences):
        llm = {names.kind(row.group) == "llm" for row in asked}
        over = listed([*(["annotators"] if False in llm else []), *(["the forms of an LLM"] if True in llm else [])])
        both = ", its two directions averaged" if any(row.n_symmetry for row in results.preference_directions) else ""
        facts = ["preferences.p_value", *(["preference_directions.n_symmetry"] if both else [])]
        yield from said(
            f"The mean probability that one system is preferred{both}, was tested against an even chance by two-sided "
            f"one-sample t-tests over {over}",
            *facts,
        )
    unnamed = {row.group for row in results.groups if row.unnamed is not None}
    if any(row.group in unnamed for row in _run(results.ratings.pairs)):
        yield from said(
            "Mean ratings of one item by people whom the data do not name were subtracted, and the differences of "
            "items tested against no difference by two-sided t-tests",
            "groups.unnamed",
            "ratings.pairs.test",
        )
    rated = [row for row in _run(results.ratings.pairs) if row.group not in unnamed]
    for kind in dict.fromkeys(row.test for row in rated):
        words, cites = RATED[kind]
        units = _units([row for row in rated if row.test == kind], names)
        yield from said(
            words.format(units=units), "ratings.pairs.test", "ratings.pairs.unit", "ratings.pairs.group", cites=cites
        )
    if any(names.ordered(row.criterion) for row in results.choices.pairs):
        yield from said(
            "Every two outputs of an order counted as a choice", "orders.criterion", "choices.pairs.criterion"
        )
    if chosen := _run(results.choices.pairs):
        yield from said(
            "The share of choices that a system won, a tie being half a win, was averaged within and tested against an "
            f"even share over {_units(chosen, names)} by two-sided one-sample t-tests",
            "choices.pairs.unit",
            "choices.pairs.group",
        )
    crossed = {"ratings": results.ratings.pairs, "choices": results.choices.pairs}
    if of := [name for name, rows in crossed.items() if any(row.p_crossed is not None for row in rows)]:
        yield from said(
            f"Beside tests of {listed(of)} stands one with two-way cluster-robust standard errors that takes "
            "annotators and items both as drawn",
            "ratings.pairs.p_crossed",
            "choices.pairs.p_crossed",
        )


def _families(results: Results) -> Iterator[Sentence]:
    settings = results.settings
    families = [row for row in results.families if row.n_tests]
    if families:
        method, cite = CORRECTED[families[0].correction]
        level = f"{100 * settings.fwer:g}%"
        sizes = sorted({row.n_tests for row in families})
        rate = "false discovery rate" if families[0].correction == "bh" else "familywise error rate"
        whole = settings.family == "all"
        of = "way of asking and group, all criteria together" if whole else "way of asking, group and criterion"
        words = (
            f"p-values were corrected by {method} within each family, the tests of one {of} "
            f"({of_each(sizes, 'test', 'tests')}), at a {rate} of {level}"
        )
        if sizes == [1]:
            words = (
                f"As each family, the tests of one {of}, held 1 test, p-values were not corrected; the level is {level}"
            )
        yield from said(
            words,
            "families.n_tests",
            "families.correction",
            "settings.family",
            "settings.fwer",
            cites=() if sizes == [1] else (cite,),
        )
    if open_ := sum(len(row.untestable) for row in results.families):
        be = "comparison" if open_ == 1 else "comparisons"
        yield from said(f"{open_} {be} could not be tested", "families.untestable")
    if families or results.bradley_terry or results.ratings.means:
        yield from said(f"Intervals are {100 * settings.confidence:g}% confidence intervals", "settings.confidence")


def _equivalence(results: Results) -> Iterator[Sentence]:
    settings = results.settings
    compared = (*results.preferences, *results.choices.pairs)
    margins = []
    if settings.equivalence_margin is not None and any(row.p_equivalence is not None for row in compared):
        margins.append(
            (f"{100 * settings.equivalence_margin:g} percentage points of an even share", "settings.equivalence_margin")
        )
    rated = any(row.p_equivalence is not None for row in results.ratings.pairs)
    if settings.equivalence_margin_ratings is not None and rated:
        margins.append(
            (f"{settings.equivalence_margin_ratings:g} points of each other", "settings.equivalence_margin_ratings")
        )
    if margins:
        within = " or ".join(words for words, _ in margins)
        yield from said(
            f"Whether two systems lie within {within} was tested by two one-sided t-tests, corrected by Holm\u2019s "
            "method in a family of their own",
            *(fact for _, fact in margins),
            cites=("schuirmann-1987-comparison",),
        )


def _live(results: Results) -> Iterator[Sentence]:
    live = results.live
    facts = ("live.answers", "live.error_rate", "live.least", "live.most")
    size = (
        f"at least {live.least:,} and at most {live.most:,} annotators"
        if live.least < live.most
        else f"{plural(live.most, 'annotator')}"
    )
    if live.systems:
        goal = "the order of the systems was found" if live.order else f"the best {live.top} of the systems were found"
        if not live.order and live.top == 1:
            goal = "the best system was found"
        bound = "time-uniform confidence sequences"
        cites = ("howard-2021-time-uniform",)
        facts = (*facts, *(() if live.order else ("live.top",)))
    else:
        goal = "every comparison was decided or given up"
        bound = "betting confidence sequences"
        cites = ("waudby-smith-ramdas-2024-betting",)
    asked = {"preferences": "stated preferences", "ratings": "ratings", "choices": "choices"}[live.answers]
    yield from said(
        f"The study was sequential: {asked} were looked at after each annotator, and annotators were to be asked until "
        f"{goal}, {size} of each group",
        *facts,
    )
    if not all(group.enough for group in live.groups):
        yield from said("When these results were made, it had not ended", "live.groups.enough")
    yield from said(
        f"Decisions rest on {bound}, by which the chance of any false one is {chance_of_error(live)}",
        "live.error_rate",
        "live.criteria",
        cites=cites,
    )
    if live.margin is not None and live.scale_width is None:
        yield from said(
            f"Two systems within {100 * live.margin:g} percentage points of an even share are called equal",
            "live.margin",
        )
    yield from said("Tests for a fixed number of annotators do not hold here and were not used", "live.answers")


def _strengths(results: Results) -> Iterator[Sentence]:
    fitted = [row for row in results.bradley_terry if row.strength is not None]
    if fitted:
        sources = listed([COMPARED[source] for source in dict.fromkeys(row.source for row in fitted)])
        added = next((row.regularisation for row in fitted if row.regularisation is not None), None)
        prior = f", {added:g} wins being added to every pair and direction" if added is not None else ""
        yield from said(
            f"Bradley-Terry strengths were fitted by maximum likelihood to {sources}{prior}",
            "bradley_terry.source",
            *(["bradley_terry.regularisation"] if added is not None else []),
            cites=("bradley-terry-1952-rank",),
        )
        if any("CR2" in (row.interval or "") for row in fitted):
            yield from said(
                "Their intervals rest on bias-reduced cluster-robust standard errors (CR2) with Satterthwaite degrees "
                "of freedom",
                "bradley_terry.interval",
                cites=("pustejovsky-tipton-2018-small",),
            )
    if any(row.strength is not None for row in results.order_strengths):
        yield from said(
            "Plackett-Luce strengths were fitted to the orders",
            "order_strengths.strength",
            cites=("plackett-1975-analysis",),
        )
    if any(row.nu is not None for row in results.ties):
        yield from said(
            "Ties were also modelled as an outcome of their own, by Davidson\u2019s model",
            "ties.nu",
            cites=("davidson-1970-extending",),
        )


def _agreement(results: Results, names: Names) -> Iterator[Sentence]:
    found = [
        row for row in results.agreement if row.measure.startswith(ALPHA) and row.fits_scale and row.value is not None
    ]
    if found:
        kinds = dict.fromkeys((row.measure.removeprefix(ALPHA), row.source) for row in found)
        of_sources: dict[str, list[str]] = {}
        for level, source in kinds:
            of_sources.setdefault(level, []).append(source)
        levels = listed([f"{level} for {listed(sources)}" for level, sources in of_sources.items()])
        llm = {names.kind(row.group) == "llm" for row in found}
        of = (
            "among annotators"
            if llm == {False}
            else "among an LLM\u2019s repeated answers"
            if llm == {True}
            else ("among annotators, and among an LLM\u2019s repeated answers,")
        )
        yield from said(
            f"Agreement {of} is Krippendorff\u2019s alpha ({levels})",
            "agreement.measure",
            "agreement.source",
            cites=("krippendorff-2011-computing",),
        )


def _audits(results: Results, names: Names) -> Iterator[Sentence]:
    found = [row for row in results.audit if row.estimate is not None]
    if found:
        rater = listed([names.group(group) for group in dict.fromkeys(row.group for row in found)])
        doubt = ", more often those of which it was less sure" if any(row.drawn_by_doubt for row in found) else ""
        forms, people = max(row.n_forms for row in found), max(row.n for row in found)
        yield from said(
            f"{sentence(rater)} answered {forms:,} forms, and people {people:,} of them, "
            f"drawn beforehand{doubt}; people\u2019s means over all forms were estimated from both, each person\u2019s "
            "difference from the rater weighted by the chance of the draw",
            "audit.n_forms",
            "audit.n",
            "audit.group",
            *(["audit.drawn_by_doubt"] if doubt else []),
            cites=("zrnic-candes-2024-active",),
        )


def _with_people(results: Results) -> Iterator[Sentence]:
    rows = [row for row in results.correlations if row.value is not None and not row.upper_bound]
    if rows:
        methods = listed([METHODS.get(name, name) for name in dict.fromkeys(row.method for row in rows)])
        metrics = any(name.startswith("metrics:") for row in rows for name in (row.a, row.b))
        yield from said(
            f"Correlations between groups{' and with metrics' if metrics else ''} are {methods}; their p-values were "
            "corrected by the method of Benjamini and Hochberg",
            "correlations.method",
            *(["correlations.a"] if metrics else []),
            cites=("benjamini-hochberg-1995-controlling",),
        )
    if any(row.p_value is not None for row in results.comparisons_of_correlations):
        settings = results.settings
        one = "one-sided " if settings.williams_alternative == "greater" else ""
        corrected, cites = "", ["williams-1959-comparison"]
        if settings.williams_correction is not None:
            method, cite = CORRECTED[settings.williams_correction]
            corrected = f", corrected by {method}"
            cites.append(cite)
        yield from said(
            f"Two correlations with people were compared by Williams\u2019s {one}test{corrected}",
            "comparisons_of_correlations.p_value",
            "settings.williams_alternative",
            cites=cites,
        )
    against = results.llm_vs_people
    if any(row.winning_rate is not None for row in against.alternative_annotator):
        epsilons = sorted({row.epsilon for row in against.alternative_annotator if row.epsilon is not None})
        with_ = f", with epsilon {listed([f'{one:g}' for one in epsilons])}" if epsilons else ""
        yield from said(
            f"Whether an LLM can replace an annotator was asked by the alternative annotator test{with_}",
            "llm_vs_people.alternative_annotator.epsilon",
            cites=("calderon-2025-alternative",),
        )
    if against.prediction_powered:
        yield from said(
            "Means of people\u2019s answers were also estimated with those of an LLM by prediction-powered inference "
            "(PPI++)",
            "llm_vs_people.prediction_powered",
            cites=("angelopoulos-2023-ppi",),
        )


def _software(results: Results) -> Iterator[Sentence]:
    versions = results.settings.versions
    if own := versions.get("spa-eval"):
        python = [f"Python {versions['python']}"] if "python" in versions else []
        others = [
            f"{shown_name(name)} {version}" for name, version in versions.items() if name not in ("spa-eval", "python")
        ]
        on = f" on {listed([*python, *others])}" if python or others else ""
        yield from said(f"Analyses were run with spa-eval {own}{on}", "settings.versions", cites=("spa-eval",))
    checked = results.verification
    if checked is not None and checked.recomputed:
        by = listed([f"{row.library} {row.version}" for row in checked.libraries])
        worse = "all agreed" if not checked.n_different else f"{checked.n_different} differed"
        yield from said(
            f"Of {checked.figures:,} p-values, strengths and kappas, {checked.recomputed:,} were computed again by "
            f"{by}; {worse}",
            "verification.figures",
            "verification.recomputed",
            "verification.libraries.version",
            "verification.n_different",
        )
