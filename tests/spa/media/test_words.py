"""Words are counted by Unicode's rules, alike wherever they count, and read at the speed of their script."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from analysis.answers.output_features import WORD_COUNT, counts_of
from spa.media.words import LETTERS_A_WORD, count_words, words_by_speed
from spa.study import filters, warnings

# own sentences; words by ICU 78 (Chromium 156, Intl.Segmenter)
COUNTED = {
    "The well-known poet didn't write 12 poems_in_one day.": 8,
    "Die Bäume rauschen über dem Fluß.": 6,
    "كَتَبَ الوَلَدُ رِسَالَةً طَوِيلَةً": 4,
    "می\u200cخواهم کتاب بخوانم": 3,
    "लड़की ने नदी के किनारे किताब पढ़ी": 7,
    "சிறுமி ஆற்றின் கரையில் புத்தகம் படித்தாள்": 5,
    "나는 책을 읽는다": 3,
    "我喜欢诗。": 4,
    "本をよむ": 4,
}
# scripts without spaces, by the same segmenter
UNSPACED = {
    "เมื่อวานนี้ฉันไปตลาดกับเพื่อนเพื่อซื้อผักและผลไม้": 13,
    "นักวิจัยพบว่าผู้อ่านชอบข้อความสั้นมากกว่าข้อความยาว": 12,
    "ມື້ວານນີ້ຂ້ອຍໄປຕະຫຼາດກັບໝູ່ເພື່ອຊື້ຜັກແລະໝາກໄມ້": 11,
    "ម្សិលមិញខ្ញុំបានទៅផ្សារជាមួយមិត្តភក្តិដើម្បីទិញបន្លែនិងផ្លែឈើ": 12,
}
TEXTS = [*COUNTED, *UNSPACED, "", "__ _ -", "日本語とEnglish", "ภาษาไทย ๑๒๓ ABC", "عَرَب ٧٠ x-y", "e\u0301te\u0301 été"]


@pytest.mark.parametrize(("text", "words"), COUNTED.items())
def test_words_are_counted_by_unicode_rules(text: str, words: int) -> None:
    """As a segmenter of Unicode counts them; hyphens and apostrophes join."""
    assert count_words(text) == words


@pytest.mark.parametrize(("text", "words"), UNSPACED.items())
def test_words_without_spaces_are_so_many_letters(text: str, words: int) -> None:
    """A whole output of them comes within 15 % of a dictionary's count, a single sentence within 30 %."""
    assert count_words(text) == pytest.approx(words, rel=0.3)
    assert count_words(text * 20) == pytest.approx(20 * count_words(text), rel=0.05)


@pytest.mark.parametrize("text", TEXTS)
def test_marks_add_no_word(text: str) -> None:
    """Composed, decomposed and bare of vowel signs, a text has the same words at the same speed."""
    bare = "".join(one for one in unicodedata.normalize("NFC", text) if unicodedata.category(one)[0] != "M")
    counts = words_by_speed(text)
    assert [words_by_speed(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")] == [counts] * 2
    assert words_by_speed(bare) == counts


def test_tables_count_as_forms_do() -> None:
    """Lengths of outputs in an analysis are those of the form."""
    counted = pl.DataFrame({"text": TEXTS}).select(*counts_of(pl.col("text")))[WORD_COUNT]
    assert counted.to_list() == [count_words(text) for text in TEXTS]


def test_filters_count_as_forms_do() -> None:
    """Conditions of an item and warnings use the same function."""
    assert filters.count_words is warnings.count_words is count_words


def test_scripts_without_spaces_share_no_letter() -> None:
    """Each letter counts for one rate; digits of these scripts make words of their own."""
    for text in ("กขฃ๑๒", "ກຂ໑໒", "កខ១២", "ကခ၁၂", "\u1091\u1092"):
        letters = [one for one in text if unicodedata.category(one) == "Lo"]
        assert count_words(text) == len(letters[:1]) + 1
    assert len(LETTERS_A_WORD) == 3


@pytest.mark.parametrize("case", ["words_with_marks", "words_thai"])
def test_collected_texts_count_as_expected(case: str, shared_data: Path) -> None:
    """Outputs in six languages, with and without vowel signs, and Thai."""
    folder = shared_data.parent / "cases" / "languages" / case
    if not folder.is_dir():
        pytest.skip(f"{folder.name}: not there")
    expected = json.loads((folder / "expected.json").read_text())
    words = expected["words_per_output"]
    wanted = words if isinstance(words, dict) else {".": words}
    for name, number in wanted.items():
        for line in (folder / name / "outputs.jsonl").read_text(encoding="utf-8").splitlines():
            assert count_words(json.loads(line)["output"]) == pytest.approx(number, rel=expected.get("tolerance", 0))
