"""Spaces between the signs of formulas, where browsers would set them unlike LaTeX.

The converter says which letters and signs there are, and little of what they are: a sign before a number, a bar that
closes, a function with its argument.
"""

from __future__ import annotations

from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

ROWS = frozenset("math mrow mtd mstyle msqrt mpadded mphantom".split())
SCRIPTS = frozenset("msub msup msubsup munder mover munderover".split())
FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp det dim ker gcd hom arg deg max "
    "min sup inf lim limsup liminf Pr argmax argmin".split()
)
OPERATORS = frozenset("±∓×÷¬:%")  # which the converter takes for letters
SIGNS = frozenset("+-−±∓¬")  # which stand before a number
CLOSING = frozenset(")]}⟩⌋⌉!′″‴%")
BARS = frozenset("|‖∥")
ACCENTS = frozenset("¯→←˙¨ˇ˘´`^~―⃗")
PRIMES = frozenset("′″‴⁗")
SPACE = "0.1667em"  # LaTeX's thin space


def space_like_latex(tree: Element) -> None:
    """Say of signs in a tree of MathML what they are, and put thin spaces beside functions."""
    rows = []
    for element in [*tree.iter()]:
        tag = element.tag
        if tag == "mi":
            text = said(element)
            if text in OPERATORS or text in PRIMES:
                _become_operator(element, text)
        elif tag == "mo":
            if said(element) in FUNCTIONS:
                element.attrib.update(lspace="0", rspace="0")
        elif tag in ROWS:
            if len(element):
                rows.append(element)
        elif tag == "mover":
            if len(element) == 2 and said(element[1]) in ACCENTS:
                element.set("accent", "true")
        elif tag == "mspace" and element.get("width", "").startswith("negative"):
            element.set("width", f"-{SPACE}")
    for row in rows:
        _space_row(row)


def _become_operator(element: Element, text: str) -> None:
    element.tag = "mo"
    if text in PRIMES or text in ":%":
        element.attrib.update(lspace="0", rspace=SPACE if text == ":" else "0")
    if text in PRIMES:
        element.set("scriptlevel", "0")  # fonts draw them small and raised already


def said(element: Element) -> str:
    """Return what an element says, without the spaces around it."""
    return _said(element.text) if element.text else ""


@lru_cache(4096)
def _said(text: str) -> str:
    return (unescape(unescape(text)) if "&" in text else text).replace("\u00a0", "").strip()


def _space_row(row: Element) -> None:
    children = [*row]
    functions = [_is_function(child) for child in children]
    texts = [said(child) if child.tag == "mo" else None for child in children]
    bars = sum(text in BARS and "form" not in child.attrib for text, child in zip(texts, children, strict=True))
    if not bars and not any(functions) and SIGNS.isdisjoint(texts):
        return
    spaced = list["Element"]()
    paired, opens = bars % 2 == 0, True
    for at, child in enumerate(children):
        before = children[at - 1] if at else None
        after = children[at + 1] if at + 1 < len(children) else None
        text = texts[at]
        if text is not None:
            if text in SIGNS and (before is None or _opens(before)):
                child.set("form", "prefix")
            elif text in BARS and "form" not in child.attrib:
                if paired:
                    _set_bar(child, before, after, opens=opens)
                    opens = not opens
                else:
                    child.attrib.update(lspace=SPACE, rspace=SPACE)
        if functions[at] and before is not None and not _opens(before) and before.tag != "mspace":
            spaced.append(_space(row))
        spaced.append(child)
        if functions[at] and after is not None and after.tag not in ("mo", "mspace") and not functions[at + 1]:
            spaced.append(_space(row))
    if len(spaced) > len(children):
        row[:] = spaced


def _set_bar(bar: Element, before: Element | None, after: Element | None, *, opens: bool) -> None:
    """Make a bar part of what it encloses; beside a table it is as high as the table."""
    beside = after if opens else before
    bar.set("form", "prefix" if opens else "postfix")
    bar.attrib.update(lspace="0", rspace="0")
    if beside is not None and beside.tag == "mtable":
        bar.attrib.update(fence="true", stretchy="true")


def _opens(element: Element) -> bool:
    """Whether what follows an element is at the beginning of something: after an operator or an opening bracket."""
    if element.tag != "mo" or said(element) in FUNCTIONS:
        return False
    text = said(element)
    return text not in CLOSING and not (text in BARS and element.get("form") == "postfix")


def _is_function(element: Element) -> bool:
    while element.tag in SCRIPTS:
        if not len(element):
            return False
        element = element[0]
    return element.tag in ("mi", "mo") and said(element) in FUNCTIONS


def _space(row: Element) -> Element:
    return row.makeelement("mspace", {"width": SPACE})
