"""Free text read as one answer: the number or the option that it gives, or why none can be told.

Two ways of reading. ``strict`` takes an answer only where the text gives one and no other; what
contradicts itself is missing as ambiguous. ``first_number`` follows Chiang & Lee (2023, appendix
D.2.1): mentions of the scale are dropped and the first number that is left counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal

from spa.annotators.raters.reading.json_replies import JSON_START, UnreadableReply, find_payload
from spa.forms.form import NumberAnswer, OptionsAnswer, Question, TextAnswer

REFUSED = "the model refused to answer"
NO_NUMBER = "the reply holds no number"
NO_OPTION = "the reply names none of the answers"


def _any(*words: str) -> str:
    """Return a pattern for any of some patterns."""
    return "(?:" + "|".join(words) + ")"


# What a model says instead of an answer. Only looked for where no answer is found.
REFUSALS = re.compile(
    _any(
        r"\bas an? (?:ai|artificial|large language|language model|assistant)",
        r"\b(?:i am|i['’]m) (?:just |only )?an? (?:ai|language)",
        r"\b(?:cannot|can['’]t|unable to|not able to|won['’]t|decline to|not comfortable|not appropriate)\b",
        r"\bi(?: am|['’]m) sorry\b",
        r"\bi do(?: not|n['’]t) have (?:personal )?(?:opinions|preferences|feelings)",
        r"作为(?:一个|一款|一名)?\s*(?:AI|人工智能|语言模型)|无法|不能(?:评|给|回答)|抱歉",
        r"كنموذج|كذكاء اصطناعي|لا أستطيع|لا يمكنني|عذر",
    ),
    re.IGNORECASE,
)
NUMBER = r"(?<![A-Za-z0-9_.,])-?\d+(?:[.,]\d+)?(?![\w]*\d)"
GIVEN = rf"[\"'“*_`(\[]*\s*(?P<number>{NUMBER})"  # a number, perhaps in quotes or bold
UNIT = r"(?:%|/\s*\d+|分|percent)?"
IS = _any(r"[:：=]|\bis\b|\bwould be\b|\bof\b|[-~] ", "是|为|هي|هو")
OR = _any(r"-|~|to|or|至|到|إلى|أو|或") + r"\s*(?:perhaps |maybe |even |a )?"
MEANS = _any(r"is|being|=|:|means?|meaning|indicat\w+|stands? for|represents?", "表示|代表|为|يعني|هو")
ANSWER_WORDS = _any(
    "rating|score|answer|grade|verdict|mark|probability|chance|estimate|number",
    "评分|分数|得分|答案|回答|概率",
    "التقييم|الدرجة|الإجابة|الجواب|الاحتمال",
)
# Signs that a number is the answer, the strongest first.
SIGNS = (
    # "Rating: 4", "my score is **4**"
    re.compile(rf"{ANSWER_WORDS}[^.\n\d:：=]{{0,40}}?{IS}\s*{GIVEN}", re.I),
    # "**4**", "\\boxed{4}"
    re.compile(rf"(?:\*\*|__)\s*(?P<number>{NUMBER})\s*{UNIT}\s*(?:\*\*|__)"),
    re.compile(rf"\\boxed\{{\s*(?P<number>{NUMBER})\s*%?\s*\}}"),
    # a line with nothing but the number
    re.compile(rf"^[\s>*_#\"'“(\[]*(?:- )?(?P<number>{NUMBER})\s*{UNIT}[\s*_\"'”.!。)\]]*$", re.M | re.I),
    # "I would rate this a 4"
    re.compile(
        r"(?:\b(?:rat(?:e|ed|ing)|giv(?:e|en|ing)|scor(?:e|ed|ing)|assign(?:ed)?|put|say)\b|给|打|أعطي|أمنح)"
        rf"[^.\n\d]{{0,80}}?{GIVEN}",
        re.I,
    ),
)
BARE = re.compile(rf"({NUMBER})\s*(?:%|percent)?\s*(?=[.,;!?)。]|$)", re.M)  # stands for itself, counts nothing
RANGE = re.compile(  # "3-4", "60 % to 70 %", "2, or perhaps 3"
    rf"(?<![\d.])(\d+(?:\.\d+)?)\s*%?,?\s*{OR}(\d+(?:\.\d+)?)(?![\d.])"
)
LIST_MARKER = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+(?=\D)", re.MULTILINE)

UNITS = "zero one two three four five six seven eight nine ten".split()
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
IDEOGRAPH_DIGITS = "一二三四五六七八九十"
ARABIC_WORDS = "واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة".split()
ENGLISH = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(TENS)})(?:[- ](?P<ones>{'|'.join(UNITS[1:10])}))?"
    rf"|(?:(?:a|one) )?(?P<hundred>hundred)|(?P<unit>{'|'.join(UNITS)}))\b",
    re.IGNORECASE,
)
IDEOGRAPHS = re.compile(  # alone, or after "give" and "is"; never a part of another word
    rf"(?:(?<![一-鿿])|(?<=[给打是为]))([{IDEOGRAPH_DIGITS}])(?=\s*(?:分|$|[。，,.]))"
)
ARABIC = re.compile(rf"(?<!\w)({'|'.join(ARABIC_WORDS)})(?!\w)")
SIGNS_OF_SCRIPTS = str.maketrans({"٪": "%", "％": "%", "﹪": "%", "٫": ".", "／": "/", "–": "-", "—": "-", "−": "-"})

# Words before and after an option that say that it is the answer.
CHOOSING = _any(
    "answer|choice|winner|verdict|choose|chose|prefer|pick|select|better", "答案|选择|更好的是|الإجابة|أفضل|أختار"
)
WINNING = _any("better|the better|best|the best|the winner", "更好|الأفضل")
ENDS = _any(  # what the end of a scale may mean
    r"lowest|highest|worst|best|least|most|poor\w*|excellent|perfect|very|strong\w*|certain\w*|not at all|no better",
    r"complete\w*|better|低|高|差|好|سوأ|فضل",
)


class Unread(Exception):
    """The text gives no answer; the message is the reason."""


def read_free_text(question: Question, text: str, *, first_number: bool) -> str:
    """Return what a text answers, in the form in which a page would send it.

    Parameters
    ----------
    question : Question
        What was asked.
    text : str
        What the model said.
    first_number : bool
        Read as Chiang & Lee did; else strictly.

    Returns
    -------
    str
        A number or an option's value, still to be validated like everybody's answers.

    Raises
    ------
    Unread
        Where the text gives no answer, or more than one.
    """
    answer = question.answer
    if isinstance(answer, TextAnswer):
        return text
    if not first_number and JSON_START.search(text):
        return _of_json(question, text)
    plain = _plain(text)
    if isinstance(answer, NumberAnswer):
        low, high = Decimal(answer.low), Decimal(answer.high)
        return _number(plain, low, high, percent=answer.unit == "%", first=first_number)
    if not isinstance(answer, OptionsAnswer):
        raise TypeError(f"no free text answers {type(answer).__name__}")
    scores = [Decimal(option.value) for option in answer.options if option.value.isdecimal()]
    if scores and len(scores) == len(answer.options):
        return _number(plain, min(scores), max(scores), percent=False, first=first_number)
    return _option(plain, {option.value: option.text for option in answer.options})


def _of_json(question: Question, text: str) -> str:
    """Return the value that a JSON object gives: under the question's name, or its only one."""
    try:
        payload = find_payload(text)
    except UnreadableReply as problem:
        raise Unread(f"ambiguous: {problem}" if "more than one" in str(problem) else str(problem)) from problem
    name = question.question_id if question.question_id in payload else next(iter(payload), "")
    value = payload.get(name)
    if not isinstance(value, str) or (name != question.question_id and len(payload) != 1):
        raise Unread(f"ambiguous: the reply's JSON has no value for {question.question_id}")
    return value


def _plain(text: str) -> str:
    """Write digits of every script as 0-9 and unify signs; nothing else is changed."""
    digits = "".join(str(unicodedata.decimal(character, character)) for character in text)
    return digits.translate(SIGNS_OF_SCRIPTS)


def _number(text: str, low: Decimal, high: Decimal, *, percent: bool, first: bool) -> str:
    if first:
        return _first(text, low, high)
    rest = without_scale(text, low, high)
    found = _candidates(rest, low, high, percent=percent)
    if len(found) == 1:
        return found[0]
    if not found:
        numbers = re.findall(NUMBER, rest)
        if REFUSALS.search(text) or not numbers:
            raise Unread(REFUSED if REFUSALS.search(text) else NO_NUMBER)
        return numbers[-1] if len(set(numbers)) == 1 else _ambiguous(numbers)
    return _ambiguous(found)


def _ambiguous(numbers: Iterable[str]) -> str:
    raise Unread(f"ambiguous: the reply gives {', '.join(dict.fromkeys(numbers))}")


def _first(text: str, low: Decimal, high: Decimal) -> str:
    """Return the first number after the mentions of the scale that the paper drops."""
    for gone in (f"{low}-{high}", f"out of {high}", f"/{high}"):
        text = text.replace(gone, " ")
    found = re.search(r"\d+(?:\.\d+)?", text)
    if found is None:
        raise Unread(REFUSED if REFUSALS.search(text) else NO_NUMBER)
    return found[0]


def without_scale(text: str, low: Decimal, high: Decimal) -> str:
    """Drop what only describes the scale: its range, its steps, what its ends mean.

    >>> without_scale("On a scale of 1-5, with 1 being the lowest, I rate it 4/5.", Decimal(1), Decimal(5))
    'On a  ,  , I rate it 4 .'
    """
    ends = rf"{low}\s*%?\s*(?:\([^)]*\))?\s*(?:-|~|to|and|through|until|bis|至|到|إلى|و)\s*{high}"
    patterns = (
        rf"(?:scale|range|between|from|على مقياس|من|从|在)\s*(?:of|from|:)?\s*{ends}\s*%?(?:\s*\([^)]*\))?",
        rf"(?<![\d.]){ends}(?!\.?\d)\s*%?",
        rf"(?:out\s+of|of\s+a\s+possible|of\s+a\s+maximum\s+of|من\s+أصل|من|满分)\s*{high}(?!\.?\d)(?!\s*%)",
        rf"(?<=\d)\s*/\s*{high}(?:\.0)?(?!\.?\d)",
        rf"(?<=\d)\s+/\s+{high}(?!\.?\d)",
        rf"\b{high}[- ](?:point|step|star)s?\b(?:\s+(?:likert\s+)?scale)?",
        r"(?:with|where|when|，|,|\(|;)?\s*"
        rf"\b(?:{low}|{high})\s*(?:%|points?)?\s*{MEANS}"
        rf"\s*(?:the\s+|an?\s+|最|الأ)?[\"']?{ENDS}[^,.;)\n]*",
        rf"\(\s*(?:{low}|{high})\s*=[^)]*\)",
    )
    for pattern in patterns:
        text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return text


def _candidates(text: str, low: Decimal, high: Decimal, *, percent: bool) -> list[str]:
    """Return the different answers that a text gives, by the strongest sign that any of them bears."""
    text = _words_as_digits(LIST_MARKER.sub("", text))
    for pair in RANGE.findall(text):
        if pair[0] != pair[1] and len(_different(pair, low, high)) == 2:
            return list(pair)
    for sign in SIGNS:
        matches = list(sign.finditer(text))
        given = [match["number"] for match in matches]
        if found := _different(given, low, high):
            later = BARE.findall(text, matches[0].end())  # "I rate it 2. No, 4."
            return _different([*given, *later], low, high) or found
    if percent and (shares := re.findall(rf"({NUMBER})\s*(?:%|percent|per cent)", text)):
        return _different(shares, low, high)
    return _different(re.findall(NUMBER, text), low, high)


def _different(numbers: Iterable[str], low: Decimal, high: Decimal) -> list[str]:
    """Return the different numbers that lie on the scale, as written first."""
    found: dict[Decimal, str] = {}
    for number in numbers:
        plain = number.replace(",", ".")
        if low <= Decimal(plain) <= high:
            found.setdefault(Decimal(plain), plain)
    return list(found.values())


def _words_as_digits(text: str) -> str:
    """Write number words as digits where a text has no digits; "one" counts only where it is all that is said."""
    if re.search(r"\d", text):
        return text
    text = IDEOGRAPHS.sub(lambda match: str(1 + IDEOGRAPH_DIGITS.index(match[1])), text)
    text = ARABIC.sub(lambda match: str(1 + ARABIC_WORDS.index(match[1])), text)
    if re.fullmatch(r"\W*one\W*", text, re.IGNORECASE):
        return "1"
    return ENGLISH.sub(_english, text)


def _english(match: re.Match[str]) -> str:
    if match["hundred"]:
        return "100"
    if match["tens"]:
        return str(TENS[match["tens"].lower()] + UNITS.index((match["ones"] or "zero").lower()))
    word = match["unit"].lower()
    return match[0] if word == "one" else str(UNITS.index(word))


def _option(text: str, options: Mapping[str, str]) -> str:
    """Return the value of the option that a text names."""
    bare = re.sub(r"[*_`\"'“”().\[\]!]", " ", text)
    bare = " ".join(bare.split())
    known = [(value, name) for value, name in options.items()]
    for value, name in known:  # the text is an option, and nothing else
        if bare.casefold() in (value.casefold(), " ".join(name.split()).casefold()):
            return value
    named = _named(bare, known)
    if len(named) == 1:
        return named[0]
    chosen = [value for value, name in known if _chosen(bare, name) or (len(value) > 2 and _chosen(bare, value))]
    if len(chosen) == 1:
        return chosen[0]
    if not named:
        raise Unread(REFUSED if REFUSALS.search(text) else NO_OPTION)
    raise Unread("ambiguous: the reply names " + ", ".join(options[value] for value in named))


def _named(text: str, known: list[tuple[str, str]]) -> list[str]:
    """Return the options whose words stand in a text; a longer option hides a shorter one inside it."""
    found: dict[str, None] = {}
    rest = text
    for value, name in sorted(known, key=lambda pair: -len(pair[1])):
        pattern = rf"(?<!\w){re.escape(' '.join(name.split()))}(?!\w)"
        if re.search(pattern, rest, re.IGNORECASE):
            found[value] = None
            rest = re.sub(pattern, " ", rest, flags=re.IGNORECASE)
    return [value for value, _ in known if value in found]


def _chosen(text: str, name: str) -> bool:
    """Tell whether a text says of one option that it is the answer: "I prefer A", "A is better"."""
    option = rf"(?<!\w){re.escape(' '.join(name.split()))}(?!\w)"
    denied = r"(?!\s+(?:is|was)\s+(?:worse|not))"
    before = rf"{CHOOSING}(?: text| one)?\s*(?:is|would be|是|هو|هي)?\s*[:：]?\s*(?:by |the )?{option}{denied}"
    after = rf"{option}\s*(?:(?:is|was|更|هو)\s*(?:clearly |much |slightly |a bit |somewhat )?{WINNING}|wins)"
    return re.search(f"{before}|{after}", text, re.IGNORECASE) is not None
