"""The document of all calibrations: a table for each theme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from analysis.agreement.resampling import FEW_UNITS
from tests.calibration import agreement, comparisons, orders, prediction_powered, rankings, single, strengths
from tests.calibration.table import Line, as_markdown

FALSE, HELD = "seen", "covered"
HEAD = """# Calibration

How often the tests of this package find a difference that does not exist, and how often its intervals cover the
truth, in simulations with a known truth (`make calibrate`, seed {seed}). Every simulated study goes through the
functions that a report uses. [Statistics](../../docs/statistics.md#calibration) says what to conclude.

Of the {promised} lines whose level is promised, {kept} keep it within two Monte-Carlo standard errors; by chance
alone about {chance:.0f} would not. Lines without a promise show what a small or a wrong design costs.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One theme; ``seen`` heads the column of shares: of false findings, or of intervals that hold the truth."""

    title: str
    text: str
    lines: Sequence[Line]
    seen: str

    def markdown(self) -> str:
        """Write heading, text and table."""
        return f"\n## {self.title}\n\n{self.text}\n\n{as_markdown(self.lines, self.seen)}\n"

    @property
    def promised(self) -> list[Line]:
        """Return the lines that promise something."""
        return [line for line in self.lines if line.promised]

    def kept(self) -> int:
        """Count the promises kept."""
        sign = 1 if self.seen == FALSE else -1
        return sum(sign * (line.seen - line.nominal) <= 2 * line.error for line in self.promised)


def write(runs: int, seed: int, tell: Callable[[str], None]) -> str:
    """Run all simulations and write the document; ``tell`` hears each title as it is done."""
    done = []
    for section in sections(runs, seed):
        tell(section.title)
        done.append(section)
    return assemble(done, seed)


def assemble(done: Sequence[Section], seed: int) -> str:
    """Write the document of finished sections."""
    promised = sum(len(section.promised) for section in done)
    kept = sum(section.kept() for section in done)
    head = HEAD.format(seed=seed, promised=promised, kept=kept, chance=0.023 * promised)
    return head + "".join(section.markdown() for section in done)


def sections(runs: int, seed: int) -> Iterator[Section]:
    """Run the simulations theme by theme."""
    yield from _comparisons(runs, seed)
    found = [comparisons.lines_of(design, runs, seed)[0] for design in comparisons.discovery_designs()]
    text = "Mean share of findings that are false under Benjamini-Hochberg, declared in a plan at 5 %."
    yield Section(title="False discoveries", text=text, lines=found, seen=FALSE)
    found = [single.simulate(design, runs, seed) for design in single.designs()]
    found += [single.equivalence(annotators, runs, seed) for annotators in (10, 20, 50)]
    yield Section(title="Single tests", text=SINGLE, lines=found, seen=FALSE)
    yield from _strengths(runs, seed)
    yield from _agreement(runs, seed)
    found = [prediction_powered.coverage(design, runs, seed) for design in prediction_powered.designs()]
    yield Section(title="Prediction-powered means", text=POWERED, lines=found, seen=HELD)


def _comparisons(runs: int, seed: int) -> Iterator[Section]:
    differences: list[Line] = []
    means: list[Line] = []
    themes: tuple[tuple[str, str, Iterable[comparisons.Design]], ...] = (
        ("preferences", PREFERENCES, comparisons.preference_designs()),
        ("ratings", RATINGS, comparisons.rating_designs()),
        ("choices", CHOICES, comparisons.choice_designs()),
    )
    for theme, text, designs in themes:
        false = []
        for design in designs:
            found, of_differences, of_means = comparisons.lines_of(design, runs, seed)
            false.append(found)
            differences += [_named(theme, of_differences)] if of_differences else []
            means += [_named(theme, of_means)] if of_means else []
        yield Section(title=f"False findings: {theme}", text=text, lines=false, seen=FALSE)
    yield Section(title="Intervals of differences", text=OF_MEANS, lines=differences, seen=HELD)
    text = "Intervals of the mean rating of one system, clustered by annotator, in the designs above."
    yield Section(title="Intervals of mean ratings", text=text, lines=means, seen=HELD)


def _named(theme: str, line: Line) -> Line:
    return replace(line, name=f"{theme}, {line.name}")


def _strengths(runs: int, seed: int) -> Iterator[Section]:
    truth = ", ".join(f"{value:g}" for value in strengths.TRUTH)
    found = [strengths.coverage(design, runs, seed) for design in strengths.designs()]
    text = STRENGTHS.format(truth=truth, taste=strengths.TASTE)
    yield Section(title="Bradley-Terry strengths", text=text, lines=found, seen=HELD)
    found = [single.simulate(design, runs, seed) for design in single.davidson_designs()]
    text = "Strength ± 1.96 standard errors of Davidson's model, comparisons independent and of the model."
    yield Section(title="Davidson's strengths", text=text, lines=found, seen=HELD)
    found = [rankings.coverage(design, max(runs // 5, 1), seed) for design in rankings.designs()]
    yield Section(title="Kendall's tau between rankings", text=RANKINGS, lines=found, seen=HELD)
    found = [orders.coverage(design, max(runs // 5, 1), seed) for design in orders.designs()]
    yield Section(title="Plackett-Luce strengths", text=ORDERS, lines=found, seen=HELD)


def _agreement(runs: int, seed: int) -> Iterator[Section]:
    found = [
        line for design in agreement.alpha_designs() for line in agreement.coverage(design, _some(design, runs), seed)
    ]
    yield Section(title="Agreement", text=ALPHA, lines=found, seen=HELD)
    found = [line for design in agreement.other_designs() for line in agreement.coverage(design, runs, seed)]
    text = "The same answers. Exact agreement has Wilson's interval, Cohen's kappa the asymptotic one."
    yield Section(title="Other coefficients of agreement", text=text, lines=found, seen=HELD)
    found = [
        line
        for design in agreement.icc_designs()
        for line in agreement.icc_coverage(design, max(runs // 20, 1) if design.holes else runs, seed)
    ]
    yield Section(title="Intraclass correlations", text=ICC, lines=found, seen=HELD)


def _some(design: agreement.Design, runs: int) -> int:
    """Run half of the studies where every one takes a thousand resamples."""
    return max(runs // 2, 1) if design.units >= FEW_UNITS else runs


PREFERENCES = """\
Share of studies in which any of two equal systems is said to be preferred. Four systems, six pairs, one family.
Every annotator has a liking of each system of their own (normal, standard deviation 0.8 on the logit scale),
answers for every pair, and rounds: so the six tests hang together."""
RATINGS = """\
As before, three systems on a scale of 1 to 5. Likings have a standard deviation of 0.5 points, items differ in
ease, annotators in strictness, and the rest is noise (0.8). A test by annotator is about further annotators and
these items; a test by item about further items and these annotators."""
CHOICES = """\
As before, five choices a pair and annotator by the same likings as of preferences, one in five a tie."""
OF_MEANS = """\
Shares of 95 % t intervals over units in the same studies. The truth of two equal systems is 50 % (or no
difference), that of others is the mean of very many annotators."""
SINGLE = """\
Share of tests that reject at 5 % what is true. Williams: a target correlates equally with two measures that
correlate with each other. Equivalence: two systems that differ by exactly the margin are called equivalent.
Alternative annotator: people and LLM label two classes, the LLM worse by exactly epsilon = 0.1; against one person
the raw p-value counts, against any of three the corrected one."""
STRENGTHS = """\
Four systems, strengths {truth}. Annotators (and items) of the clustered designs have tastes of their own: normal,
standard deviation {taste:g} for each system. Preferences are beta-distributed about the model's probability. Rank
intervals are simultaneous: they hold all four true ranks at least as often as the level says, more often where
systems differ."""
RANKINGS = """\
Two rankings by means over the same annotators, one answer a system with a noise of 1; the liking of an annotator
for a system (spread 0.5) is the same in both. Neighbours are 0.15 apart (close) or 0.5 (apart). Likings shared by
both pull the two orders together: with 10 annotators and close systems they are most of what is seen. Of the designs
with orders the second ranking is the Bradley-Terry strengths of two orders by each annotator; in those of the best two
all others share the last place. Reports give no interval below 30 annotators: its coverage stands here."""
ORDERS = """\
Three orders of five systems by each annotator, whose liking of a system (spread 0.5) is the same in all; noise is
Gumbel's. Ties are of utilities rounded to multiples of 1.2; of the best two, all others share the last place. The truth
is the strengths that 20,000 annotators give. Below 4 degrees of freedom there is no interval."""
ALPHA = """\
Krippendorff's alpha of answers from 1 to 5: the unit's value (standard deviation 1) plus the rater's error (1; of
raters who agree well 0.4), rounded. The truth is the value that very many units give. Fewer than 50 units are left
out one by one, more are resampled; before, all were resampled, which covered 86 % with 10 units at the nominal
level. A run has no interval where a single unit holds all the variation."""
ICC = """\
Normal answers, variances 1 (units), 1 (raters) and 1 (error); for icc1 raters differ from unit to unit. Raters
are drawn anew in every run: icc1 and icc2 speak of other raters too, icc3 of these. With missing cells the interval
is of profile likelihood."""
POWERED = """\
Answers are normal, the truth 0, and the LLM 0.5 too high; lambda is tuned on the same answers. Effects of
annotators have standard deviation 0.7 beside a noise of 1. Designs of one size are drawn from the same stream: they
err together."""
