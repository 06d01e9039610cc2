"""What captions of a paper add, where tables and figures stand alone: how many of what, level and correction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analysis.printing.document import Figure, Table
from analysis.printing.levels import correction_name, level
from analysis.printing.live_words import chance_of_error
from analysis.printing.lookup import confidence_words
from analysis.printing.names import Names
from analysis.printing.pictures import everyone
from analysis.records.results import Results

WITHOUT_ANSWERS = frozenset({"systems", "questions", "families", "metrics_signatures"})  # what was asked, and how
BEFORE = ("groups", "exclusions", "missing", "careless", "sign_evidence")  # exclusions: how names of tables begin
P = re.compile(r"(?:^| )p(?: |$)")  # title of a column of p-values
ADJUSTED = frozenset({"Adjusted p", "Crossed p"})
VERDICTS = re.compile("erdict|Do they agree|^Expected$|^Ahead$")  # titles of columns that follow from tests
CORRECTED = re.compile(r"Benjamini-Hochberg|Benjamini-Yekutieli|Holm")
COUNTED = re.compile(r"^n\b")


class Captions:
    """Captions of the tables and figures of a report, each with what it rests on."""

    def __init__(self, results: Results) -> None:
        self._results, self._names = results, Names(results)
        self._everyone = everyone(results, self._names)
        self._before = everyone(results, self._names, before=True)

    def of_figure(self, figure: Figure) -> str:
        """Return the caption of a figure with its units, else with all who answered."""
        return " ".join(filter(None, (figure.caption, figure.units or self._n(self._everyone))))

    def of_table(self, table: Table) -> str:
        """Return the caption of a table with its tests and intervals, and what n is."""
        return " ".join([f"{table.caption}.", *(f"{part}." for part in self._parts(table))])

    def _parts(self, table: Table) -> Iterator[str]:
        yield from filter(None, (self._tests(table),))
        titles = [column.title for column in table.columns]
        if any("onfidence interval" in title for title in titles):
            yield f"Intervals: {confidence_words(self._results)}"
        if table.units:
            yield table.units.rstrip(".")
        elif table.name.startswith(BEFORE):
            yield self._n(self._before, " before exclusions").rstrip(".")
        elif table.name not in WITHOUT_ANSWERS:
            counted = next((column for column in table.columns if COUNTED.match(column.title)), None)
            of = self._everyone
            said = "" if counted is None else f"{counted.explanation or 'as listed'}; of "
            yield f"n: {said}{of}" if of else f"n: {said.removesuffix('; of ') or 'as listed'}"

    def _tests(self, table: Table) -> str:
        """Say how p-values were corrected, at what level verdicts are found."""
        if table.tested:
            return table.tested
        settings, live = self._results.settings, self._results.live
        corrected = [column for column in table.columns if column.title in ADJUSTED]
        if corrected:
            own = CORRECTED.search(" ".join(column.explanation for column in corrected))
            return f"p: adjusted by {own[0] if own else correction_name(settings)}, level {level(settings)}"
        if any(P.search(column.title) for column in table.columns):
            return f"p: not corrected, level {level(settings)}"
        if any(VERDICTS.search(column.title) or column.title == "Decision" for column in table.columns):
            if live is not None:
                return f"Decisions of the study, {chance_of_error(live)}"
            return f"Verdicts: p adjusted by {correction_name(settings)}, level {level(settings)}"
        return ""

    @staticmethod
    def _n(who: str, more: str = "") -> str:
        return f"n: {who}{more}." if who else ""
