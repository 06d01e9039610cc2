"""Numbers in words, in English, Chinese and Arabic, written as digits; what is part of a longer number stays a word.

All patterns are for text in small letters, with digits 0-9 and ASCII signs.
"""

from __future__ import annotations

import re

_UNITS = "zero one two three four five six seven eight nine ten".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ENGLISH = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(_UNITS[1:10])}))?"
    rf"|(?:(?:a|one) )?(?P<hundred>hundred)|(?P<unit>{'|'.join(_UNITS)}))\b"
)

_HAN = {
    "〇": 0,
    "零": 0,
    "两": 2,
    "兩": 2,
    **{sign: number for number, sign in enumerate("一二三四五六七八九", start=1)},
}
_SIGNS = "".join(_HAN)
_HAN_RUN = re.compile(rf"(?<![第之{_SIGNS}十百千万萬億亿])[{_SIGNS}十百千万萬億亿]+")
_CLASSICAL = re.compile(rf"(?:([{_SIGNS}])?(百))?([零〇])?(?:([{_SIGNS}])?(十))?([{_SIGNS}])?")
_MEASURED = r"\s*(?:分(?![之钟鐘别別析明布])|颗?星|顆?星|颗|顆|点|點)"  # what a rating counts
_ENDED = r"\s*(?:$|[.,:;!?)\]%、]|吧|左右|或|到|至|-|~)"
_AFTER_ONE = re.compile(rf"(?:{_MEASURED}|{_ENDED})")
_AFTER_TWO = re.compile(_MEASURED)  # 两 is "both" or "a few" of other things
_AFTER_TEN = re.compile(rf"(?:分{_ENDED}|颗?星|顆?星|点|點|{_ENDED})")  # 十分 is "very"
_TENTHS = re.compile(rf"成([半{_SIGNS}])?(?![为為功立不就名熟长長員员果{_SIGNS}])")

_ARABIC_UNITS = {
    word: number
    for number, words in enumerate(
        (
            "صفر",
            "واحد واحدة",
            "اثنان اثنين اثنتان اثنتين إثنان إثنين",
            "ثلاثة ثلاث",
            "أربعة أربع اربعة اربع",
            "خمسة خمس",
            "ستة ست",
            "سبعة سبع",
            "ثمانية ثماني ثمان",
            "تسعة تسع",
            "عشرة عشر",
        )
    )
    for word in words.split()
}
_STEMS = (("عشر",), ("ثلاث",), ("أربع", "اربع"), ("خمس",), ("ست",), ("سبع",), ("ثمان",), ("تسع",))
_ARABIC_TENS = {
    stem + end: 10 * number for number, stems in enumerate(_STEMS, start=2) for stem in stems for end in ("ون", "ين")
}
_U, _T, _H = "|".join(_ARABIC_UNITS), "|".join(_ARABIC_TENS), "مئة|مائة"
_LARGER = r"(?!\s+(?:آلاف|ألف|الف|مليون|مئة|مائة|أرباع|أخماس|أثلاث|أعشار|أضعاف|و\s?(?:[^\W\d]+ون|[^\W\d]+ين)\b))"
_ARABIC = re.compile(
    rf"\b(?:(?P<ones>{_U})\s+و\s?(?P<tens>{_T})|(?P<teen>{_U})\s+عشرة?|(?P<ten>{_T})|(?P<hundred>{_H})(?!\s+و)"
    rf"|(?P<unit>{_U}){_LARGER})\b"
)
_ARABIC_ONE = re.compile(r"(?:^|[:=]\s*|\b(?:نجمة|درجة|نقطة)\s+)$")  # before واحد, which is "somebody" elsewhere
_ARABIC_TWO = re.compile(r"\b(?:نجم|درج|نقط)(?:تان|تين)\b")
_PERCENT = re.compile(
    r"\s*(?:\bper ?cent\b|\bprozent\b|\bpour ?cent\b|\bpor ?(?:ciento|cento)\b|\bper ?cento\b|\bпроцент\w*"
    "|パーセント|퍼센트"
    r"|\bبالمئة\b|\bبالمائة\b|\bفي المئة\b|\bفي المائة\b)"
)
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_SIGN_FIRST = re.compile(r"(?<![\d%])(?<!\d )%\s?(\d+(?:[.,]\d+)?)(?![\d%]|\s%)")


def with_plain_signs(text: str) -> str:
    """Write thousands without commas and the percent sign after its number.

    >>> with_plain_signs("1,000 of them"), with_plain_signs("%70"), with_plain_signs("4,5")
    ('1000 of them', '70%', '4,5')
    """
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    return _SIGN_FIRST.sub(r"\1%", text)


def numerals_as_digits(text: str) -> str:
    """Write number words and "percent" as digits and signs; "one" only where it is all of its sentence or its label's.

    >>> numerals_as_digits("seventy-five percent"), numerals_as_digits("no one"), numerals_as_digits("百分之七十")
    ('75%', 'no one', '70%')
    >>> numerals_as_digits("七成"), numerals_as_digits("两分"), numerals_as_digits("خمسة وسبعون")
    ('70%', '2分', '75')
    """
    text = re.sub(r"(?:\b50|\bfifty)\s*[-/]\s*(?:50|fifty)\b%?", "50%", text)
    text = re.sub(r"\bone\b(?=\W*$)(?<=^one)|(?<=[:=] )one\b(?=\W*$)", "1", text, flags=re.MULTILINE)
    text = _ENGLISH.sub(_english, text)
    text = re.sub(rf"百分之([{_SIGNS}十百]+)", lambda match: _percent_of(match[0], match[1]), text)
    text = _ARABIC.sub(_arabic, _ARABIC_TWO.sub("2", _of_han(text)))
    return _PERCENT.sub("%", text)


def _english(match: re.Match[str]) -> str:
    if match["hundred"]:
        return "100"
    if match["tens"]:
        return str(20 + 10 * _TENS.index(match["tens"]) + _UNITS.index(match["ones"] or "zero"))
    return match[0] if match["unit"] == "one" else str(_UNITS.index(match["unit"]))


def _percent_of(whole: str, run: str) -> str:
    value = _han_value(run)
    return whole if value is None else f"{value}%"


def _of_han(text: str) -> str:
    """Write Chinese numerals as digits where they count points, or stand alone."""
    parts, end = [], 0
    for match in _HAN_RUN.finditer(text):
        run, after = match[0], match.end()
        if match.start() < end:
            continue
        tenths = _TENTHS.match(text, after) if len(run) == 1 else None
        if tenths is not None and _HAN.get(run):
            half = 5 if tenths[1] == "半" else _HAN.get(tenths[1] or "零", 0)
            parts += [text[end : match.start()], f"{10 * _HAN[run] + half}%"]
            end = tenths.end()
            continue
        value = _han_value(run)
        follows = _AFTER_TWO if run in "两兩" else _AFTER_TEN if run == "十" else _AFTER_ONE
        if value is None or text[after : after + 1] == "成" or not follows.match(text, after):
            continue
        parts += [text[end : match.start()], str(value)]
        end = after
    return "".join([*parts, text[end:]])


def _han_value(run: str) -> int | None:
    """Return a whole number up to 999, in words or digit by digit; ``None`` for what may be several."""
    if all(sign in _HAN for sign in run):
        digits = "".join(str(_HAN[sign]) for sign in run)
        one_number = len(run) == 1 or (set(run) & set("〇零") and digits[0] != "0")
        return int(digits) if one_number else None  # 三四 is "three or four"
    found = _CLASSICAL.fullmatch(run)
    if found is None:
        return None
    hundreds, hundred, zero, tens, ten, ones = found.groups()
    if hundred and ones and not (zero or ten):
        return None  # 一百五 is 150
    value = 100 * (_HAN[hundreds] if hundreds else 1) if hundred else 0
    value += 10 * (_HAN[tens] if tens else 1) if ten else 0
    return value + (_HAN[ones] if ones else 0)


def _arabic(match: re.Match[str]) -> str:
    if match["ones"]:
        return str(_ARABIC_TENS[match["tens"]] + _ARABIC_UNITS[match["ones"]])
    if match["teen"]:
        return str(10 + _ARABIC_UNITS[match["teen"]])
    if match["ten"]:
        return str(_ARABIC_TENS[match["ten"]])
    if match["hundred"]:
        return "100"
    number = _ARABIC_UNITS[match["unit"]]
    alone = number != 1 or _ARABIC_ONE.search(match.string[: match.start()].rsplit("\n", 1)[-1])
    return str(number) if alone else match[0]
