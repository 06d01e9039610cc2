"""What the pages show of a study or of tables, worked out anew; nothing here knows of a browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.answers.study_answers import StudyAnswers
    from analysis.explanations.exploration import Exploration
    from analysis.printing.document import Section
    from analysis.printing.names import Names
    from analysis.records.results import Results
    from spa.commands.workspace import Workspace
    from spa.raters.request_log import CallIndex
    from streamlit_app.options import DashboardOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """What the analysis says of the answers."""

    results: Results

    @property
    def names(self) -> Names:
        """Return how the report calls systems, groups and criteria."""
        from analysis.printing.names import Names

        return Names(self.results)

    @property
    def rules(self) -> dict[str, tuple[str, ...]]:
        """Return the rules that leave an annotator's answers out, in words, by annotator; once each."""
        from analysis.printing.words import rule_name

        found: dict[str, dict[str, None]] = {}
        for row in self.results.exclusions:
            found.setdefault(row.annotator_id, {})[rule_name(row.rule)] = None
        return {annotator: tuple(rules) for annotator, rules in found.items()}

    @property
    def signs(self) -> dict[str, tuple[str, ...]]:
        """Return the signs of careless answering that each annotator shows, in words."""
        from analysis.printing.words import rule_name

        found: dict[str, list[str]] = {}
        for row in self.results.careless_signs:
            found.setdefault(row.annotator_id, []).append(rule_name(row.sign))
        return {annotator: tuple(signs) for annotator, signs in found.items()}


def state_of_source(options: DashboardOptions, workspace: Workspace | None) -> str:
    """Return a version string of what is shown; of tables it is made of the times of their files."""
    if workspace is None:
        from streamlit_app.table_files import table_files

        files = table_files(Path(options.tables or ""))
        return "/".join(str(path.stat().st_mtime_ns) for path in files.values())
    from analysis.answers.sidecars import CONTAMINATION, METRICS, explanations_name, sidecar_path, sidecar_paths
    from spa.responses.status import state_of

    single = (sidecar_path(workspace.study, name) for name in (METRICS, explanations_name(workspace)))
    beside = (*single, *sidecar_paths(workspace.study, CONTAMINATION))
    computed = "".join(f"/{path.stat().st_mtime_ns}" for path in beside if path is not None)
    with workspace.store.reading() as connection:
        return state_of(connection) + computed


def read_source(options: DashboardOptions, workspace: Workspace | None) -> StudyAnswers:
    """Return all answers; an ``AnalysisError`` where there are none yet."""
    from analysis.answers.study_answers import StudyAnswers, answers_of

    if workspace is not None:
        return answers_of(workspace, with_reading=True)
    from analysis.answers.plan import Plan
    from analysis.answers.tables import read_tables
    from analysis.commands.reading_options import reading_of
    from streamlit_app.table_files import recognised_files

    found = recognised_files(Path(options.tables or ""), reading_of(options.reading))
    tables = read_tables(found.files, found.reading)
    tables = replace(tables, inputs=found.noted(tables.inputs))
    return StudyAnswers(tables=tables, plan=Plan(seed=0), facts=None, reading=tables.reading)


def analyse_answers(answers: StudyAnswers) -> Analysed:
    """Return the results of the plan."""
    from analysis.figures.plain_text import clean
    from analysis.results.analyse import analyse

    return Analysed(results=clean(analyse(answers.tables, answers.plan, study=answers.facts)))


def count_calls(workspace: Workspace | None) -> CallIndex:
    """Return how the calls to LLMs ended and where they are, by rater; tables hold none."""
    from spa.raters.request_log import CallIndex, index_calls

    return CallIndex(counts=(), numbers={}) if workspace is None else index_calls(workspace.store)


def explore_texts(analysed: Analysed, options: DashboardOptions) -> Exploration:
    """Return keywords, separation and map of what raters and people wrote; refuse less than two texts."""
    import numpy as np

    from analysis.explanations.exploration import explore
    from analysis.explanations.texts import explained_texts, names_of_criteria

    results = analysed.results
    texts = explained_texts(results.explanations, results.interview)
    return explore(
        texts,
        names_of_criteria(texts, results.study),
        rng=np.random.default_rng(0),
        language=results.study.language if results.study else "en",
        model=Path(options.embedding) if options.embedding else None,
    )


def write_section(analysed: Analysed, name: str) -> Section | None:
    """Return one section of the report; ``None`` where there is nothing to say."""
    from analysis.report.sections import make_section, shown_results

    return make_section(shown_results(analysed.results), name)
