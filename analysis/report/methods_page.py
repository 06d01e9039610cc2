r"""The methods section as Markdown, as LaTeX to take in with ``\input``, and its bibliography."""

from __future__ import annotations

from analysis.methods import Methods, Sentence, methods
from analysis.methods.bibliography import bibliography
from analysis.records.results import Results
from analysis.report.latex import BEYOND_LATIN
from analysis.report.latex import escape as latex
from analysis.report.markdown import escape as markdown

HOW = "Written from results.json; after each paragraph stand the keys that it says. Add what results do not say:"
BEYOND = "% holds letters beyond Latin: compile with XeLaTeX or LuaLaTeX and a font that has them"


def methods_files(results: Results) -> dict[str, str]:
    """Return the text of each file by its name."""
    found = methods(results)
    return {
        "methods.md": _markdown(found),
        "methods.tex": _latex(found),
        "methods.bib": bibliography(found.cited, results.settings.versions.get("spa-eval")),
    }


def _markdown(found: Methods) -> str:
    parts = [f"<!-- {HOW}", *(f"- {markdown(line)}" for line in found.to_add), "-->"]
    written = ["\n".join(parts)]
    for paragraph in found.paragraphs:
        sentences = " ".join(
            f"{markdown(each.text)}{f' [{_cited(each)}]' if each.cites else ''}." for each in paragraph.sentences
        )
        written += [f"**{paragraph.title}.** {sentences}", f"<!-- {', '.join(_facts(paragraph.sentences))} -->"]
    return "\n\n".join(written) + "\n"


def _cited(sentence: Sentence) -> str:
    return "; ".join(f"@{name}" for name in sentence.cites)


def _facts(sentences: tuple[Sentence, ...]) -> list[str]:
    return list(dict.fromkeys(fact for each in sentences for fact in each.facts))


def _latex(found: Methods) -> str:
    lines = [r"% \bibliography{methods} and, where \citep is not known, \usepackage{natbib}", f"% {HOW}"]
    lines += [f"% - {latex(line)}" for line in found.to_add]
    lines.append(r"\providecommand{\citep}[1]{\cite{#1}}")
    for paragraph in found.paragraphs:
        sentences = [f"{latex(each.text)}{_citation(each)}." for each in paragraph.sentences]
        lines += ["", rf"\paragraph{{{paragraph.title}.}}", *sentences, f"% {', '.join(_facts(paragraph.sentences))}"]
    if any(BEYOND_LATIN.search(line) for line in lines):
        lines.insert(0, BEYOND)
    return "\n".join(lines) + "\n"


def _citation(sentence: Sentence) -> str:
    names = ",".join(sentence.cites)
    return rf"~\citep{{{names}}}" if names else ""
