"""Formulas in LaTeX as MathML, which browsers draw without a script; as their source where that would be wrong.

latex2mathml never fails on what it does not know: it prints it. So its tree alone is used, rebuilt from the elements
and attributes of MathML Core, and refused where it shows signs of what it did not understand. It says which letters
and signs there are, and little of what they are: signs before numbers, bars that close and functions with their
arguments are spaced here, where browsers would set them unlike LaTeX.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape, unescape
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType
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
MOST_CHARACTERS = 2_000
MOST_SECONDS = 0.05  # of the processor
DEEPEST = 60  # elements within elements
ELEMENTS = frozenset(
    "math mrow mi mn mo mtext mspace msqrt mroot mfrac msub msup msubsup munder mover munderover mtable mtr mtd mstyle "
    "mpadded mphantom mmultiscripts mprescripts".split()
)
ATTRIBUTES = frozenset(
    "display stretchy fence form separator largeop movablelimits symmetric minsize maxsize lspace rspace accent "
    "accentunder linethickness width height depth displaystyle scriptlevel".split()
)
LENGTH = re.compile(r"[a-z]+|-?[0-9.]+(?:em|ex|px|pt|%)?")  # values of attributes
LEFT, RIGHT = "left", "right"  # classes of cells
BELOW = frozenset("max min lim sup inf arg\u2009max arg\u2009min argmax argmin limsup liminf".split())
LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
ALIGNED = ("aligned", "align", "align*", "alignedat", "alignat", "alignat*", "split", "eqnarray", "eqnarray*")
WHOLE = ("equation", "equation*", "displaymath", "math")
GATHERED = ("gathered", "gather", "gather*", "multline", "multline*")
PARSING = (  # what it runs into
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError),
)
_BEGIN = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+\*?)\}")
_COMMENT = re.compile(r"(?<!\\)%")
_NOT_SHOWN = re.compile(r"\\(?:label|tag\*?)\s*\{[^{}]*\}|\\(?:nonumber|notag)\b")
_WITHOUT_BRACES = re.compile(r"(\\[dt]?binom(?= *\d)|\\math[a-z]{2,4}(?= +[A-Za-z]))( *\w(?:(?<=\d) *\w)?)")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula as HTML; ``reason`` says why it is its source, where it is."""

    html: str
    reason: str | None = None


class _NotKnownError(ValueError):
    """The tree holds what browsers do not draw, or what the converter did not understand."""


@lru_cache(4096)
def formula(latex: str, *, display: bool) -> Formula:
    r"""Return a formula as MathML, or as its source.

    It is shown as source where it is longer than :data:`MOST_CHARACTERS`, takes longer than :data:`MOST_SECONDS`, or
    holds a command that is not known.

    >>> formula("x^2", display=False).html
    '<math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    >>> formula(r"\unknown{x}", display=False).reason
    'not known: \\unknown'
    """
    try:
        if len(latex) > MOST_CHARACTERS:
            raise _NotKnownError(f"longer than {MOST_CHARACTERS:,} characters")
        from latex2mathml import converter  # its loading is not within the time

        begun = thread_time()
        made = _mathml(latex, converter, display=display)
        if thread_time() - begun > MOST_SECONDS:
            raise _NotKnownError("takes too long")
        return Formula(made)
    except _NotKnownError as problem:
        mark = "div" if display else "span"
        return Formula(f'<{mark} class="formula" dir="ltr">{escape(latex)}</{mark}>', str(problem))


def _mathml(latex: str, converter: ModuleType, *, display: bool) -> str:
    if "%" in latex and _COMMENT.search(latex):
        raise _NotKnownError("a percent sign that begins a comment")
    rewritten = latex  # commands begin with a backslash
    if "\\" in latex:
        rewritten = _with_known_environments(_WITHOUT_BRACES.sub(_in_braces, _NOT_SHOWN.sub("", latex)))
    try:
        tree = converter.convert_to_element(rewritten, display="block" if display else "inline")
        if "\\" in rewritten and any(one.get("linebreak") == "newline" for one in tree.iter("mspace")):
            tree = converter.convert_to_element(_in_rows(rewritten, "l"), display="block" if display else "inline")
    except _failures() as error:
        raise _NotKnownError(f"cannot be read ({type(error).__name__})") from error
    if display and rewritten != latex:  # lines of their own are as large as a formula of its own
        for table in tree.iter("mtable"):
            table.set("displaystyle", "true")
    space_like_latex(tree)
    parts: list[str] = []
    _write(tree, parts, 0, display=display)
    return "".join(parts)


@cache
def _failures() -> tuple[type[Exception], ...]:
    """Return what the converter raises on purpose, and what it runs into."""
    from latex2mathml import exceptions

    errors = (one for one in vars(exceptions).values() if isinstance(one, type) and issubclass(one, Exception))
    return (*errors, *PARSING)


def _in_braces(found: re.Match[str]) -> str:
    return found[1] + "".join(f"{{{one}}}" for one in found[2].replace(" ", ""))


def _in_rows(latex: str, columns: str) -> str:
    return rf"\begin{{array}}{{{columns}}}{latex}\end{{array}}"


def _with_known_environments(latex: str) -> str:
    """Write the environments of aligned and gathered lines as arrays, which the converter knows."""
    parts: list[str] = []
    begun: list[tuple[str, int]] = []  # environments, and where their content begins in parts
    place = 0
    for found in _BEGIN.finditer(latex):
        parts.append(latex[place : found.start()])
        place = found.end()
        which, name = found.groups()
        if which == "begin":
            if name.startswith("alignedat") or name.startswith("alignat"):
                count = re.compile(r"\s*\{\d+\}").match(latex, place)
                place = count.end() if count else place
            begun.append((name, len(parts)))
            continue
        if not begun or begun[-1][0] != name:
            raise _NotKnownError(f"environment {name} that ends without beginning")
        _, at = begun.pop()
        content = "".join(parts[at:])
        del parts[at:]
        parts.append(_environment(name, content))
    if begun:
        raise _NotKnownError(f"environment {begun[-1][0]} that does not end")
    return "".join([*parts, latex[place:]])


def _environment(name: str, content: str) -> str:
    if name == "dcases":
        name = "cases"
    if name in WHOLE:
        return content
    if name in GATHERED:
        return _in_rows(content, "c")
    if name in ALIGNED:
        columns = max((row.replace(r"\&", "").count("&") for row in content.split(r"\\")), default=0) + 1
        return _in_rows(content, ("rl" * columns)[:columns])
    return rf"\begin{{{name}}}{content}\end{{{name}}}"


def _write(element: Element, parts: list[str], depth: int, *, display: bool) -> None:
    if depth > DEEPEST:
        raise _NotKnownError("nested too deep")
    tag = element.tag
    if not len(element):
        parts.append("".join(_around(tag, element.text or "", *element.items())))
        return
    if display and tag in LIMITS and element[0].tag == "mo" and said(element[0]) in BELOW:
        tag = LIMITS[tag]
    before, after = _around(tag, element.text or "", *element.items())
    parts.append(before)
    for child in element:
        _write(child, parts, depth + 1, display=display)
        if child.tail and child.tail.strip():
            raise _NotKnownError("text between elements")
    parts.append(after)


@lru_cache(4096)
def _around(tag: str, text: str, *attributes: tuple[str, str]) -> tuple[str, str]:
    """Return what is written before and after the children of an element: its own text stands before."""
    own = dict(attributes)
    tag, classes = tag.rpartition("}")[2], []
    if tag == "menclose" and own.get("notation") == "box":
        tag, classes = "mrow", ["boxed"]
    if tag not in ELEMENTS:
        raise _NotKnownError(f"not known: {tag}")
    if own.get("mathvariant", "normal") != "normal":
        raise _NotKnownError(f"letters in {own['mathvariant']}")
    text = text.strip("\n")
    if "&" in text:
        text = unescape(unescape(text)).strip("\n")
    if tag == "mi" and text[:1] in ("&", "\\"):
        raise _NotKnownError(f"not known: {text}")
    if "\\" in text and tag != "mo":
        raise _NotKnownError(f"not known: {text}")
    if tag == "mtd" and own.get("columnalign") in (LEFT, RIGHT):
        classes.append(own["columnalign"])
    given = {name: value for name, value in own.items() if name in ATTRIBUTES and LENGTH.fullmatch(value)}
    if tag == "mi" and own.get("mathvariant") == "normal":
        given["mathvariant"] = "normal"
    if classes:
        given["class"] = " ".join(classes)
    written = "".join(f' {name}="{escape(value)}"' for name, value in given.items())
    return f"<{tag}{written}>{escape(text, quote=False)}", f"</{tag}>"


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
