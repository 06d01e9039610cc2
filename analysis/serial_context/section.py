"""What the report says of serial context: an exploratory question, answered only where orders were random."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Heading, Paragraph, Section, Table
from analysis.printing.levels import correction_name
from analysis.printing.words import count, interval, number, p_value, p_words, sentence, signed, t_value
from analysis.serial_context.contexts import SerialArms, SerialContext
from analysis.statistics.reasons import commonest

OPENING = (
    "People compare what they read with what they read before (Chiang & Lee 2023, section 5). Exploratory: these tests "
    "ask whether ratings drift along the form, and whether one is lower after a better output, told by the ratings of "
    "others. They hold annotators and outputs constant and count annotators. A drift harms no comparison where each "
    "system stands early as often as late; it makes ratings noisier."
)
ARMS = (
    "The same systems in blocks, one after another, or mixed: does the way change the difference between them? As "
    "Chiang & Lee (2023, Table 5), but with a test of one arm against the other."
)
EFFECTS = {"position": "place on the form", "previous": "quality of the output before"}
UNITS = {"position": "with each further output", "previous": "with each point by which the one before is better"}


def serial_context(contexts: Sequence[SerialContext], arms: Sequence[SerialArms], shown: Shown) -> Section | None:
    """Report both questions, and the arms."""
    if shown.live:
        return None
    blocks: list[Block] = [Paragraph(text=OPENING)] if contexts else []
    if contexts:
        blocks += [Bullets(items=tuple(_said(contexts, shown))), _table(contexts, shown)]
    if arms:
        blocks += [Heading(text="Systems in blocks or mixed"), Paragraph(text=ARMS), _arms(arms, shown)]
    return Section(
        id="serial-context", title="Do ratings depend on what was read before? (exploratory)", blocks=tuple(blocks)
    )


def _said(rows: Sequence[SerialContext], shown: Shown) -> list[str]:
    """Say of each question which criteria show something, or why nothing can be said."""
    said = []
    for effect, what in EFFECTS.items():
        own = [row for row in rows if row.effect == effect]
        tested = [row for row in own if row.p_adjusted is not None]
        clear = [row for row in tested if row.p_adjusted is not None and row.p_adjusted <= shown.settings.fwer]
        if not tested:
            said.append(f"{sentence(what)}: not tested ({commonest(row.reason for row in own)}).")
        elif not clear:
            said.append(f"{sentence(what)}: no clear effect in {len(tested)} of {len(tested)} tests.")
        else:
            listed = "; ".join(
                f"{_about(row, shown)} {signed(row.estimate)} points {UNITS[effect]} ({p_words(row.p_adjusted)})"
                for row in clear[:3]
            )
            more = f"; and {len(clear) - 3} more" if len(clear) > 3 else ""
            said.append(f"{sentence(what)}: {len(clear)} of {len(tested)} tests show an effect: {listed}{more}.")
    return said


def _about(row: SerialContext, shown: Shown) -> str:
    arm = f", {row.arm}" if row.arm else ""
    return f"{shown.names.group(row.group)}, {shown.names.criterion(row.criterion)}{arm}:"


def _table(rows: Sequence[SerialContext], shown: Shown) -> Table:
    names = shown.names
    fields: list[Field[SerialContext]] = [
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        text_column("Arm", lambda row: row.arm or ""),
        text_column("Effect of", lambda row: EFFECTS[row.effect]),
        number_column("Annotators", lambda row: count(row.n_annotators)),
        number_column("n", lambda row: count(row.n), "answers"),
        number_column("Change", lambda row: signed(row.estimate, 3), "points, a further place or a point better"),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column("t", lambda row: t_value(row.t)),
        number_column(
            "Adjusted p",
            lambda row: p_value(row.p_adjusted),
            f"{correction_name(shown.settings)}, tests of a group",
        ),
        number_column("Turned", lambda row: number(row.share_turned), "share of two outputs in another order"),
        text_column("Not tested", lambda row: str(row.reason or "")),
    ]
    constant = ("Group", "Criterion", "Arm", "Not tested")
    return tabulate("serial_context", "What ratings owe to their place", fields, rows, constant=constant)


def _arms(rows: Sequence[SerialArms], shown: Shown) -> Table:
    names = shown.names
    fields: list[Field[SerialArms]] = [
        text_column("Pair", names.against),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("First arm", lambda row: f"{row.arm_a}: {signed(row.difference_a)} (n = {row.n_a})"),
        number_column("Second arm", lambda row: f"{row.arm_b}: {signed(row.difference_b)} (n = {row.n_b})"),
        number_column("Between arms", lambda row: signed(row.estimate), "difference of the first arm minus the other"),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column("t", lambda row: t_value(row.t), "Welch\u2019s"),
        number_column("Adjusted p", lambda row: p_value(row.p_adjusted), correction_name(shown.settings)),
    ]
    return tabulate(
        "serial_arms", "Differences between systems, arm by arm", fields, rows, constant=("Group", "Criterion")
    )
