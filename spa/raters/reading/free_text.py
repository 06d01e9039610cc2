"""Free text read as one answer: the number or the option that it gives, or why it gives none.

``strict`` takes, in this order: an option as the form words it; the value of the reply's JSON; a number or an
option that the reply declares to be its answer; one that stands alone. What counts something else, is denied,
compared or supposed is no answer, and what contradicts itself is missing as ambiguous. ``paper`` is the rule of
Chiang & Lee (2023, appendix D.2.1): four strings are removed, and the first number that is left counts.
``first_number`` goes beyond it: mentions of any scale, in other words and languages, and the form's own marks
("[q2]") are dropped too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from spa.forms.form import NumberAnswer, OptionsAnswer, OrderAnswer, PreferenceTarget, Question, SpansAnswer, TextAnswer
from spa.raters.reading import phrases
from spa.raters.reading.json_replies import SeveralObjects, UnreadableReply, find_list, find_payload
from spa.raters.reading.named_answers import WINS, chosen_options, orders_in_text
from spa.raters.reading.verdicts import result_of, verdicts_in
from spa.study.raters import Reading

REFUSED = "the model refused to answer"
NO_NUMBER = "the reply holds no number"
NO_ANSWER = "no number of the reply stands as its answer"
NO_OPTION = "the reply names none of the answers"
NO_ORDER = "the reply gives no order of all outputs"

OWN_MARK = re.compile(r"[\[(\"'*]*\bq(?:\d+|n)\b[\])\"'*]*\s*[:=]?|\[[pe]\d+\]", re.IGNORECASE)
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
# "a 70% chance that"
LIKELY = r"\s*%\s*(?:chance|probab|likel|sure|certain|confiden|in favou?r|that|for|的?(?:可能|概率|把握))"


class UnreadableText(Exception):
    """The text gives no answer; the message is the reason, and ``levels`` what the answer might have been."""

    def __init__(self, reason: str, levels: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.levels = tuple(levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScale:
    """The numbers that a question takes, and the words by which a reply refers to it."""

    low: Decimal
    high: Decimal
    percent: bool
    question: frozenset[str]  # words of the question


def read_free_text(question: Question, text: str, *, reading: Reading) -> str:
    """Return what a text answers by a rule, in the form in which a page would send it.

    It is a number or an option's value, still to be validated like everybody's answers. Raise UnreadableText where the
    text gives no answer, or more than one.
    """
    answer = question.answer
    if isinstance(answer, TextAnswer):
        return text
    if isinstance(answer, OrderAnswer):
        return _one_order(question, text)
    if isinstance(answer, SpansAnswer):
        try:
            return find_list(text)
        except UnreadableReply as problem:
            raise UnreadableText(str(problem)) from problem
    if not isinstance(answer, NumberAnswer | OptionsAnswer):
        raise TypeError(f"no free text answers {type(answer).__name__}")
    if (verdict := _verdict(question, text)) is not None:
        return verdict
    if reading == "strict" and (result := result_of(text)) is not None:
        try:
            return read_free_text(question, result, reading=reading)
        except UnreadableText:  # a mark that only tells the form
            text = text.replace("[RESULT]", " ")
    plain = _plain(OWN_MARK.sub(" ", text))
    scale = _scale(question)
    if reading != "strict":
        if scale is None:
            return _one_option(question, plain)
        return _first_number(_as_in_paper(text) if reading == "paper" else _without_any_scale(plain, scale))
    if (value := _verbatim(question, plain)) is not None:
        return value
    try:
        payload = find_payload(text)
    except SeveralObjects as problem:
        raise UnreadableText(f"ambiguous: {problem}") from problem
    except UnreadableReply:  # none, or a broken one, which is read as text
        return _one_option(question, plain) if scale is None else _number(plain, scale, question)
    return read_free_text(question, _of_json(question, payload), reading="strict")


def _verdict(question: Question, text: str) -> str | None:
    """Return the outcome that a judge's verdict gives ("[[A]]"), where it gives one."""
    given, likely = verdicts_in(question, text)
    if likely:
        raise UnreadableText(f"ambiguous: the reply may mean {', '.join(likely)}", likely)
    if len(given) > 1:
        raise UnreadableText(f"ambiguous: the reply gives {', '.join(given)}", given)
    options = question.answer.options if isinstance(question.answer, OptionsAnswer) else ()
    if given and given[0] not in {option.value for option in options}:
        raise UnreadableText(f"{NO_OPTION}: {given[0]} is not offered", given)
    return given[0] if given else None


def _scale(question: Question) -> AnswerScale | None:
    answer = question.answer
    criterion = getattr(question.target, "criterion", "")
    words = frozenset(WORD.findall(_plain(f"{question.text} {criterion}")))
    if isinstance(answer, NumberAnswer):
        low, high = Decimal(answer.low), Decimal(answer.high)
        return AnswerScale(low=low, high=high, percent=answer.unit == "%", question=words)
    values = [option.value for option in answer.options] if isinstance(answer, OptionsAnswer) else []
    if not values or not all(value.isdecimal() for value in values):
        return None
    numbers = [Decimal(value) for value in values]
    return AnswerScale(low=min(numbers), high=max(numbers), percent=False, question=words)


def _plain(text: str) -> str:
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


def _verbatim(question: Question, plain: str) -> str | None:
    """Return the answer whose own words, as the form shows them, are all that is said."""
    said = WORD.findall(DECORATION.sub(" ", plain))
    answer = question.answer
    named: list[tuple[str, str]] = []
    if isinstance(answer, NumberAnswer):
        named = [(str(answer.low), answer.low_text), (str(answer.high), answer.high_text)]
    elif isinstance(answer, OptionsAnswer):
        named = [(option.value, option.text) for option in answer.options]
    for value, text in named:
        if said in [WORD.findall(_plain(shown)) for shown in (text, value, f"{value} {text}")]:
            return value
    return None


def _of_json(question: Question, payload: dict[str, object]) -> str:
    """Return the value that a JSON object gives: under the question's name, or its only name for an answer."""
    name = question.question_id
    if name not in payload:
        known = frozenset(WORD.findall(_plain(question.text)))
        names = [
            key
            for key in payload
            if re.search(rf"{phrases.ANSWER_NOUN}|^value$", _plain(key)) or set(WORD.findall(_plain(key))) <= known
        ]
        name = names[0] if len(names) == 1 else ""
    value = payload.get(name)
    if isinstance(value, dict):
        return _of_json(question, value)
    if not isinstance(value, str):
        raise UnreadableText(f"ambiguous: the reply's JSON has no value for {question.question_id}")
    return value


def _as_in_paper(text: str) -> str:
    """Remove what Chiang & Lee (2023, D.2.1) remove, and nothing else."""
    for gone in ("1-5", "out of 5", "/5", "title 1", "title 2"):
        text = text.replace(gone, "")
    return text


def _without_any_scale(plain: str, scale: AnswerScale) -> str:
    said = re.sub(r"\btitle [12]\b", " ", DECORATION.sub(" ", plain))
    text = re.sub(_out_of_pattern(scale), " ", _without_scale(said, scale))
    return text if re.search(r"\d", text) else phrases.numerals_as_digits(text)


def _out_of_pattern(scale: AnswerScale) -> str:
    """Return a pattern for "/5" and "out of 5"."""
    return rf"\s*\(?(?:/|out of(?: a possible)?|of|from|من أصل|من)\s*{scale.high}(?:\.0)?(?!\.?\d)"


def _first_number(text: str) -> str:
    found = re.search(r"\d+(?:\.\d+)?", text, re.ASCII)
    if found is None:
        raise UnreadableText(REFUSED if phrases.REFUSALS.search(text) else NO_NUMBER)
    return found[0]


def _number(plain: str, scale: AnswerScale, question: Question) -> str:
    text = _without_scale(_without_list(phrases.numerals_as_digits(DECORATION.sub(" ", plain))), scale)
    declared, concluded, later = _declared_numbers(text, scale, question)
    found = _distinct(concluded) if len(_distinct(concluded)) == 1 else _distinct([*declared, *later])
    if len(found) == 1:
        return found[0]
    if found:
        raise UnreadableText(f"ambiguous: the reply gives {', '.join(found)}", found)
    ends = next((pair for pair in _ranges(text) if all(_is_on(scale, one) for one in pair)), ())
    if ends:
        raise UnreadableText(f"ambiguous: the reply gives {', '.join(ends)}", ends)
    if phrases.REFUSALS.search(plain):
        raise UnreadableText(REFUSED)
    raise UnreadableText(NO_ANSWER if re.search(r"\d", text) else NO_NUMBER)


def _declared_numbers(text: str, scale: AnswerScale, question: Question) -> tuple[list[str], list[str], list[str]]:
    """Return the numbers that stand as the answer, those of them that conclude, and bare ones after the first."""
    percent = "|%" if scale.high == 100 else ""
    named = rf"\s*(?:{phrases.UNIT}{percent})"
    unit = rf"(?P<unit>{named})?(?P<scale>{_out_of_pattern(scale)})?(?:{named})?"
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
            if scale.percent and _is_of_other(question, clause, match, text):
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


def _is_of_other(question: Question, clause: str, match: re.Match[str], text: str) -> bool:
    """Return whether a chance is said of y, or of x being no better, where the question is how likely x is better."""
    target = question.target
    if not isinstance(target, PreferenceTarget):
        return False
    x, y = (_name_pattern(label.casefold(), _plain(question.text)) for label in (target.label_x, target.label_y))
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
        rf"(?:满分|总分)\s*(?:为|是)?\s*{high}\s*分?",
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


def _one_option(question: Question, plain: str) -> str:
    text = DECORATION.sub(" ", plain)
    chosen, named = chosen_options(question, text, _plain)
    if len(chosen) == 1:
        return chosen[0]
    if len(found := chosen or named) > 1:
        raise UnreadableText(f"ambiguous: the reply names {', '.join(found)}", found)
    raise UnreadableText(REFUSED if phrases.REFUSALS.search(text) else NO_OPTION)


def _one_order(question: Question, text: str) -> str:
    """Return the one order that a text gives as its answer, whatever the rule: a first number would be no order."""
    found = orders_in_text(question, OWN_MARK.sub(" ", text) if "{" not in text else text, _plain)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnreadableText(f"ambiguous: the reply gives {' and '.join(found)}", found)
    raise UnreadableText(REFUSED if phrases.REFUSALS.search(_plain(text)) else NO_ORDER)
