"""Answers as chat models write them: prices, tables, lists, links and letters."""

from __future__ import annotations

from tests.spa.media.chat_answers import answer

ANSWERS = (
    answer(
        "recipe",
        """
# Pancakes 🥞

**Serves:** 4 · **Time:** 20 min

### Ingredients
- 1½ cups (190 g) flour
- 2 tsp baking powder
- ¼ tsp salt
- 1¼ cups milk (2%)
- 1 egg

### Steps
1. **Whisk** the dry ingredients.
2. Add milk *and* egg; stir until _just_ combined.
3. Fry over medium heat, 2–3 minutes per side.

> 💡 Tip: rest the batter for 10 minutes at ~20°C.

---

Enjoy!
""",
    ),
    answer(
        "prices",
        """
The basic plan costs $5 and the pro plan costs $10 a month. That is $60–$120 a year, or $0.16 to $0.33 a day.

- Coffee: $3.50 (up from $2.75)
- Rent: US$1,200/month vs. C$1,650/month
- Total: **$1,203.50**

From $20k to $25k is a rise of 25%; a $1 bet at 5:1 pays $5.
""",
    ),
    answer(
        "prices_in_a_table",
        """
| Plan | Monthly | Yearly |
|------|--------:|-------:|
| Free | $0 | $0 |
| Pro | $12.99 | $129 |
| Team | $49 + $8/seat | ~~$588~~ **$499** |

You save $26.88 (about 17%) on Pro.
""",
    ),
    answer(
        "prices_and_formulas",
        r"""
With a price of $15 each, revenue is $R = 15q$. For $q = 40$ that is $600.

Costs are \(C = 200 + 5q\), so profit is $\pi = R - C = 10q - 200$, that is $200.
""",
        4,
    ),
    answer(
        "escaped_dollars",
        r"""
Tickets are \$20 for adults and \$10 for children. Two adults and $n$ children pay $40 + 10n$ dollars in all.
""",
        2,
    ),
    answer(
        "currencies",
        """
Today **€100** buys about $108, £85.20, ¥16,900 or ₹9,050. Cards charge 1.5% (min. $2), cash $5 flat.
""",
    ),
    answer(
        "currency_signs_in_code",
        """
In Bash `$1` is the first argument and `$@` all; in PHP `$x` is a variable, in R `df$column` is a column, and in
jQuery `$("p")` selects. A regular expression ends with `$`.
""",
    ),
    answer(
        "comparison_table",
        """
Here's a comparison:

| Feature | **PostgreSQL** | *MySQL* | SQLite |
|---|---|---|---|
| Licence | PostgreSQL | GPL v2 | Public domain |
| `JSONB` | ✅ | ⚠️ partly | ❌ |
| Pipes | a \\| b | `a \\| b` | none |
| Best for | complex queries, analytics, geography | web applications with many reads | files, phones, tests |

**Bottom line:** choose PostgreSQL unless you need a file.
""",
    ),
    answer(
        "wide_table",
        """
| Month | Rain | Sun | Wind | Snow | Fog | Frost | Storm | Humidity | Pressure | Visibility |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
| January | 62 mm | 58 h | 14 km/h | 9 days | 6 days | 18 days | 1 day | 84 percent | 1,014 hPa | 11 kilometres |
| July | 71 mm | 231 h | 10 km/h | 0 days | 1 day | 0 days | 6 days | 69 percent | 1,016 hPa | 29 kilometres |
""",
    ),
    answer(
        "table_without_outer_pipes",
        """
Name | Age
--- | ---
Ada | 36
Grace | 85
""",
    ),
    answer(
        "wide_formula",
        r"""
Expanding everything at once gives

$$(a+b+c)^3 = a^3 + b^3 + c^3 + 3a^2b + 3a^2c + 3ab^2 + 3b^2c + 3ac^2 + 3bc^2 + 6abc
= \sum_{i+j+k=3} \frac{3!}{i!\,j!\,k!} a^i b^j c^k$$

and inline $(x+y)^5 = x^5 + 5x^4y + 10x^3y^2 + 10x^2y^3 + 5xy^4 + y^5$ goes on.
""",
        2,
    ),
    answer(
        "links",
        """
See [the manual](https://docs.example.org/guide?a=1&b=2 "Guide"), <https://example.org/x>, or write to
[support](mailto:help@example.org). Reference style: [Rust book][book].

[book]: https://doc.example.org/book/ "The Book"
""",
    ),
    answer(
        "bare_addresses",
        """
More at https://example.org/a_b_c?x=1*2*3 and www.example.com. Mail: someone@example.org.
""",
    ),
    answer(
        "footnotes",
        """
Water boils at 100 °C at sea level[^1], lower in the mountains[^note].

[^1]: At 1,013 hPa.
[^note]: About 1 °C per 300 m.
""",
    ),
    answer(
        "citations",
        """
Studies agree [1], [2, 3], although some differ [4].

**References**

[1] Doe, J. (2020). *On things*. Journal of Things, 12(3), 45–67.
[2]: Roe, R. (2021). More things.
[Answer]: 42
""",
    ),
    answer(
        "quotes",
        """
> "Be yourself; everyone else is taken."
> — *attributed to many*

And nested:

> The first said:
>> The second replied.
>
> - and a list
> - within

```text
> not a quotation
```
""",
    ),
    answer(
        "tasks",
        """
## To do

- [x] Book the flight
- [ ] Pack:
  - [x] passport
  - [ ] charger (`USB-C`)
- [ ] ~~Call the hotel~~ done by mail
""",
    ),
    answer(
        "emphasis",
        """
This is **bold**, *italic*, ***both***, __also bold__, _also italic_, ~~struck~~. But snake_case_name and 2 * 3 * 4
stay. **"Quoted":** yes. **Note:**no space. *Really?*—yes! file_name.py, __init__, 5*x*y.
""",
    ),
    answer(
        "line_ends",
        """
Roses are red,
Violets are blue,
  Sugar is sweet,\\
And so are you.

Dear Ms Lee,
Thank you.  
Best,
Sam
""",
    ),
    answer(
        "headings",
        """
# One
## Two
### Three
#### Four
##### Five
###### Six
Seven
=====
Eight
-----
#NoHeading and #1
""",
    ),
    answer(
        "headed_steps",
        """
### 1. **Understand** the problem
Read it twice.

### 2. Plan

1) First
2) Second

10. Tenth
11. Eleventh

+ plus
* star
- dash
""",
    ),
    answer(
        "definition_by_bold",
        """
**Photosynthesis**: plants turn light into sugar. **Formula**: 6 CO₂ + 6 H₂O → C₆H₁₂O₆ + 6 O₂.

**Key points:**
• light reactions
• Calvin cycle
""",
    ),
    answer(
        "thinking_tags",
        """
<think>
The user wants a sum. 17 + 25 = 42.
</think>

The answer is **42**.

<answer>42</answer>
""",
    ),
    answer(
        "refusal",
        """
I'm sorry, but I can't help with that. If you're in crisis, please call **112** (EU) or **988** (US). You're not alone.
""",
    ),
    answer(
        "letter",
        """
**Subject: Request for a day off on Friday, 3 May**

Dear Mr. O'Neill,

I would like to request a day off on _Friday, 3 May_, to attend my sister's graduation. I've arranged for Priya
(ext. 204) to cover the 10:00–11:30 stand-up & the 15:00 review.

Kind regards,
[Your Name]
[Your Position]
""",
    ),
    answer(
        "image",
        """
Here is the picture you asked for:

![A red fox in the snow](https://images.example.org/fox.png "Fox")

It shows a fox.
""",
    ),
    answer(
        "entities",
        """
AT&T, R&D, &copy; 2024, 5 &lt; 6 &amp; 7 &gt; 6, non&nbsp;breaking, &#8364; and &hearts;.
""",
    ),
    answer(
        "diagram",
        """
```
+--------+     +--------+
| Client | --> | Server |
+--------+     +--------+
```

or as Mermaid:

```mermaid
graph TD; A[Start] --> B{OK?}; B -->|yes| C[End];
```
""",
    ),
    answer(
        "indented_code",
        """
Type this:

    for x in range(3):
        print(x)

and run it.
""",
    ),
    answer(
        "very_short",
        "42",
    ),
    answer(
        "ascii_shrug",
        r"¯\\_(ツ)_/¯ — who knows? :) <3 C:\Users\me\new_file.txt, \n is a line end.",
    ),
    answer(
        "half_finished",
        r"""
The derivative is \(2x + 1, and then

```python
def f(x):
    return x
""",
    ),
)
