"""Warnings about a study that is valid and yet may not be what its author means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from statistics import fmean

from spa.elicitation import ways
from spa.elicitation.scale_words import reversed_scale
from spa.media import medium_of
from spa.media.medium import Doubt
from spa.media.words import count_words
from spa.records.outputs import Item, Output, Outputs
from spa.records.people import People
from spa.records.platforms import lowest_hourly_pay
from spa.records.raters import rater_variants
from spa.records.study import Study
from spa.study.clip_warnings import clip_warnings
from spa.study.name_leaks import name_leaks
from spa.study.output_files import display_files
from spa.study.output_language import LATIN, LETTERS, LOOKED_AT, language_of, share_of_common_words
from spa.study.outputs import count_rules
from spa.study.validation import parse_expected
from spa.tables.near_matches import matches_shown, near_matches

FAST_TIMES = 2.1  # times the usual speed, as FAST_READING is of English
FAST_READING = 500  # words a minute; Brysbaert (2019) gives 175 to 300 as usual for silent reading of English
FEW_ANNOTATORS = 10  # below this the tests speak of these annotators only
LENGTH_RATIO = 1.5  # systems whose mean lengths differ by more are recognised by length
TOO_MUCH = 10  # times the minimum
CENT = Decimal("0.01")
LEAST_LETTERS = 10  # fewer say nothing of a text's script
FEW, FEW_OF_ALL = 3, 50  # odd texts that are not worth a word: fewer, and fewer than one in so many
BEGINNING = 400  # characters; a text is in the script in which it begins
HARDLY = 0.2  # of the others' share of their commonest words: two languages have less
CANNOT = r"I(?:[’']m| am)? (?:can(?:no|[’']?)t|unable to|not able to|won[’']t|will not) (?:be able to )?"
SORRY = r"(?:I[’']m|I am|I apologi[sz]e|my apologies|sorry)\b[^.!?\n]{0,40}(?:\bbut|[,.]) "
AS_MODEL = r"as an? (?:AI|artificial intelligence|(?:large )?language model)\b[^.!?\n]{0,40}?,? "
REFUSAL = re.compile(
    rf"(?i)\W*(?:unfortunately,? )?(?:(?:{SORRY}|{AS_MODEL}){{1,2}}{CANNOT}|{CANNOT}(?:assist|help with|fulfil|comply))"
    r"|(?:很?抱歉|对不起)[^。！？\n]{0,20}(?:无法|不能)"
)
READ_LANGUAGES = ("en", "zh", "ar")  # of the words in spa/widgets/free_text
SCRIPTS = {  # letters by language; of other languages no script is checked
    **{language: LETTERS[language] for language in ("ar", "zh")},
    **dict.fromkeys("cs da de en es fi fr hu id it nl no pl pt ro sv tr vi".split(), LETTERS[LATIN]),
}


def study_warnings(study: Study, outputs: Outputs) -> tuple[str, ...]:
    """Return the warnings to read before annotators are paid, one line each."""
    of_analysis = (_checks, _careless, _expected_pairs)
    has_words = medium_of(study.outputs.kind).has_words
    of_texts = (_single_words, _refusals, _other_scripts, _other_language, _other_words, _lengths) if has_words else ()
    checks = (_sections, _annotators, _never_used, _item_name, *of_analysis, _alike, _scales, _free_text_read)
    of_outputs = (
        _how_read,
        _alike_items,
        _dropped,
        _unreadable,
        _as_shown,
        *of_texts,
        _equal_outputs,
        clip_warnings,
        _equal_items,
        name_leaks,
    )
    of_study = [line for check in checks for line in check(study)]
    return (*of_study, *(line for check in of_outputs for line in check(study, outputs)))


def _sections(study: Study) -> Iterator[str]:
    for key, section in study.sections.items():
        yield from ways()[key].warnings(study, section)


def _annotators(study: Study) -> Iterator[str]:
    if study.people.annotators < FEW_ANNOTATORS and study.analysis.unit != "annotator":
        yield (
            f"[people] annotators = {study.people.annotators}: with fewer than {FEW_ANNOTATORS} "
            "the tests of ratings and choices hold for these annotators only"
        )
    if study.design.labels == "fixed":
        yield '[design] labels = "fixed": all annotators see the same letter for a system; letters may cause bias'


def _never_used(study: Study) -> Iterator[str]:
    used = {criterion for section in study.sections.values() for criterion in section.asks(study)}
    for criterion in study.criteria:
        if criterion.id not in used:
            yield f"[[criteria]] {criterion.id}: no section asks it"
    orientation = {system for section in study.sections.values() for system in section.references()}
    showing = " or ".join(f"[{way.key}]" for way in ways().values() if way.settings.shows_references)
    for system in study.systems:
        if system.role == "reference" and system.id not in orientation:
            yield f'[[systems]] {system.id}: role "reference", but {showing} never shows it'
    if "items" in study.design.model_fields_set:
        for section in study.sections.values():
            if section.items_key is not None:
                yield f"[design] items: not used, because [{section.key}] says how many items an annotator reads"


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
    if plan.max_reading_speed is not None and plan.max_reading_speed < FAST_TIMES:
        yield (
            f"[analysis] max_reading_speed = {plan.max_reading_speed:g}: honest people read that many times as fast as "
            f"usual; expected {FAST_TIMES:g} or more"
        )
    for name, bound in of_reading.items():
        if bound is not None and not study.people.seconds_per_100_words:
            yield (
                f"[analysis] {name}: excludes nobody, as [people] seconds_per_100_words = 0 measures no reading; "
                "a small number, such as 0.01, measures and asks for next to nothing"
            )
    if "share_played" in study.people.model_fields_set and not study.people.seconds_per_100_words:
        yield (
            "[people] share_played: asks for nothing, as seconds_per_100_words = 0 measures nothing; a small number, "
            "such as 0.01, measures both"
        )
    if "conduct" in study.people.model_fields_set and study.people.conduct and not study.people.seconds_per_100_words:
        yield (
            "[people] conduct = true: records nothing, as seconds_per_100_words = 0 measures no reading; "
            "a small number, such as 0.01, measures both"
        )
    traps = [name for name in ("honeypot", "injected") if getattr(study.people, name)]
    if traps and not (study.people.conduct and study.people.seconds_per_100_words):
        yield f"[people] {traps[0]}: is not shown, as it needs conduct = true and seconds_per_100_words above 0"
    medium = medium_of(study.outputs.kind)
    for name in ("max_words_per_minute", "max_reading_speed"):
        if getattr(plan, name) is not None and not medium.has_words:
            yield f"[analysis] {name}: excludes nobody, as {medium.many} have no words"
    if plan.usual_answer is not None and study.stopping.rule != "fixed":
        yield "[analysis] usual_answer: excepts nobody in a live study, which judges people one by one"
    if plan.usual_answer is not None and plan.max_same_answers is None:
        yield "[analysis] usual_answer: does nothing without max_same_answers, whose exception it is"
    if speed is not None and speed < FAST_READING:
        yield (
            f"[analysis] max_words_per_minute = {speed:g}: honest people read that fast; "
            f"expected {FAST_READING} or more"
        )
    tells = any(section.tells_same_answers() for section in study.sections.values())
    if plan.max_same_answers is not None and not tells:
        yield (
            "[analysis] max_same_answers: excludes nobody, as answers about pairs count only where a person "
            "judges the pair in both orders"
        )


def _free_text_read(study: Study) -> Iterator[str]:
    """Warn of raters whose free text is read by words of other languages than the study's."""
    if study.language.split("-")[0].casefold() in READ_LANGUAGES:
        return
    for rater in study.raters:
        formats = {(asked.protocol.answer_format, asked.protocol.readout) for asked in rater_variants(rater)}
        if ("text", "verbalised") in formats:
            yield (
                f'[[raters]] {rater.id}: free text in language "{study.language}" is not read reliably (only English, '
                'Chinese and Arabic are); set answer_format = "json"'
            )


def _expected_pairs(study: Study) -> Iterator[str]:
    compared = {frozenset(pair) for pair in study.pairs}
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


def _scales(study: Study) -> Iterator[str]:
    """Warn of options that seem reversed, unless low is better."""
    for criterion in study.criteria:
        scored = sorted((option.score, option.text) for option in criterion.options if option.score is not None)
        if scored and not criterion.lower_is_better:
            yield from reversed_scale(f"[[criteria]] {criterion.id}, options", scored[0][1], scored[-1][1])
        if not criterion.lower_is_better:
            yield from reversed_scale(f"[[criteria]] {criterion.id}", criterion.low or "", criterion.high or "")


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
        lowest = lowest_hourly_pay(people.currency)
        least = Decimal(0) if lowest is None else lowest.amount
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
    reads = medium_of(study.outputs.kind).reads
    do = '[[outputs.filters]] field = "output" min_words = 2 leaves such items out'

    def is_odd(one: Output) -> bool:  # pictures say something without words
        return not one.within and count_words(reads(one.text or "")) < 2

    yield from _some_outputs(outputs, is_odd, "have one word or none", do)


def _refusals(study: Study, outputs: Outputs) -> Iterator[str]:
    reads = medium_of(study.outputs.kind).reads
    do = "people judge them as they stand; remove these items unless that is meant"
    yield from _some_outputs(
        outputs, lambda one: REFUSAL.match(reads(one.text or "")) is not None, "begin as refusals do", do
    )


def _as_shown(study: Study, outputs: Outputs) -> Iterator[str]:
    """Say what may be wrong with how outputs, and what systems were given, are shown."""
    yield from _marked(outputs)
    made = tuple(outputs.all())
    for name, shown in (("texts of items", outputs.items), ("outputs", made)):
        texts = [one for one in shown if one.text is not None]
        found: dict[str, list[tuple[Item | Output, Doubt]]] = {}
        for one in texts:
            for doubt in medium_of(one).doubts(one.text or ""):
                found.setdefault(doubt.does, []).append((one, doubt))
        for odd in found.values():
            doubt = odd[0][1]
            if not doubt.many or len(odd) >= max(FEW, len(texts) / FEW_OF_ALL):
                yield _odd_line(name, len(texts), doubt, [_whose(one) for one, _ in odd])


def _whose(one: Item | Output) -> tuple[str, str | None]:
    return one.item_id, one.system if isinstance(one, Output) else None


def _odd_line(name: str, total: int, doubt: Doubt, odd: Sequence[tuple[str, str | None]]) -> str:
    """Say how many of all there are something may be wrong with, whose they are, and of which item the first is."""
    counted = Counter(system for _, system in odd if system is not None).most_common()
    of = [f"{count} of {system}" for system, count in counted[:3]] + ["..."] * (len(counted) > 3)
    place = ", ".join(of) + "; " * bool(of) + f"first: item {odd[0][0]}"
    return f"{len(odd)} of {total} {name} {doubt.does} ({place}): {doubt.do}"


def _marked(outputs: Outputs) -> Iterator[str]:
    """Say what may be wrong with how files are shown, also those within texts."""
    for name, shown in (("what systems were given", outputs.items), ("outputs", tuple(outputs.all()))):
        marks: dict[tuple[str, str], list[Item | Output]] = {}
        for one in shown:
            found = [(part.medium, mark) for part in (one, *one.within) for mark in part.marks]
            for key in dict.fromkeys(found):
                marks.setdefault(key, []).append(one)
        total = sum(bool(one.copy or one.within) for one in shown)
        for (medium, mark), odd in marks.items():
            files = medium_of(medium).files
            if files is not None and (len(odd) < total or not files.marks[mark].apart):
                yield _odd_line(name, total, files.marks[mark], [_whose(one) for one in odd])


def _other_scripts(study: Study, outputs: Outputs) -> Iterator[str]:
    """Warn of texts whose letters are mostly not of the study's language; no more is known from a script."""
    script = SCRIPTS.get(study.language.split("-")[0].lower())
    if script is None:
        return
    letter = re.compile(f"[{script}]")
    reads = medium_of(study.outputs.kind).reads

    def is_other(one: Output) -> bool:
        beginning = reads(one.text or "")[:BEGINNING]
        letters = sum(map(str.isalpha, beginning))
        return letters >= LEAST_LETTERS and 2 * len(letter.findall(beginning)) < letters

    what = f'are not in the script of language = "{study.language}"'
    yield from _some_outputs(outputs, is_other, what, "remove these items unless this is meant; no filter does")


def _other_language(study: Study, outputs: Outputs) -> Iterator[str]:
    found = language_of(study, outputs)
    if study.outputs.language is None and found != study.language:
        yield (
            f'outputs have letters of "{found}", the form is in language = "{study.language}": metrics go by the '
            "outputs; [outputs] language says which it is"
        )


def _other_words(study: Study, outputs: Outputs) -> Iterator[str]:
    """Warn of systems that hardly use the commonest words of the others."""
    reads = medium_of(study.outputs.kind).reads
    texts: dict[str, list[str]] = {one.id: [] for one in study.compared}
    for one in outputs.all():
        if one.system in texts and one.text and len(texts[one.system]) < LOOKED_AT:
            texts[one.system].append(reads(one.text))
    shares = share_of_common_words(texts)
    if odd := [system for system, share in shares.items() if share < HARDLY]:
        listed = ", ".join(f"{system} {shares[system]:.0%} of their share" for system in odd[:3])
        yield (
            f"outputs of {len(odd)} of {len(texts)} systems hardly hold the commonest words of the others ({listed}"
            f"{', ...' * (len(odd) > 3)}): another language, or no texts? People recognise a system by that"
        )


def _some_outputs(outputs: Outputs, is_odd: Callable[[Output], bool], what: str, do: str) -> Iterator[str]:
    """Say how many outputs are odd and whose; where all of them are, the study is about such outputs."""
    texts = [one for one in outputs.all() if one.text is not None]
    odd = [one for one in texts if is_odd(one)]
    if 0 < len(odd) < len(texts):
        counted = Counter(one.system for one in odd).most_common()
        by_system = ", ".join(f"{count} of {system}" for system, count in counted[:3]) + ", ..." * (len(counted) > 3)
        yield f"{len(odd)} of {len(texts)} outputs {what} ({by_system}; first: item {odd[0].item_id}): {do}"


def _lengths(study: Study, outputs: Outputs) -> Iterator[str]:
    means = {
        one.id: fmean(
            len(medium_of(output).reads(output.text or ""))
            for item in outputs.items
            for output in outputs.of(item.item_id, one.id)
        )
        for one in study.compared
    }
    longest, shortest = max(means, key=lambda one: means[one]), min(means, key=lambda one: means[one])
    if means[longest] > LENGTH_RATIO * means[shortest]:
        matched = study.outputs.match_length_of
        do = f'see [outputs] match_length_of = "{longest}"'
        if matched is not None:
            do = f"[outputs] match_length_of cuts {matched} to each item's longest other output, no further"
        yield (
            f"outputs of {longest} are {means[longest] / means[shortest]:.1f} times as long as those of {shortest} "
            f"on average; length may decide ({do})"
        )


def _equal_outputs(study: Study, outputs: Outputs) -> Iterator[str]:
    equal: Counter[tuple[str, str]] = Counter()
    for item in outputs.items:
        first: dict[str, str] = {}
        for one in study.compared:
            for output in outputs.of(item.item_id, one.id)[:1]:
                shown = (output.text or "").strip() if output.shown_file is None else str(output.shown_file)
                if shown in first:
                    equal[first[shown], one.id] += 1
                first.setdefault(shown, one.id)
    what = "text" if medium_of(study.outputs.kind).files is None else "file"
    for (system_x, system_y), count in equal.items():
        same = f"{system_x} and {system_y} gave the same {what} for {count} of {len(outputs.items)} items"
        yield f"{same}: nobody can tell them apart there; remove these items unless ties are meant, as no filter does"


def _equal_items(study: Study, outputs: Outputs) -> Iterator[str]:
    first: dict[str, str] = {}
    again: list[tuple[str, str]] = []
    for item in outputs.items:
        shown = (
            (item.text or "").strip() if item.shown_file is None else str(item.shown_file)
        )  # a copy's name is its hash
        if item.is_given and first.setdefault(shown, item.item_id) != item.item_id:
            again.append((item.item_id, first[shown]))
    if again:
        listed = ", ".join(f"{item_id} (as {earlier})" for item_id, earlier in again[:3])
        more = ", ..." if len(again) > 3 else ""
        yield f"{len(again)} of {len(outputs.items)} items repeat the text of an earlier item: {listed}{more}"
