"""Numbers that a text gives as its answer, on the scale of a question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from spa.records.form import Judgement, Question
from spa.widgets.free_text import phrases
from spa.widgets.free_text.named_answers import WINS
from spa.widgets.free_text.numerals import numerals_as_digits, with_plain_signs
from spa.widgets.free_text.phrases import UnreadableText

NO_NUMBER = "the reply holds no number"
NO_ANSWER = "no number of the reply stands as its answer"

DECORATION = re.compile(r"[*_`#\"“”«»{}\[\]$★⭐]|\\boxed|</?[a-z]+>|^\s*(?:[-•:]|>+)\s+", re.IGNORECASE | re.MULTILINE)
LIST_MARKER = re.compile(r"^\s*(\d{1,2})[.)]\s+", re.MULTILINE)
WORD = re.compile(r"-?\d+(?:\.\d+)?|[%<>≥≤+/=?~]|[^\W\d]+")
NUMBER = r"(?<![a-zà-ÿ0-9_.,/<>≥≤+-])(?P<number>-?\d+(?:[.,]\d+)?)"
OR = r"(?:-|~|to|or|and|bis|oder|und|à|ou|et|至|到|或|إلى|أو)"
ALSO = rf",?\s*{OR}\s*(?:perhaps |maybe |even )?(?:an? )?(?:\w+ )?\d"  # the number is one end of a range
# What may come after a number that counts nothing: an end, a mark, or a word that begins a reason or an aspect.
FOLLOW = (
    rf"(?!{ALSO})(?=\s*(?:$|[.,:](?!\d)|[;!)(]|-\s|吧)|\s+(?:because|since|as|for|due|given|on|with|overall|though|although"
    r"|in terms|in my|based|from me|here|is my|or so|i (?:guess|think|suppose)|لأن|因为)\b)"
)
OUT_OF = (  # between a number and the high end of its scale
    "out of(?: a possible)?|of|from|من أصل|من|von|sur|de|su|van(?: de)?|av|af|из|із|na|z|din|dari|trên|tren|στα|จาก"
)
_SCALE_WORDS = (  # after the high end of a scale, before the number
    *(
        r"点?\s*満点(?:中|で|のうち|の|なら)?",
        "段階(?:評価)?(?:で|中|の)?",
        "点中",
        r"つ?\s*星(?:満点)?(?:中|のうち)",
        "点のうち",
    ),
    *(r"점\s*만점(?:에서|에|\s*중|으로)?", r"점\s*중(?:에서|에)?", r"만점(?:에서|에|\s*중)", r"(?:puan\s*)?üzerinden"),
    *(r"(?:अंकों\s*)?में\s*से", "分?(?:满分|滿分)", "分制", "分中"),
)
# "a 70% chance that"
LIKELY = r"\s*%\s*(?:chance|probab|likel|sure|certain|confiden|in favou?r|that|for|的?(?:可能|概率|把握))"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScale:
    """The numbers that a question takes, and the words by which a reply refers to it."""

    low: Decimal
    high: Decimal
    percent: bool
    question: frozenset[str]  # words of the question
    sides: tuple[str, str] | None = None  # patterns of x and y, where a number is the chance that x is the better one

    @classmethod
    def of(
        cls,
        question: Question,
        low: Decimal | int,
        high: Decimal | int,
        *,
        percent: bool = False,
        sides: tuple[str, str] | None = None,
    ) -> AnswerScale:
        """Return the scale of a question; ``sides`` are the labels of x and y."""
        criterion = question.target.criterion if isinstance(question.target, Judgement) else ""
        words = frozenset(WORD.findall(plain_text(f"{question.text} {criterion}")))
        low, high = Decimal(low), Decimal(high)
        if sides is not None:
            asked = plain_text(question.text)
            sides = _name_pattern(sides[0].casefold(), asked), _name_pattern(sides[1].casefold(), asked)
        return cls(low=low, high=high, percent=percent, question=words, sides=sides)


def plain_text(text: str) -> str:
    """Write digits of every script as 0-9, signs as ASCII and letters small; drop accents and invisible marks."""
    kept = (one for one in text if unicodedata.category(one) not in ("Mn", "Me", "Cf"))
    return (
        "".join(str(unicodedata.decimal(one, one)) for one in kept)
        .translate(phrases.OF_SCRIPTS)
        .replace("->", ":")
        .replace("=>", ":")
        .replace("|", ":")
        .casefold()
    )


# Written as plain texts are, without marks above and below their letters
SCALE_FIRST = "|".join("".join(one for one in word if unicodedata.category(one) != "Mn") for word in _SCALE_WORDS)


def first_number(text: str) -> str:
    """Return the first number of a text, whatever it counts; raise UnreadableText where there is none."""
    found = re.search(r"\d+(?:\.\d+)?", text, re.ASCII)
    if found is None:
        raise UnreadableText(phrases.REFUSED if phrases.REFUSALS.search(text) else NO_NUMBER)
    return found[0]


def without_any_scale(plain: str, scale: AnswerScale) -> str:
    """Drop all mentions of the scale; write number words as digits where there are no digits."""
    said = with_plain_signs(re.sub(r"\btitle [12]\b", " ", DECORATION.sub(" ", plain)))
    said = said if re.search(r"\d", said) else numerals_as_digits(said)
    return re.sub(_out_of_pattern(scale), " ", _without_scale(said, scale))


def first_but_the_scale(plain: str, scale: AnswerScale) -> str:
    """Return the first number of a text that is no mention of the scale; raise UnreadableText where it gives none.

    The scale's high end may name the scale, in whatever language, where another number of the scale follows: then it
    is the answer only if it stands as such.
    """
    text = without_any_scale(plain, scale)
    first = first_number(text)
    if Decimal(first) == scale.high:
        others = (one for one in re.findall(r"\d+(?:\.\d+)?", text, re.ASCII) if Decimal(one) != scale.high)
        other = next((one for one in others if _is_on(scale, one)), None)
        if other is not None:
            try:
                return stated_number(plain, scale)
            except UnreadableText as problem:
                raise UnreadableText(f"ambiguous: the reply gives {first}, {other}", (first, other)) from problem
    return first


def stated_number(plain: str, scale: AnswerScale) -> str:
    """Return the one number that a text gives as its answer; raise UnreadableText where it gives none, or several."""
    said = with_plain_signs(numerals_as_digits(DECORATION.sub(" ", plain)))
    text = _without_scale(_without_list(said), scale)
    declared, concluded, later = _declared_numbers(text, scale)
    found = _distinct(concluded) if len(_distinct(concluded)) == 1 else _distinct([*declared, *later])
    if len(found) == 1:
        return found[0]
    if found:
        raise UnreadableText(f"ambiguous: the reply gives {', '.join(found)}", found)
    ends = next((pair for pair in _ranges(text) if all(_is_on(scale, one) for one in pair)), ())
    if ends:
        raise UnreadableText(f"ambiguous: the reply gives {', '.join(ends)}", ends)
    if phrases.REFUSALS.search(plain):
        raise UnreadableText(phrases.REFUSED)
    raise UnreadableText(NO_ANSWER if re.search(r"\d", text) else NO_NUMBER)


def _declared_numbers(text: str, scale: AnswerScale) -> tuple[list[str], list[str], list[str]]:
    """Return the numbers that stand as the answer, those of them that conclude, and bare ones after the first."""
    percent = "|%" if scale.high == 100 else ""
    named = rf"\s*(?:{phrases.UNIT}{percent})"
    unit = rf"(?P<unit>{named})?(?P<scale>{_out_of_pattern(scale)})?(?:{named})?{phrases.ENDING}"
    number = re.compile(rf"{NUMBER}(?:{unit}{FOLLOW}{f'|(?={LIKELY})' if scale.percent else ''})", re.MULTILINE)
    declared: list[str] = []
    concluded: list[str] = []
    later: list[str] = []
    for match in number.finditer(text):
        sentence = phrases.sentence_of(text, match.start())
        clause = phrases.clause_of(sentence)
        value = match["number"].replace(",", ".")
        own = sentence.rstrip().removesuffix("a").rstrip() if sentence.endswith("a ") else sentence
        if phrases.DENIED.search(clause) or phrases.SUPPOSED.search(sentence):
            continue
        likely = scale.percent and re.match(LIKELY, text[match.start("number") + len(match["number"]) :]) is not None
        stands = (
            likely
            or match["scale"]
            or any(one.search(sentence) for one in phrases.STANDING)
            or (match["unit"] and re.search(rf"(?:[,:(]|\bit(?:'s| is)|\bat)\s*{phrases.HEDGE}$", sentence))
            or _labelled(own, scale)
        )
        if stands and not phrases.REFERRING.search(sentence):
            if scale.percent and _is_of_other(scale, clause, match, text):
                raise UnreadableText("ambiguous: the reply gives a chance of the other direction")
            declared.append(value)
            if phrases.CONCLUDING.search(sentence):
                concluded.append(value)
        elif declared and _is_on(scale, value) and not phrases.REFERRING.search(sentence):
            later.append(value)
    return declared, concluded, later


def _labelled(sentence: str, scale: AnswerScale) -> bool:
    """Return whether a number follows a label that is made of the question's own words: "Likability: 3"."""
    label = re.search(r"(?:^|[,(])\s*([^:=,(]{1,60})[:=]\s*$", sentence)
    words = WORD.findall(label[1]) if label else []
    return bool(words) and set(words) <= scale.question


def _is_of_other(scale: AnswerScale, clause: str, match: re.Match[str], text: str) -> bool:
    """Return whether a chance is said of y, or of x being no better, where the question is how likely x is better."""
    if scale.sides is None:
        return False
    x, y = scale.sides
    own = clause + " " + re.split(r"[.;\n](?!\d)", text[match.end() :], maxsplit=1)[0]
    if phrases.WORSE.search(own):
        return True
    for place in (own, phrases.sentence_of(text, match.start())):
        of_x, of_y = re.search(x, place, re.MULTILINE), re.search(y, place, re.MULTILINE)
        if of_x or of_y:
            return of_y is not None and (of_x is None or of_y.start() < of_x.start())
    prefers_y = re.search(y + WINS, text) is not None and re.search(x + WINS, text) is None
    return prefers_y and Decimal(match["number"].replace(",", ".")) > 50


def _name_pattern(label: str, asked: str) -> str:
    """Return a pattern for a system as the question names it, or for its label where no noun can follow."""
    bare = rf"(?<![a-z']){re.escape(label)}(?![a-z])"
    found = re.search(rf"([^\W\d_]+\s)?{bare}", asked)
    if found is None or found[1] is None:  # written together, as in Chinese
        return bare
    ended = r"(?=\s*(?:[.,;:)(']|$|is |was |wins|being |أ))"
    return rf"(?:{re.escape(found[0])}|{bare}{ended})"


def _without_list(text: str) -> str:
    """Drop the numbers of a list, which has at least two entries that count from 1."""
    counted = LIST_MARKER.findall(text)
    return LIST_MARKER.sub("\n", text) if {"1", "2"} <= set(counted) else text


def _out_of_pattern(scale: AnswerScale) -> str:
    """Return a pattern for "/5" and "out of 5"."""
    return rf"\s*\(?(?:/|(?<=[\s\d%])(?:{OUT_OF})\b)\s*{scale.high}(?:\.0)?(?!\.?\d)\s*%?"


def _without_scale(text: str, scale: AnswerScale) -> str:
    """Drop what only describes the scale: its range, and what its ends mean.

    >>> five = AnswerScale(low=Decimal(1), high=Decimal(5), percent=False, question=frozenset())
    >>> _without_scale("on a scale of 1-5, with 1 being the lowest, i rate it 4/5.", five)
    ' ,  , i rate it 4/5.'
    """
    low, high = scale.low, scale.high
    said = r"\s*%?\s*(?:\([^)\d]*\)|point)?\s*"
    scale_of = r"(?:(?:on an? )?(?:scale|range)\s*(?:of|from)?:?\s*)?"
    to = r"(?:-|~|to|and|through|bis|à|et|至|到|إلى|و)"
    ends = rf"{scale_of}(?<![\d.]){low}{said}{to}\s*{high}(?!\.?\d)\s*%?(?:\s*\([^)\d]*\))?"
    means = r"(?:is|being|=|means?|meaning|indicat\w+|represents?|表示|代表|为|يعني|هو)"
    end = rf"(?:(?:if|with|where|when)\s+)?(?<![\w.])(?:{low}|{high})\s*%?\s*{means}\s[^,.;:)\d]*(?:and\s)?"
    counted = r"\D{1,20}".join(str(point) for point in range(int(low), int(high) + 1)) if high < 12 else ends
    for gone in (
        rf"(?<!\d){counted}(?!\.?\d)[^\d\n]{{0,20}}$",
        ends,
        rf"\(\s*(?:{low}|{high})\s*=[^)]*\)",
        end,
        rf"(?:满分|总分|滿分|總分|満点)\s*(?:为|是|為|は)?\s*{high}\s*(?:分|点)?",
        rf"(?<![\d.]){high}\s*(?:{SCALE_FIRST})\s*,?",
    ):
        text = re.sub(gone, " ", text, flags=re.MULTILINE)
    return text


def _ranges(text: str) -> list[tuple[str, str]]:
    """Return the two ends of what is said of two numbers: "3-4", "60 % to 70 %", "2, or perhaps 3"."""
    between = rf"\s*%?\s*(?:分)?,?\s*{OR}\s*(?:perhaps |maybe |even )?(?:an? )?(?:low |high )?"
    return re.findall(rf"(?<![\d.])(\d+(?:\.\d+)?){between}(\d+(?:\.\d+)?)(?!\.?\d)", text)


def _is_on(scale: AnswerScale, number: str) -> bool:
    return scale.low <= Decimal(number) <= scale.high


def _distinct(numbers: Iterable[str]) -> list[str]:
    found: dict[Decimal, str] = {}
    for number in numbers:
        found.setdefault(Decimal(number), number)
    return list(found.values())
