"""Spaces between the signs of formulas, where browsers would set them unlike LaTeX.

The converter says which letters and signs there are, and little of what they are: a sign before a number, a bar that
closes, a function with its argument.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    for element in [*tree.iter()]:
        text = said(element)
        if element.tag == "mi" and (text in OPERATORS or text in PRIMES):
            element.tag = "mo"
            if text in PRIMES or text in ":%":
                element.attrib.update(lspace="0", rspace=SPACE if text == ":" else "0")
            if text in PRIMES:
                element.set("scriptlevel", "0")  # fonts draw them small and raised already
        elif element.tag == "mo" and text in FUNCTIONS:
            element.attrib.update(lspace="0", rspace="0")
        elif element.tag == "mover" and len(element) == 2 and said(element[1]) in ACCENTS:
            element.set("accent", "true")
        elif element.tag == "mspace" and element.get("width", "").startswith("negative"):
            element.set("width", f"-{SPACE}")
    for element in [*tree.iter()]:
        if element.tag in ROWS and len(element):
            _space_row(element)


def said(element: Element) -> str:
    """Return what an element says, without the spaces around it."""
    text = element.text or ""
    return (unescape(unescape(text)) if "&" in text else text).replace("\u00a0", "").strip()


def _space_row(row: Element) -> None:
    children, spaced = [*row], list["Element"]()
    bars = sum(child.tag == "mo" and said(child) in BARS and "form" not in child.attrib for child in children)
    paired, opens = bars % 2 == 0, True
    for at, child in enumerate(children):
        before = children[at - 1] if at else None
        after = children[at + 1] if at + 1 < len(children) else None
        if child.tag == "mo":
            text = said(child)
            if text in SIGNS and (before is None or _opens(before)):
                child.set("form", "prefix")
            elif text in BARS and "form" not in child.attrib:
                if paired:
                    _set_bar(child, before, after, opens=opens)
                    opens = not opens
                else:
                    child.attrib.update(lspace=SPACE, rspace=SPACE)
        if _is_function(child) and before is not None and not _opens(before) and before.tag != "mspace":
            spaced.append(_space(row))
        spaced.append(child)
        if _is_function(child) and after is not None and after.tag not in ("mo", "mspace") and not _is_function(after):
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
    core: Sequence[Element] = [element]
    while core and core[0].tag in SCRIPTS:
        core = [*core[0]]
    return bool(core) and core[0].tag in ("mi", "mo") and said(core[0]) in FUNCTIONS


def _space(row: Element) -> Element:
    return row.makeelement("mspace", {"width": SPACE})
