"""What holding covariates constant contributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from analysis.answers.output_features import CHARACTERS, covariates_of
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.covariates.claims import claims
from analysis.covariates.comparisons import controlled_choices, controlled_preferences, scaled_features
from analysis.covariates.equal_length import EqualLengthRate, equal_length_rates
from analysis.covariates.held_constant import ControlledStrength, CovariateEffect, held_constant
from analysis.covariates.section import held_section
from analysis.records.results import Results, rows
from spa.records.covariates import LENGTH

EFFECTS = rows(
    "covariate_effects",
    CovariateEffect,
    "What properties of the outputs are worth to those who compare them; empty where the plan controls for none.",
)
STRENGTHS = rows(
    "controlled_strengths",
    ControlledStrength,
    "Strengths without and with these properties held constant, of the same comparisons.",
)
EQUAL_LENGTH = rows(
    "equal_length", EqualLengthRate, "Win rates of choices at equal length, where the plan controls for length."
)


def _held(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    controls = prepared.plan.control
    strengths: list[ControlledStrength] = []
    effects: list[CovariateEffect] = []
    rates: list[EqualLengthRate] = []
    if controls:
        columns = [name for control in controls for name in covariates_of(control)]
        wanted = [*columns, CHARACTERS]
        features, sizes = scaled_features(prepared, wanted)
        for parts in (controlled_preferences, controlled_choices):
            for part in parts(prepared, features, wanted):
                own, found = held_constant(
                    replace(part, features=part.features[:, :-1]), controls, sizes, prepared.plan
                )
                strengths += own
                effects += found
                if LENGTH in controls and part.source == "choices":
                    rates += equal_length_rates(replace(part, features=part.features[:, -1:]), prepared.plan)
    return {
        "covariate_effects": tuple(effects),
        "controlled_strengths": tuple(strengths),
        "equal_length": tuple(rates),
    }


def _controlled(results: Results) -> bool:
    return bool(results.controlled_strengths)


WORDS: Final = (
    Words(
        "held constant",
        "Logistic regression of each comparison on its two systems and on the difference of the outputs' covariates: "
        "log2 of words (a Chinese or Japanese character is one; an empty output counts as one word), log2 of 1 + "
        "headings, items of lists and bold parts, other columns in standard deviations over all outputs; of preferences"
        " the mean over the outputs that were read before. Errors are clustered by annotator (of an LLM: assignment) "
        "and item where there are ten of either and both repeat, else by one (CR1), t with the number of clusters "
        "less one. Points of win rate are what a covariate adds to an even comparison.",
        _controlled,
    ),
    Words(
        "win rate at equal length",
        "One logistic regression a pair of systems, of who won on tanh of the difference of characters over its "
        "standard deviation in that pair; the rate is that at a difference of 0. Without a penalty, and without the "
        "difficulty of prompts, which AlpacaEval's length-controlled win rate knows of its own prompts alone.",
        lambda results: bool(results.equal_length),
    ),
)

CONTRIBUTION = Contribution(
    keys=(EFFECTS, STRENGTHS, EQUAL_LENGTH),
    compute=_held,
    sections=(SectionEntry("held-constant", EFFECTS, held_section, (STRENGTHS, EQUAL_LENGTH)),),
    words=WORDS,
    claims=claims,
)
