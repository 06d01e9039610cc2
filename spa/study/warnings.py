"""Warnings about a study that is valid and yet may not be what its author means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from statistics import fmean
from typing import get_args

from spa.study.filters import count_words
from spa.study.output_files import display_files
from spa.study.outputs import Outputs, count_rules
from spa.study.study import Continuous, Elicitation, Likert, People, Study
from spa.study.validation import parse_expected
from spa.tables.near_matches import matches_shown, near_matches

ADVISED_EXPOSURE = 4  # Ethayarajh & Jurafsky (2022) advise to show at least so many outputs of each system
FAST_READING = 500  # words a minute; Brysbaert (2019) gives 175 to 300 as usual for silent reading of English
FEW_ANNOTATORS = 10  # below this the tests speak of these annotators only
LENGTH_RATIO = 1.5  # systems whose mean lengths differ by more are recognised by length
MINIMUM_HOURLY = {"USD": Decimal(8), "GBP": Decimal(6)}  # that Prolific allows, 2026
TOO_MUCH = 10  # times the minimum
OFFERED = ("title", "description", "keywords")  # keys of [prolific] and [mturk] that people read
CENT = Decimal("0.01")
LEAST_LETTERS = 10  # fewer say nothing of a text's script
BEGINNING = 400  # characters; a text is in the script in which it begins
LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff"
SCRIPTS = {  # letters by language; of other languages no script is checked
    "ar": "\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    **dict.fromkeys("cs da de en es fi fr hu id it nl no pl pt ro sv tr vi".split(), LATIN),
}
STRONGER = frozenset(("very", "extremely", "really", "quite", "rather", "strongly", "the", "most", "completely"))
GOOD = frozenset(
    "excellent good great best better perfect outstanding superb high agree like love "
    "非常好 很好 好 优秀 最好 ممتاز جيد رائع".split()
)
BAD = frozenset(
    "terrible bad poor worst worse awful horrible unacceptable low disagree dislike hate "
    "非常差 很差 差 最差 很糟 سيئ رديء ضعيف".split()
)


def study_warnings(study: Study, outputs: Outputs) -> tuple[str, ...]:
    """Return the warnings to read before annotators are paid, one line each."""
    of_analysis = (_checks, _careless, _expected_pairs)
    checks = (_exposure, _annotators, _never_used, _item_name, *of_analysis, _alike, _disconnected, _scales)
    of_texts = (_single_words, _other_scripts, _lengths, _equal_outputs) if study.outputs.kind == "text" else ()
    of_outputs = (_how_read, _alike_items, _dropped, _unreadable, *of_texts, _equal_items, _name_leaks)
    of_study = [line for check in checks for line in check(study)]
    return (*of_study, *(line for check in of_outputs for line in check(study, outputs)))


def _exposure(study: Study) -> Iterator[str]:
    if study.spa is None or study.spa.exposure_study is not None:
        return
    if study.spa.exposure < ADVISED_EXPOSURE:
        yield (
            f"[spa] exposure = {study.spa.exposure}: the SPA paper advises at least {ADVISED_EXPOSURE} outputs "
            "of each system, as fewer say little about outputs not seen"
        )
    if study.spa.directions == "one" and study.analysis.consistency_tau is not None:
        yield '[spa] directions = "one": self-consistency cannot be checked, so no annotator is excluded for it'


def _annotators(study: Study) -> Iterator[str]:
    if study.people.annotators < FEW_ANNOTATORS and study.analysis.unit != "annotator":
        yield (
            f"[people] annotators = {study.people.annotators}: with fewer than {FEW_ANNOTATORS} "
            "the tests of ratings and choices hold for these annotators only"
        )
    if study.design.labels == "fixed":
        yield '[design] labels = "fixed": all annotators see the same letter for a system; letters may cause bias'


def _never_used(study: Study) -> Iterator[str]:
    used = {criterion for table in get_args(Elicitation) for criterion in study.criteria_of(table)}
    for criterion in study.criteria:
        if criterion.id not in used:
            yield f"[[criteria]] {criterion.id}: no section asks it"
    orientation = set()
    if study.continuous is not None:
        orientation = {study.continuous.best_reference, study.continuous.worst_reference}
    for system in study.systems:
        if system.role == "reference" and system.id not in orientation:
            yield f'[[systems]] {system.id}: role "reference", but [continuous] never shows it'
    if study.spa is not None and "items" in study.design.model_fields_set:
        yield "[design] items: not used, because [spa] says how many items an annotator reads"


def _item_name(study: Study) -> Iterator[str]:
    """Warn that item texts are called prompts, as they are by default in English, where their column is not."""
    column, named = study.outputs.item_text, study.outputs.item_name or study.texts.get("form.item_caption")
    if column is not None and named is None and study.language.startswith("en") and "prompt" not in column.casefold():
        yield f'[outputs] item_text = "{column}": annotators read "Prompt 1" above it; set item_name, such as "Source"'


def _checks(study: Study) -> Iterator[str]:
    number = len(study.attention_checks)
    if number and study.analysis.max_failed_checks >= number:
        yield f"[analysis] max_failed_checks = {study.analysis.max_failed_checks}: no failed check excludes anybody"


def _careless(study: Study) -> Iterator[str]:
    """Warn of rules of careless answering that cannot apply to anybody, or apply to honest readers."""
    plan, speed = study.analysis, study.analysis.max_words_per_minute
    of_reading = {"min_outputs_seen": plan.min_outputs_seen, "max_words_per_minute": speed}
    for name, bound in of_reading.items():
        if bound is not None and not study.people.seconds_per_100_words:
            yield (
                f"[analysis] {name}: excludes nobody, as [people] seconds_per_100_words = 0 measures no reading; "
                "a small number, such as 0.01, measures and asks for next to nothing"
            )
    if speed is not None and study.outputs.kind == "image":
        yield "[analysis] max_words_per_minute: excludes nobody, as images have no words"
    if speed is not None and speed < FAST_READING:
        yield (
            f"[analysis] max_words_per_minute = {speed:g}: honest people read that fast; "
            f"expected {FAST_READING} or more"
        )
    asks = study.rating_tables or study.choices or study.ranking
    one_way = study.spa is None or study.spa.directions == "one"
    if plan.max_same_answers is not None and not asks and one_way:
        yield (
            "[analysis] max_same_answers: excludes nobody, as answers about pairs count only where a person "
            "judges the pair in both orders"
        )


def _expected_pairs(study: Study) -> Iterator[str]:
    compared = {frozenset(pair) for pair in (*study.pairs, *study.choice_pairs)}
    for text in study.analysis.expected:
        parsed = parse_expected(text, [system.id for system in study.compared])
        if compared and parsed is not None and frozenset((parsed[0], parsed[2])) not in compared:
            yield f'[analysis] expected "{text}": no annotator is asked about this pair directly'


def _alike(study: Study) -> Iterator[str]:
    for key, names in (("id", [one.id for one in study.systems]), ("name", [one.name for one in study.systems])):
        given = Counter(name for name in names if name is not None)
        confused = "readers of tables will confuse them"
        yield from (f'[[systems]] {key} "{name}" twice: {confused}' for name, times in given.items() if times > 1)
        if near := near_matches(given, versions=True):
            yield f"[[systems]] {key}: {matches_shown(near)} are nearly the same: {confused}"


def _alike_items(study: Study, outputs: Outputs) -> Iterator[str]:
    if near := near_matches(item.item_id for item in outputs.items):
        yield (
            f"{display_files(study.outputs.files)}: items with nearly the same id count as different ones "
            f"({matches_shown(near)}); where two are one, write its id in one way"
        )


def _disconnected(study: Study) -> Iterator[str]:
    for table, pairs in (("spa", study.pairs), ("choices", study.choice_pairs)):
        if not pairs or (table == "spa" and study.spa is not None and study.spa.exposure_study is not None):
            continue
        part = {one.id: frozenset([one.id]) for one in study.compared}
        for x, y in pairs:
            joined = part[x] | part[y]
            part.update(dict.fromkeys(joined, joined))
        if len(parts := dict.fromkeys(part.values())) > 1:
            listed = "; ".join(", ".join(name for name in part if name in group) for group in parts)
            yield (
                f"[{table}] comparisons: {len(parts)} groups of systems with no comparison between them ({listed}); "
                "Bradley-Terry cannot put them on one scale"
            )


def _scales(study: Study) -> Iterator[str]:
    """Warn of a scale whose low end is praise, or whose high end is blame, unless all it rates is lower-is-better."""
    lower = {criterion.id: criterion.lower_is_better for criterion in study.criteria}
    scales: tuple[tuple[Elicitation, Likert | Continuous | None], ...] = (
        ("likert", study.likert),
        ("continuous", study.continuous),
    )
    ends = [
        (f"[{table}]", scale.low or "", scale.high or "")
        for table, scale in scales
        if scale is not None and not all(lower.get(one, False) for one in study.criteria_of(table))
    ]
    for criterion in study.criteria:
        scored = sorted((option.score, option.text) for option in criterion.options if option.score is not None)
        if scored and not criterion.lower_is_better:
            ends.append((f"[[criteria]] {criterion.id}, options", scored[0][1], scored[-1][1]))
    for place, low, high in ends:
        if _meaning(low) > _meaning(high):
            end = f'low end "{low}"' if _meaning(low) > 0 else f'high end "{high}"'
            yield f"{place}: {end} seems to be reversed; swap the ends, or set lower_is_better on the criterion"


def _meaning(words: str) -> int:
    """Return 1 for praise, -1 for blame, 0 where neither is plain from the first word that is no mere emphasis."""
    first = next((word for word in words.casefold().split() if word not in STRONGER), "").strip(".,;:!")
    return (first in GOOD) - (first in BAD)


def effort_warnings(people: People, *, minutes: float, hourly: Decimal | None) -> tuple[str, ...]:
    """Return warnings about pay and time, now that the form's length is known.

    ``minutes`` is the estimate for one form, ``hourly`` the pay per hour in major units.
    """
    lines = []
    if people.minutes_allowed is not None and people.minutes_allowed < minutes:
        lines.append(
            f"[people] minutes_allowed = {people.minutes_allowed:g}: the form takes about {minutes:g} minutes, "
            "so places are reassigned while people still answer"
        )
    if not people.pay or hourly is None:
        return tuple(lines)
    pay = f"[people] pay = {people.pay} is {hourly:,} {people.currency} an hour"
    least = people.minimum_hourly_pay
    if least is None:
        least = MINIMUM_HOURLY.get(people.currency, Decimal(0))
    if people.pay < CENT or hourly < least:
        lines.append(f"{pay}, below the minimum of {max(least, CENT)} ([people] minimum_hourly_pay)")
    elif least and hourly > TOO_MUCH * least:
        lines.append(f"{pay}, more than {TOO_MUCH} times the minimum of {least} ([people] minimum_hourly_pay)")
    return tuple(lines)


def _dropped(study: Study, outputs: Outputs) -> Iterator[str]:
    if outputs.dropped:
        listed = count_rules(outputs.dropped)
        yield f"{len(outputs.dropped)} of {len(outputs.dropped) + len(outputs.items)} items left out: {listed}"
    if study.single_outputs:
        if sum(1 for _ in outputs.of_compared(study)) == study.design.outputs:
            yield f"{study.design.outputs} outputs, all rated by every annotator: results hold for these only"
    elif len(outputs.items) == study.items_per_annotator:
        read = "1 item, which" if len(outputs.items) == 1 else f"{len(outputs.items)} items, all of which"
        these = "this item" if len(outputs.items) == 1 else "these items"
        yield f"{read} every annotator reads: results hold for {these} only"


def _how_read(study: Study, outputs: Outputs) -> Iterator[str]:
    yield from outputs.notes


def _unreadable(study: Study, outputs: Outputs) -> Iterator[str]:
    for (item_id, system), count in list(outputs.unreadable.items())[:5]:
        what = f"output of {system}" if system else "text"
        replaced = "1 unprintable character is shown" if count == 1 else f"{count} unprintable characters are shown"
        yield f"item {item_id}, {what}: {replaced} as \ufffd"
    if len(outputs.unreadable) > 5:
        yield f"{len(outputs.unreadable) - 5} more texts contain unprintable characters"


def _single_words(study: Study, outputs: Outputs) -> Iterator[str]:
    do = '[[outputs.filters]] field = "output" min_words = 2 leaves such items out'
    yield from _some_outputs(outputs, lambda text: count_words(text) < 2, "have one word or none", do)


def _other_scripts(study: Study, outputs: Outputs) -> Iterator[str]:
    """Warn of texts whose letters are mostly not of the study's language; no more is known from a script."""
    script = SCRIPTS.get(study.language.split("-")[0].lower())
    if script is None:
        return
    letter = re.compile(f"[{script}]")

    def is_other(text: str) -> bool:
        beginning = text[:BEGINNING]
        letters = sum(map(str.isalpha, beginning))
        return letters >= LEAST_LETTERS and 2 * len(letter.findall(beginning)) < letters

    what = f'are not in the script of language = "{study.language}"'
    yield from _some_outputs(outputs, is_other, what, "remove these items unless this is meant; no filter does")


def _some_outputs(outputs: Outputs, is_odd: Callable[[str], bool], what: str, do: str) -> Iterator[str]:
    """Say how many outputs are odd and whose; where all of them are, the study is about such outputs."""
    texts = [one for one in outputs.all() if one.text is not None]
    odd = [one for one in texts if is_odd(one.text or "")]
    if 0 < len(odd) < len(texts):
        counted = Counter(one.system for one in odd).most_common()
        by_system = ", ".join(f"{count} of {system}" for system, count in counted[:3]) + ", ..." * (len(counted) > 3)
        yield f"{len(odd)} of {len(texts)} outputs {what} ({by_system}; first: item {odd[0].item_id}): {do}"


def _lengths(study: Study, outputs: Outputs) -> Iterator[str]:
    means = {
        one.id: fmean(len(output.text or "") for item in outputs.items for output in outputs.of(item.item_id, one.id))
        for one in study.compared
    }
    longest, shortest = max(means, key=lambda one: means[one]), min(means, key=lambda one: means[one])
    if means[longest] > LENGTH_RATIO * means[shortest]:
        yield (
            f"outputs of {longest} are {means[longest] / means[shortest]:.1f} times as long as those of {shortest} "
            f'on average; length may decide (see [outputs] match_length_of = "{longest}")'
        )


def _equal_outputs(study: Study, outputs: Outputs) -> Iterator[str]:
    equal: Counter[tuple[str, str]] = Counter()
    for item in outputs.items:
        first: dict[str, str] = {}
        for one in study.compared:
            for output in outputs.of(item.item_id, one.id)[:1]:
                text = (output.text or "").strip()
                if text in first:
                    equal[first[text], one.id] += 1
                first.setdefault(text, one.id)
    for (system_x, system_y), count in equal.items():
        same = f"{system_x} and {system_y} gave the same text for {count} of {len(outputs.items)} items"
        yield f"{same}: nobody can tell them apart there; remove these items unless ties are meant, as no filter does"


def _equal_items(study: Study, outputs: Outputs) -> Iterator[str]:
    first: dict[str, str] = {}
    again: list[tuple[str, str]] = []
    for item in outputs.items:
        if item.text is not None and first.setdefault(item.text.strip(), item.item_id) != item.item_id:
            again.append((item.item_id, first[item.text.strip()]))
    if again:
        listed = ", ".join(f"{item_id} (as {earlier})" for item_id, earlier in again[:3])
        more = ", ..." if len(again) > 3 else ""
        yield f"{len(again)} of {len(outputs.items)} items repeat the text of an earlier item: {listed}{more}"


def _name_leaks(study: Study, outputs: Outputs) -> Iterator[str]:
    """Warn of every place that names a system, unless ``allowed_names`` lets it; a single letter names nobody."""
    names = {
        name.casefold(): name
        for one in study.systems
        if one.role == "system"
        for name in (one.id, one.name)
        if name is not None and len(name) > 1
    }
    for allowed in study.allowed_names:
        names.pop(allowed.casefold(), None)
    for _, name in sorted(names.items()):
        word = _pattern(name)
        places = [place for place, text in _texts_shown(study) if word.search(text)]
        texts = {"item texts": [item.text for item in outputs.items], "outputs": [one.text for one in outputs.all()]}
        for what, searched in texts.items():
            if count := sum(1 for text in searched if word.search(text or "")):
                places.append(f"{count} {what}")
        if places:
            yield (
                f'"{name}", the name of a system, appears in {", ".join(places)}: annotators may recognise it; '
                f'change it, or set allowed_names = ["{name}"]'
            )


def _pattern(name: str) -> re.Pattern[str]:
    """Match a name as a word of its own, however its parts are joined ("GPT-4", "gpt 4")."""
    parts = [re.escape(part) for part in re.split(r"[\s_-]+", name) if part] or [re.escape(name)]
    # Chinese, Japanese and Korean writing puts no spaces around a name.
    before, after = (r"(?<!\w)" if name[0] < "\u2e80" else "", r"(?!\w)" if name[-1] < "\u2e80" else "")
    return re.compile(before + r"[\s_-]*".join(parts) + after, re.IGNORECASE)


def _texts_shown(study: Study) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of all that the study file puts before an annotator, or an LLM."""
    yield "title", study.title
    yield "[outputs] item_name", study.outputs.item_name or ""
    yield "[instructions]", study.instructions.text or ""
    yield "[consent]", study.consent.text or ""
    for criterion in study.criteria:
        options = " | ".join(option.text for option in criterion.options)
        words = (criterion.name, criterion.question or "", criterion.guidelines or "", options)
        yield f"[[criteria]] {criterion.id}", " | ".join(words)
    for table, scale in (("likert", study.likert), ("continuous", study.continuous)):
        yield f"[{table}]", f"{scale.low or ''} | {scale.high or ''}" if scale is not None else ""
    for question in study.screening:
        yield f"[[screening]] {question.id}", " | ".join((question.question, *question.options))
    for interview in study.interview:
        yield f"[[interview]] {interview.id}", interview.question
    for check in study.attention_checks:
        yield f"[[attention_checks]] {check.id}", " | ".join((check.question, *check.options))
    for key, text in study.texts.items():
        yield f"[texts] {key}", text
    for rater in study.raters:
        for variant in (rater, *rater.variants):
            yield f"[[raters]] {rater.id}", f"{variant.persona or ''} | {variant.guidelines or ''}"
    for platform, table_of in study.bridges.items():
        for key in OFFERED:
            yield f"[{platform}] {key}", str(table_of.get(key, ""))
