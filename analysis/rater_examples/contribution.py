"""What LLMs that read answered examples contribute."""

from __future__ import annotations

from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.rater_examples.example_effect import ExampleEffect, example_effects
from analysis.rater_examples.section import with_and_without
from analysis.records.results import rows

EXAMPLES = rows("examples", ExampleEffect, "LLMs with answered examples of people and without, on items held out.")


def _effects(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    return {"examples": tuple(example_effects(prepared)) if prepared.plan.examples else ()}


WORDS = (
    Words(
        "examples",
        "Examples are answers of people to items that the LLM is never asked about, with examples or without. Both are "
        "compared with people on the same other items: ratings by Pearson's correlation over outputs, choices by the "
        "chance that two answers agree.",
        lambda results: bool(EXAMPLES.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=(EXAMPLES,),
    compute=_effects,
    sections=(SectionEntry("examples", EXAMPLES, with_and_without),),
    words=WORDS,
)
