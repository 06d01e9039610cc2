"""What the tables of a study file must mean together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from spa.study.mistakes import nearest, shown
from spa.study.study import OVERALL, Criterion, RatingSection, Study

RESERVED_RATERS = ("human", "simulated")  # groups of annotators that are analysed apart
RATINGS = ("likert", "continuous", "categories")
ELICITATIONS = ("spa", *RATINGS, "choices")


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: the tables it hangs on (untold while these hold other mistakes) and the line to tell."""

    tables: tuple[str, ...]
    told: str


def cross_check(study: Study) -> list[Finding]:
    """Return every mistake between the tables of a study, in the order of the tables."""
    checks: tuple[Callable[[Study], Iterator[Finding]], ...] = (
        _language, _unique_ids, _outputs, _filters, _systems, _spa, _exposure_study, _choices,
        _criteria_asked, _criteria, _one_rating_each, _ratings, _people_questions, _expected,
    )  # fmt: skip
    return [finding for check in checks for finding in check(study)]


def parse_expected(text: str, known: Sequence[str]) -> tuple[str, str, str] | None:
    """Read "x > y" or "x ~ y" as (system_x, sign, system_y); ``None`` where it is neither.

    >>> parse_expected("human > gpt", ["human", "gpt"])
    ('human', '>', 'gpt')
    >>> parse_expected("human < gpt", ["human", "gpt"])
    """
    splits = [(text[: m.start()].strip(), m.group(), text[m.end() :].strip()) for m in re.finditer("[>~]", text)]
    splits = [split for split in splits if split[0] and split[2]]
    return next((s for s in splits if s[0] in known and s[2] in known), splits[0] if splits else None)


def languages() -> tuple[str, ...]:
    """Return the languages that have a locale file."""
    files = resources.files("spa.forms").joinpath("locales").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def items_read(study: Study) -> int:
    """Return how many items one annotator meets, which is how many the study must have at least."""
    if study.spa is None:
        return study.design.items
    if study.spa.exposure_study is not None:
        return sum(study.spa.exposure_study.exposures)
    return study.spa.exposure * (1 if study.spa.same_items else 2)


def _language(study: Study) -> Iterator[Finding]:
    known = languages()
    if study.language not in known:
        yield Finding(
            ("language",),
            f"language: wanted one of {', '.join(known)}, got {shown(study.language)}; "
            "set the nearest of these and replace its words in [texts]",
        )


def _unique_ids(study: Study) -> Iterator[Finding]:
    for table in ("systems", "criteria", "screening", "attention_checks", "raters"):
        yield from _repeated(f"[[{table}]] id", table, [entry.id for entry in getattr(study, table)])
    for criterion in study.criteria:
        texts = [option.text for option in criterion.options]
        yield from _repeated(f"[[criteria]] {criterion.id}, options", "criteria", texts)
    for table in ("screening", "attention_checks"):
        for entry in getattr(study, table):
            yield from _repeated(f"[[{table}]] {entry.id}, options", table, entry.options)
    for rater in study.raters:
        if rater.id in RESERVED_RATERS:
            yield Finding(
                ("raters",), f"[[raters]] id: wanted another name, got {shown(rater.id)}, reserved; rename it"
            )


def _repeated(place: str, table: str, values: Iterable[object]) -> Iterator[Finding]:
    seen: set[object] = set()
    told: set[object] = set()
    for value in values:
        if value in seen and value not in told:
            told.add(value)
            yield Finding((table,), f"{place}: wanted each once, got {shown(value)} again; rename or remove one")
        seen.add(value)


def _outputs(study: Study) -> Iterator[Finding]:
    outputs = study.outputs
    matched = outputs.match_length_of
    if matched is not None:
        yield from _known_system(study, "outputs", "match_length_of", matched, role="any")
        if outputs.kind == "image":
            yield Finding(("outputs",), "[outputs] match_length_of: wanted text outputs, got images; remove the key")
    columns = (outputs.item,) if isinstance(outputs.item, str) else outputs.item
    yield from _repeated("[outputs] item", "outputs", columns)
    if outputs.layout == "wide":
        for system in study.systems:
            if system.id in (*columns, outputs.sample, outputs.item_text):
                yield Finding(
                    ("outputs", "systems"),
                    f"[outputs] layout: wanted a column of its own for system {shown(system.id)}, got that name "
                    "for item, sample or item_text too; rename the system or the column",
                )


def _filters(study: Study) -> Iterator[Finding]:
    for number, one in enumerate(study.outputs.filters, start=1):
        place = f"[[outputs.filters]] {number}"
        if one.field == "item_text" and study.outputs.item_text is None:
            yield Finding(
                ("outputs",), f'{place}: wanted [outputs] item_text, got none; name that column or set field = "output"'
            )
        if one.field == "output" and study.outputs.kind == "image":
            yield Finding(("outputs",), f"{place}: wanted text outputs, got images; filter on item_text instead")
        if one.model_dump(exclude={"field"}, exclude_defaults=True) == {}:
            yield Finding(
                ("outputs",),
                f"{place}: wanted a condition such as min_characters = 1, got none; add one or remove the filter",
            )
        for least, most, unit in (
            (one.min_words, one.max_words, "words"),
            (one.min_characters, one.max_characters, "characters"),
        ):
            if least is not None and most is not None and least > most:
                yield Finding(
                    ("outputs",), f"{place}: wanted min_{unit} at most max_{unit}, got {least} and {most}; swap them"
                )


def _known_system(study: Study, table: str, key: str, system: str, *, role: str = "compared") -> Iterator[Finding]:
    """Tell an unknown system, or one whose role does not fit ("compared", "reference" or "any")."""
    place = f"[{table}] {key}"
    roles = {one.id: one.role for one in study.systems}
    tables = (table.split(".")[0], "systems")
    if system not in roles:
        yield Finding(
            tables, f"{place}: wanted the id of a system, got {shown(system)}; {nearest(system, list(roles))}"
        )
    elif role == "compared" and roles[system] == "reference":
        yield Finding(
            tables, f'{place}: wanted a compared system, got {shown(system)} of role "reference"; change its role'
        )
    elif role == "reference" and roles[system] != "reference":
        yield Finding(
            tables,
            f'{place}: wanted a system of role "reference", got {shown(system)} of role "{roles[system]}"; change its role',
        )


def _systems(study: Study) -> Iterator[Finding]:
    if len(study.compared) < 2:
        yield Finding(
            ("systems",),
            f"[[systems]]: wanted at least 2 that are no reference, got {len(study.compared)}; add systems or change a role",
        )
    if all(getattr(study, table) is None for table in ELICITATIONS):
        yield Finding(
            ELICITATIONS,
            "wanted at least one of [spa], [likert], [continuous], [categories], [choices], got none; add [spa]",
        )


def _pairs(study: Study, table: str, comparisons: object, baseline: str | None) -> Iterator[Finding]:
    if comparisons == "baseline" and baseline is None:
        yield Finding(
            (table,),
            f'[{table}] baseline: wanted a system, as comparisons = "baseline", got none; add baseline = "..."',
        )
    if comparisons != "baseline" and baseline is not None:
        yield Finding(
            (table,),
            f'[{table}] baseline: wanted none unless comparisons = "baseline", got {shown(baseline)}; remove it',
        )
    if baseline is not None:
        yield from _known_system(study, table, "baseline", baseline)
    if not isinstance(comparisons, tuple):
        return
    if not comparisons:
        yield Finding((table,), f'[{table}] comparisons: wanted at least one pair, got []; add pairs or write "all"')
    for number, (x, y) in enumerate(comparisons, start=1):
        for system in (x, y):
            yield from _known_system(study, table, f"comparisons, entry {number}", system)
        if x == y:
            yield Finding(
                (table,),
                f"[{table}] comparisons, entry {number}: wanted two systems, got {shown(x)} against itself; change one",
            )
        if frozenset((x, y)) in {frozenset(pair) for pair in comparisons[: number - 1]}:
            yield Finding(
                (table,), f"[{table}] comparisons, entry {number}: wanted each pair once, got {shown([x, y])} again "
                "(directions decides whether both directions are asked); remove it",
            )  # fmt: skip


def _spa(study: Study) -> Iterator[Finding]:
    if study.spa is not None and study.spa.exposure_study is None:
        yield from _pairs(study, "spa", study.spa.comparisons, study.spa.baseline)


def _exposure_study(study: Study) -> Iterator[Finding]:
    if study.spa is None or (two := study.spa.exposure_study) is None:
        return
    for key, system in (("system_x", two.system_x), ("system_y", two.system_y)):
        yield from _known_system(study, "spa.exposure_study", key, system)
    if two.system_x == two.system_y:
        yield Finding(
            ("spa",),
            f"[spa.exposure_study] system_y: wanted another system than system_x, got {shown(two.system_y)}; change one",
        )
    yield from _repeated("[spa.exposure_study] exposures", "spa", two.exposures)
    for key in ("exposure", "comparisons", "baseline", "same_items", "reading"):
        if key in study.spa.model_fields_set:
            yield Finding(
                ("spa",), f"[spa] {key}: wanted none beside [spa.exposure_study], which settles it, got one; remove it"
            )


def _choices(study: Study) -> Iterator[Finding]:
    if study.choices is not None:
        yield from _pairs(study, "choices", study.choices.comparisons, study.choices.baseline)
        if study.choices.outputs not in ("first", "all"):
            yield from _enough_shown(study, "choices", study.choices.outputs)


def _criteria_asked(study: Study) -> Iterator[Finding]:
    known = {criterion.id: criterion for criterion in study.criteria}
    for table in ELICITATIONS:
        section = getattr(study, table)
        if section is None:
            continue
        yield from _repeated(f"[{table}] criteria", table, section.criteria or ())
        for name in section.criteria or ():
            if name == OVERALL:
                yield Finding(
                    (table,), f'[{table}] criteria: wanted criteria, got "overall"; remove it and set overall = true'
                )
            elif name not in known:
                yield Finding(
                    (table, "criteria"),
                    f"[{table}] criteria: wanted the id of a criterion, got {shown(name)}; {nearest(name, list(known))}",
                )
            elif (table == "categories") != bool(known[name].options):
                wanted, got = ("with", "without") if table == "categories" else ("without", "with")
                yield Finding(
                    (table, "criteria"), f"[{table}] criteria: wanted criteria {wanted} options, got {shown(name)} {got} options; "
                    f"{'add options to it' if table == 'categories' else 'ask it in [categories]'}",
                )  # fmt: skip
        if not study.asked(table):
            advice = "add [[criteria]] with options" if table == "categories" else "set overall = true or name criteria"
            yield Finding((table, "criteria"), f"[{table}]: wanted something to ask, got no criterion; {advice}")


def _criteria(study: Study) -> Iterator[Finding]:
    for criterion in study.criteria:
        yield from (
            Finding(("criteria",), f"[[criteria]] {criterion.id}: {told}") for told in _criterion(study, criterion)
        )


def _criterion(study: Study, criterion: Criterion) -> Iterator[str]:
    if criterion.id == OVERALL:
        yield 'id: wanted another name, got "overall", reserved for the overall question; rename it'
    if len(criterion.options) == 1:
        yield "options: wanted at least 2, got 1; add another"
    for option in criterion.options:
        if option.score is None:
            yield f"options: wanted a score for every option, got none for {shown(option.text)}; add score = ..."
    if (criterion.against_source or criterion.mark_differences) and study.outputs.item_text is None:
        key = "against_source" if criterion.against_source else "mark_differences"
        yield f"{key}: wanted [outputs] item_text to compare with, got none; name the column of the source text"
    if criterion.mark_differences and study.outputs.kind == "image":
        yield "mark_differences: wanted text outputs, got images; set it to false"


def _one_rating_each(study: Study) -> Iterator[Finding]:
    asked: dict[str, str] = {}
    for table in RATINGS:
        for criterion in study.asked(table):
            if criterion in asked:
                advice = "set overall = false in one" if criterion == OVERALL else "set criteria = [...] in one"
                yield Finding(
                    (table, asked[criterion], "criteria"),
                    f"[{table}]: wanted each criterion rated in one way, got {shown(criterion)} in [{asked[criterion]}] too; {advice}",
                )
            asked.setdefault(criterion, table)


def _ratings(study: Study) -> Iterator[Finding]:
    for table in RATINGS:
        section: RatingSection | None = getattr(study, table)
        if section is not None and section.outputs not in ("first", "all"):
            yield from _enough_shown(study, table, section.outputs)
    if study.likert is not None and study.likert.identical_pairs:
        if study.outputs.item_text is None:
            yield Finding(
                ("likert",),
                "[likert] identical_pairs: wanted [outputs] item_text as the source, got none; name the column",
            )
        if study.outputs.kind == "image":
            yield Finding(("likert",), "[likert] identical_pairs: wanted text outputs, got images; set it to 0")
    if study.continuous is not None:
        best, worst = study.continuous.best_reference, study.continuous.worst_reference
        for key, system in (("best_reference", best), ("worst_reference", worst)):
            if system is not None:
                yield from _known_system(study, "continuous", key, system, role="reference")
        if best is not None and best == worst:
            yield Finding(
                ("continuous",),
                f"[continuous] worst_reference: wanted another than best_reference, got {shown(worst)}; change one",
            )


def _enough_shown(study: Study, table: str, wanted: object) -> Iterator[Finding]:
    if isinstance(wanted, int) and wanted > items_read(study):
        yield Finding(
            (table, "spa", "design"),
            f"[{table}] outputs: wanted at most the {items_read(study)} items that an annotator reads, got {wanted}; "
            f'write "all" or raise {"[spa] exposure" if study.spa else "[design] items"}',
        )


def _people_questions(study: Study) -> Iterator[Finding]:
    for question in study.screening:
        for answer in question.eligible:
            if answer not in question.options:
                yield Finding(
                    ("screening",),
                    f"[[screening]] {question.id}, eligible: wanted one of the options, got {shown(answer)}; {nearest(answer, question.options)}",
                )
    for check in study.attention_checks:
        if check.expected not in check.options:
            yield Finding(
                ("attention_checks",),
                f"[[attention_checks]] {check.id}, expected: wanted one of the options, got {shown(check.expected)}; {nearest(check.expected, check.options)}",
            )


def _expected(study: Study) -> Iterator[Finding]:
    ids = [system.id for system in study.compared]
    seen: set[frozenset[str]] = set()
    for number, text in enumerate(study.analysis.expected, start=1):
        parsed = parse_expected(text, ids)
        if parsed is None:
            yield Finding(
                ("analysis",),
                f'[analysis] expected, entry {number}: wanted "x > y" (x is preferred) or "x ~ y" (no difference), got {shown(text)}; put it right',
            )
            continue
        x, _, y = parsed
        for system in (x, y):
            yield from _known_system(study, "analysis", f"expected, entry {number}", system)
        if x == y or frozenset((x, y)) in seen:
            what = "itself" if x == y else "this pair before"
            yield Finding(
                ("analysis",),
                f"[analysis] expected, entry {number}: wanted two systems, each pair once, got {shown(text)} ({what}); remove it",
            )
        seen.add(frozenset((x, y)))
