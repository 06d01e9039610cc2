"""How fast honest people read one message in several languages, and whom the sign of reading speed finds.

The message is one and takes as long in every language: counted in texts a minute, reading speeds of 17 languages differ
least (IReST: 1.42 with a standard deviation of 0.13 between languages; Trauzettel-Klosinski and Dietz 2012, IOVS
53(9)), and those of others follow from the words that a message takes (Brysbaert 2019, J. Memory and Language 109,
section on other languages). So nothing is assumed of the speeds in ``spa/media/words.py``, which are what is tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.careless import relative_speeds
from analysis.answers.careless_signs import FASTEST
from spa.media.words import words_by_speed

TEXTS = {
    "English": "The old lighthouse keeper climbed the stairs every evening and lit the lamp. One winter night a storm "
    "broke the glass, and the wind blew out the flame. He covered the opening with his own coat and waited until "
    "morning. Two fishing boats found their way home, and their crews never learned who had saved them. In spring the "
    "village gave him a new coat.",
    "Chinese": "看守灯塔的老人每天傍晚都爬上楼梯,点亮灯火。一个冬天的夜里,暴风雨打碎了玻璃,风吹灭了火焰。"
    "他用自己的大衣盖住缺口,一直等到天亮。两条渔船找到了回家的路,船员们始终不知道是谁救了他们。到了春天,村里送给他一件新大衣。",
    "Arabic": "كان حارس المنارة العجوز يصعد الدرج كل مساء ويشعل المصباح. وفي ليلة من ليالي الشتاء كسرت العاصفة الزجاج "
    "وأطفأت الريح اللهب. فغطى الفتحة بمعطفه وانتظر حتى الصباح. وجد قاربان من قوارب الصيد طريقهما إلى البيت، ولم يعرف "
    "البحارة قط من الذي أنقذهم. وفي الربيع أهدته القرية معطفا جديدا.",
    "Arabic, vowel signs": "كَانَ حَارِسُ الْمَنَارَةِ الْعَجُوزُ يَصْعَدُ الدَّرَجَ كُلَّ مَسَاءٍ وَيُشْعِلُ الْمِصْبَاحَ. وَفِي لَيْلَةٍ مِنْ لَيَالِي الشِّتَاءِ "
    "كَسَرَتِ الْعَاصِفَةُ الزُّجَاجَ وَأَطْفَأَتِ الرِّيحُ اللَّهَبَ. فَغَطَّى الْفُتْحَةَ بِمِعْطَفِهِ وَانْتَظَرَ حَتَّى الصَّبَاحِ. وَجَدَ قَارِبَانِ مِنْ قَوَارِبِ "
    "الصَّيْدِ طَرِيقَهُمَا إِلَى الْبَيْتِ، وَلَمْ يَعْرِفِ الْبَحَّارَةُ قَطُّ مَنِ الَّذِي أَنْقَذَهُمْ. وَفِي الرَّبِيعِ أَهْدَتْهُ الْقَرْيَةُ مِعْطَفًا جَدِيدًا.",
    "Hindi": "बूढ़ा प्रकाशस्तंभ रक्षक हर शाम सीढ़ियाँ चढ़ता और दीपक जलाता था। एक सर्द रात में तूफ़ान ने काँच तोड़ दिया और हवा ने लौ "
    "बुझा दी। उसने अपने कोट से छेद को ढक दिया और सुबह तक इंतज़ार किया। मछली पकड़ने वाली दो नावें घर का रास्ता पा गईं, और उनके "
    "नाविकों को कभी पता नहीं चला कि उन्हें किसने बचाया। वसंत में गाँव ने उसे एक नया कोट दिया।",
    "Tamil": "வயதான கலங்கரை விளக்கக் காவலர் ஒவ்வொரு மாலையும் படிகளில் ஏறி விளக்கை ஏற்றினார். ஒரு குளிர்கால இரவில் புயல் "
    "கண்ணாடியை உடைத்தது, காற்று சுடரை அணைத்தது. அவர் தன் மேலங்கியால் திறப்பை மூடி காலை வரை காத்திருந்தார். இரண்டு "
    "மீன்பிடிப் படகுகள் வீட்டுக்கு வழி கண்டன, தங்களைக் காப்பாற்றியது யார் என்று அவர்களுக்கு ஒருபோதும் தெரியவில்லை. வசந்த "
    "காலத்தில் கிராமம் அவருக்கு ஒரு புதிய மேலங்கியைக் கொடுத்தது.",
    "Thai": "คนเฝ้าประภาคารชราปีนบันไดขึ้นไปจุดตะเกียงทุกเย็น คืนหนึ่งในฤดูหนาว พายุพัดกระจกแตก และลมเป่าเปลวไฟดับ "
    "เขาเอาเสื้อคลุมของตัวเองปิดช่องนั้นไว้แล้วรอจนถึงเช้า เรือประมงสองลำหาทางกลับบ้านได้ และลูกเรือไม่เคยรู้เลยว่าใครเป็นคนช่วยชีวิตพวกเขา "
    "เมื่อถึงฤดูใบไม้ผลิ หมู่บ้านมอบเสื้อคลุมตัวใหม่ให้เขา",
}
OUTPUTS, BESIDE = 32, 4  # of a form, and of a page where they stand side by side
NOISE = 0.3  # standard deviation of the log pace from one output to the next
BETWEEN_LANGUAGES = 0.09  # standard deviation of the log speed: 0.13 of 1.42 texts a minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """People by the speed at which they would read the English text: words a minute, log-normal."""

    name: str
    median: float
    sd: float


READERS = (
    Readers(name="honest", median=238, sd=0.165),  # nine in ten within 181 and 312; Brysbaert: most, 175 to 300
    Readers(name="fast", median=350, sd=0.1),
    Readers(name="race", median=1500, sd=0.0),
)


def read_forms(
    language: str, readers: Readers, number: int, rng: np.random.Generator, *, beside: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Let people read, who answer in no time: the tables ``reading`` and ``annotators``, as far as they are needed."""
    english, own = words_by_speed(TEXTS["English"]), words_by_speed(TEXTS[language])
    person = readers.sd * rng.standard_normal((number, 1))
    among = 0.0 if language == "English" else BETWEEN_LANGUAGES  # the faster languages: one standard deviation
    noise = NOISE * rng.standard_normal((number, OUTPUTS)) if readers.sd else np.zeros((number, OUTPUTS))
    seconds = english.total * 60 / readers.median * np.exp(noise - person - among)
    on_screen = seconds.reshape(number, -1, BESIDE).sum(axis=2).repeat(BESIDE, axis=1) if beside else seconds
    who, output = (axis.ravel() for axis in np.indices(seconds.shape))
    reading = pl.DataFrame(
        {
            "annotator_id": [f"p{one}" for one in who],
            "assignment_id": "a",
            "page": [f"p{one // BESIDE if beside else one}" for one in output],
            "item_id": [f"i{one}" for one in output],
            "system": "x",
            "sample": 1,
            "words": own.total,
            "page_seconds": on_screen.ravel(),
            "seconds": on_screen.ravel(),
            "scrolled": 1.0,
            "usual_seconds": 60 * own.minutes,
        }
    )
    people = pl.DataFrame(
        {
            "annotator_id": [f"p{one}" for one in range(number)],
            "usual_seconds": 60 * own.minutes * OUTPUTS,
            "passed_seconds": seconds.sum(axis=1),
        }
    )
    return reading, people


def found_share(
    language: str, readers: Readers, number: int, rng: np.random.Generator, *, beside: bool, clock: bool = False
) -> float:
    """Return the share of people who show the sign, by their reading or by the server's clock alone."""
    reading, people = read_forms(language, readers, number, rng, beside=beside)
    speeds = relative_speeds(None, people) if clock else relative_speeds(reading, None)
    return float(np.mean([speed > FASTEST for speed, _ in speeds.values()]))


def language_rows(number: int, rng: np.random.Generator) -> list[tuple[str, int, float, list[float]]]:
    """Return language, words, usual seconds, and the shares found: of each kind of reader alone, beside, by clock."""
    rows = []
    for language, text in TEXTS.items():
        counts = words_by_speed(text)
        shares = [
            found_share(language, readers, number, rng, beside=beside, clock=clock)
            for readers in READERS
            for beside, clock in ((False, False), (True, False), (False, True))
        ]
        rows.append((language, counts.total, 60 * counts.minutes, shares))
    return rows
