"""Names that are nearly the same: which differences count, how they are shown, and that other names are left alone."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.tables.near_matches import as_shown, escaped, matches_shown, near_matches, nearest_names, unescaped

NEAR = {
    "letter case": ("alpha", "ALPHA"),
    "Cyrillic a": ("alpha", "\u0430lpha"),
    "Greek o": ("foo", "fo\u03bf"),
    "full width": ("gpt", "\uff47pt"),
    "full-width capital": ("a", "\uff21"),
    "zero-width space": ("alpha", "alpha\u200b"),
    "byte order mark": ("alpha", "\ufeffalpha"),
    "soft hyphen": ("software", "soft\u00adware"),
    "no-break space": ("system a", "system\u00a0a"),
    "hyphen": ("GPT-4", "GPT\u20104"),
    "no-break hyphen": ("GPT-4", "GPT\u20114"),
    "minus": ("GPT-4", "GPT\u22124"),
    "dash": ("GPT-4", "GPT\u20134"),
    "two spaces": ("GPT 4", "GPT  4"),
    "tab": ("GPT 4", "GPT\t4"),
    "fraction": ("1", "1.0"),
    "zeros": ("1", "001"),
    "zero": ("0", "000"),
    "apostrophe": ("it's", "it\u2019s"),
    "decomposed": ("caf\u00e9", "cafe\u0301"),
}
OTHERS = [
    ("1e5", "100000"),
    ("12345678901234567890", "12345678901234567891"),
    ("9007199254740993", "9007199254740992"),
    ("caf\u00e9", "cafe"),
    ("1", "1.5"),
    ("10", "1"),
    ("item1", "item01"),
    ("a-b", "ab"),
    ("\u0432\u0435\u0441", "\u0431\u0435\u0441"),
    ("2024-01-01", "2024-01-02"),
]


@pytest.mark.parametrize("pair", NEAR.values(), ids=NEAR)
@pytest.mark.parametrize("turned", [False, True])
def test_differences_that_are_easily_overlooked_are_found(pair: tuple[str, str], turned: bool) -> None:
    (match,) = near_matches([*reversed(pair)] if turned else pair)
    assert match.names == pair
    assert nearest_names(pair[1:], pair[:1]) == {pair[1]: pair[0]}


@given(
    st.lists(st.text(st.sampled_from("aA\u0430\u200b\u00e9 \t0\u0661-1.\u2212"), max_size=6), unique=True, max_size=9)
)
def test_few_names_and_many_are_compared_alike(names: list[str]) -> None:
    found = near_matches(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spa.tables.near_matches.FEW", -1)
        assert near_matches(names) == found


@pytest.mark.parametrize("pair", OTHERS, ids=str)
def test_other_names_are_not(pair: tuple[str, str]) -> None:
    assert near_matches(pair, versions=True) == []


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["x", "openai/x"], [("x", "openai/x")]),
        (["openai/x", "openrouter/openai/x"], [("openai/x", "openrouter/openai/x")]),
        (["gpt-4o", "gpt-4o-2024-08-06"], [("gpt-4o", "gpt-4o-2024-08-06")]),
        (["claude", "claude-20241022"], [("claude", "claude-20241022")]),
        (["x", "openai/X-2026-01-01"], [("x", "openai/X-2026-01-01")]),
        (["openai/x", "azure/x"], []),
        (["gpt-4o-2024-05-13", "gpt-4o-2024-08-06"], []),
        (["gpt-4", "gpt-4o"], []),
        (["x", "x-20261399"], []),
        ([" ", "0/", "0/0/"], [(" ", "0/", "0/0/")]),
    ],
)
def test_near_matches_with_providers_and_dates(names: list[str], found: list[tuple[str, ...]]) -> None:
    """Providers and dates belong to a model that is there without."""
    assert [match.names for match in near_matches(names, versions=True)] == found
    assert near_matches(names) == []


def test_what_the_eye_cannot_see_is_shown_and_can_be_typed() -> None:
    assert as_shown("alpha\u200b") == "alpha<U+200B>"
    assert as_shown("\u0430lpha") == "<U+0430>lpha"
    assert as_shown("GPT  4") == "GPT<U+0020><U+0020>4"
    assert as_shown("caf\u00e9 \u4e2d\u6587") == "caf\u00e9 \u4e2d\u6587"
    assert len(as_shown("\u200b" * 500)) <= 40
    many = near_matches(name for number in range(500) for name in (f"system {number}" * 20, f"SYSTEM {number}" * 20))
    assert len(matches_shown(many)) < 250
    assert matches_shown(many).endswith(" and 498 more")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_typed_name_is_the_name(name: str) -> None:
    if "\\" not in name:
        assert unescaped(escaped(name)) == name


@given(st.lists(st.text("aA1 0.\u0430\u200b\u2011-\u00e9/", min_size=1), max_size=12, unique=True), st.randoms())
def test_matches_depend_on_the_set_of_names_alone(names: list[str], rng: random.Random) -> None:
    found = near_matches(names, versions=True)
    shuffled = [*names]
    rng.shuffle(shuffled)
    assert near_matches(shuffled, versions=True) == found
    grouped = [name for match in found for name in match.names]
    assert len(grouped) == len({*grouped})
    assert {*grouped} <= {*names}
    assert all(len(match.names) > 1 for match in found)


@given(st.lists(st.text(min_size=1).map(str.strip).filter(bool), max_size=8, unique_by=lambda name: name.casefold()))
def test_a_decomposed_name_is_near_its_composed_one(names: list[str]) -> None:
    for name in names:
        other = unicodedata.normalize("NFD", name)
        if other != name:
            assert nearest_names([other], [name]) == {other: name}


@pytest.mark.slow
def test_a_hundred_thousand_names_take_a_second() -> None:
    names = [f"item {number:06d}" for number in range(100_000)] + ["ITEM 000007"]
    start = time.process_time()
    (match,) = near_matches(names)
    assert match.names == ("item 000007", "ITEM 000007")
    assert time.process_time() - start < 2
