"""Answers as chat models write them in languages other than English."""

from __future__ import annotations

from tests.spa.media.chat_answers import answer

ANSWERS = (
    answer(
        "arabic",
        r"""
## كيف يعمل البحث الثنائي

**البحث الثنائي** يقسم القائمة إلى نصفين في كل خطوة، وتعقيده \(O(\log n)\).

1. ابدأ من **الوسط**.
2. إن كانت القيمة أكبر فانتقل إلى `right`.
3. كرر حتى تجدها.

```python
mid = (low + high) // 2
```

> ملاحظة: يجب أن تكون القائمة *مرتبة*.
""",
        1,
    ),
    answer(
        "arabic_latin_name_first",
        """
ChatGPT نموذج لغوي كبير طورته شركة OpenAI، وهو يجيب عن الأسئلة.

- Python لغة برمجة سهلة التعلم.
- 3 تفاحات و5 برتقالات.

| الاسم | العمر |
|---|--:|
| سارة | 30 |
| Adam | 25 |
""",
    ),
    answer(
        "arabic_formula",
        r"""
لنحل المعادلة $2x + 6 = 10$:

$$
\begin{aligned}
2x &= 4 \\
x &= 2
\end{aligned}
$$

الجواب هو $\boxed{2}$.
""",
        3,
    ),
    answer(
        "hebrew",
        """
**שלום!** הנה מתכון ל*חומוס*:

1. לבשל 500 גרם חומוס.
2. להוסיף טחינה, לימון ו-2 שיני שום.
3. לטחון הכול ב-`blender`.

מחיר: 20 ₪ עד 25 ₪.
""",
    ),
    answer(
        "persian_and_urdu",
        """
**پایتون** یک زبان برنامه‌نویسی است؛ نسخهٔ 3.12 آن در سال ۲۰۲۳ منتشر شد.

اردو میں: *یہ ایک مثال ہے* اور `print()` سے چھپتا ہے۔
""",
    ),
    answer(
        "chinese",
        """
**光合作用**是植物利用*阳光*制造养分的过程。主要分为**两个阶段：**光反应和暗反应。

1. **光反应**（在类囊体上进行）
2. **暗反应**（又称“卡尔文循环”）

> 注意：温度过高时，酶会**“失活”**。

| 阶段 | 场所 | 产物 |
|---|---|---|
| 光反应 | 类囊体 | ATP、NADPH |
""",
    ),
    answer(
        "chinese_mathematics",
        r"""
解：设直角边为 $a=3$，$b=4$，由勾股定理得\(c=\sqrt{a^2+b^2}=5\)。所以周长为$3+4+5=12$。

因此，答案是 $\boxed{12}$。
""",
        5,
    ),
    answer(
        "japanese",
        """
**「こんにちは」**は挨拶です。*重要*なポイントは次の**3つ（みっつ）**です。

- 助詞の`は`と`が`の違い
- 敬語（**尊敬語**・**謙譲語**）
- 価格は1,000円（税込）〜1,500円です
""",
    ),
    answer(
        "korean",
        """
**서울(Seoul)**은 대한민국의 수도입니다. **"한강"**이 도시를 가로지르고, *경복궁*은 유명합니다.

1. 인구: 약 **940만**명
2. 면적: `605.2`km²
""",
    ),
    answer(
        "german",
        """
**Kurz gesagt:** Die Größe beträgt 3,5 m² – also „ungefähr“ so viel wie ein Tisch.

1. Öffnen Sie die *Einstellungen*.
2. Wählen Sie „**Über das Telefon**“.
3. Preis: 19,99 € (statt 24,99 €).
""",
    ),
    answer(
        "french_and_spanish",
        """
**Réponse :** l'été commence le 21 juin ; il dure 93 jours « environ ».

**Respuesta:** ¿Qué hora es? ¡Son las *tres*! La niña compró 2,5 kg de piñas por $45 MXN.
""",
    ),
    answer(
        "russian_and_greek",
        r"""
**Ответ:** скорость равна $v = \frac{s}{t}$, то есть 60 км/ч.

Στα ελληνικά: η γωνία $\alpha$ είναι **30°**.
""",
        2,
    ),
    answer(
        "hindi_and_thai",
        """
**उत्तर:** भारत की राजधानी *नई दिल्ली* है।

- कीमत: ₹500
- **ไทย:** กรุงเทพมหานครเป็นเมืองหลวง
""",
    ),
    answer(
        "vietnamese_and_turkish",
        """
**Hà Nội** là thủ đô của Việt Nam, có khoảng *8 triệu* dân.

**İstanbul** Türkiye'nin en büyük şehridir; `ğ` yumuşak okunur.
""",
    ),
    answer(
        "emoji",
        """
🎉 **Great news!** 👩‍👩‍👧‍👦 Your family trip is booked ✈️🏖️

1️⃣ Pack 🧳
2️⃣ Fly 🛫
❤️‍🔥 Enjoy!
""",
    ),
)
