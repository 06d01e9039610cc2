"""What a user reads is worded one way: percent signs, intervals, the field's terms."""

from __future__ import annotations

import ast
import re

import pytest

from tests.printed_strings import Printed, _of_code, printed_strings

LEFT = {  # what a person, and not we, may write with a space: the language of a form says how
    "spa/forms/locales",
}
AVOIDED = {  # what readers stumbled over, and what is said for it
    r"\d %|\} %": "67.7%, without a space",
    r"\b\d+% (?!confidence )intervals?\b": "95% confidence interval",
    r"May an LLM|\bstand in for\b": "can an LLM replace annotators",
    r"Worst problems": "main caveats",
    r"shared pairs?\b": "agrees on 5 of 6 pairs",
    r"\bnothing pairs\b": "the tests cannot be paired",
    r"\blies low\b|dealt out at random|takes for granted|held against": "plain words",
    r"\bspoken of\b|\bspeaks? of (?!chance)": "is about",
    r"\b[Ss]tars:|\*\*\* adjusted": "no stars are printed",
}


@pytest.fixture(scope="module")
def printed() -> list[Printed]:
    return [found for found in printed_strings(("analysis",)) if not any(found.file.startswith(part) for part in LEFT)]


@pytest.mark.parametrize(("pattern", "instead"), AVOIDED.items())
def test_what_is_printed_is_in_plain_words(printed: list[Printed], pattern: str, instead: str) -> None:
    found = [f"{one.file}:{one.line}: {one.text}" for one in printed if re.search(pattern, one.text)]
    assert found == [], f"say: {instead}"


def test_the_list_holds_what_is_read_and_nothing_else() -> None:
    code = '''
"""A docstring."""
KEY = {"one key": "One value."}
def made(row: "an annotation") -> str:
    """Another docstring."""
    if row == "compared with":
        return f"{row} of several"
    return re.compile("a pattern of words").sub("", row["a long key"])
@cli.command()
def shown() -> None:
    """Show the help."""
'''
    assert [text for _, text in sorted(_of_code(ast.parse(code)))] == [
        "One value.",
        "one key",
        "{...} of several",
        "Show the help.",
    ]


def test_strings_of_all_packages_are_found(printed: list[Printed]) -> None:
    texts = {one.text for one in printed}
    assert "Who wins" in texts
    assert any("Can an LLM replace annotators?" in text for text in texts)
    assert any(one.file.endswith(".html.j2") for one in printed)
