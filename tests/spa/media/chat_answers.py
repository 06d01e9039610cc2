"""Answers as chat models write them: mathematics and code; those in prose and in other languages stand beside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """An answer; how many formulas stand in it, and which of these are shown as their source."""

    name: str
    source: str
    formulas: int = 0
    as_source: tuple[str, ...] = ()


def answer(name: str, source: str, formulas: int = 0, *as_source: str) -> ChatAnswer:
    return ChatAnswer(name=name, source=source.strip("\n"), formulas=formulas, as_source=as_source)


ANSWERS = (
    answer(
        "quadratic",
        r"""
To solve \(2x^2 - 4x - 6 = 0\), use the **quadratic formula**:
\[
x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}
\]
Here \(a = 2\), \(b = -4\) and \(c = -6\), so

\[
\begin{aligned}
x &= \frac{4 \pm \sqrt{16 + 48}}{4} \\
  &= \frac{4 \pm 8}{4}
\end{aligned}
\]

Therefore \(x = 3\) or \(x = -1\).

**Final answer:** \(\boxed{x \in \{3, -1\}}\)
""",
        9,
    ),
    answer(
        "derivative",
        r"""
## Product rule

Let $f(x) = x^2 \sin x$. Then

$$f'(x) = 2x \sin x + x^2 \cos x.$$

1. **Factor out** $x$:
   $$f'(x) = x(2\sin x + x\cos x)$$
2. Check at $x = \pi$:
   - $\sin\pi = 0$
   - $\cos\pi = -1$, so $f'(\pi) = -\pi^2$
""",
        8,
    ),
    answer(
        "integral",
        r"""
Integrate by parts with $u = \ln x$, $dv = dx$:

$$
\int \ln x \, dx = x \ln x - \int x \cdot \frac{1}{x} \, dx
= x \ln x - x + C
$$

So from $1$ to $e$ it is $\left[x\ln x - x\right]_1^e = 1$.
""",
        6,
    ),
    answer(
        "matrices",
        r"""
Multiply row by column:

\[
\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}
\begin{pmatrix} 0 \\ 1 \end{pmatrix}
= \begin{pmatrix} 2 \\ 4 \end{pmatrix}
\]

Its determinant is $\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix} = -2$, hence it is **invertible**.
""",
        2,
    ),
    answer(
        "cases",
        r"""
The absolute value is defined piece by piece:

$$|x| = \begin{cases} x & \text{if } x \ge 0 \\ -x & \text{otherwise} \end{cases}$$

It is continuous, yet not differentiable at $0$.
""",
        2,
    ),
    answer(
        "boxed",
        r"""
**Step 1.** There are $\binom{5}{2} = 10$ pairs.

**Step 2.** Of these $4$ sum to an even number.

**Step 3.** The probability is $\frac{4}{10} = \frac{2}{5}$.

$$\boxed{\frac{2}{5}}$$
""",
        4,
    ),
    answer(
        "sums_and_limits",
        r"""
- Geometric: $\sum_{k=0}^{\infty} r^k = \frac{1}{1-r}$ for $|r| < 1$.
- Euler: $\lim_{n \to \infty} \left(1 + \frac{1}{n}\right)^n = e$.
- Product: $\prod_{i=1}^n i = n!$
- Basel: $\displaystyle \sum_{n=1}^\infty \frac{1}{n^2} = \frac{\pi^2}{6}$
""",
        5,
    ),
    answer(
        "statistics",
        r"""
The sample mean $\bar{x}$ estimates $\mu$; its standard error is $\frac{\sigma}{\sqrt{n}}$.

With $n = 25$, $\bar{x} = 10.4$ and $s = 2$ the interval is
$$10.4 \pm 2.064 \cdot \frac{2}{5} = [9.57,\ 11.23].$$
Reject $H_0\colon \mu = 9$ at $\alpha = 0.05$.
""",
        9,
    ),
    answer(
        "physics",
        r"""
Energy is conserved: \( \tfrac12 m v^2 = m g h \), so \( v = \sqrt{2gh} \approx 14\,\text{m/s} \).

> **Note:** with \(g = 9.81\,\mathrm{m\,s^{-2}}\) and \(h = 10\) m.
""",
        4,
    ),
    answer(
        "chemistry",
        r"""
Balanced: $2\,\mathrm{H_2} + \mathrm{O_2} \rightarrow 2\,\mathrm{H_2O}$

Each mole of $\text{H}_2$ weighs 2 g; with $\ce{H2O}$ as solvent nothing changes.
""",
        3,
        r"\ce{H2O}",
    ),
    answer(
        "logic",
        r"""
Premises: $p \land q$, $\neg q \lor r$. From $q$ follows $r$, thus $(p \land q) \implies r$.

For sets: $A \cap (B \cup C) = (A \cap B) \cup (A \cap C)$, and
$\forall x \in \mathbb{R}\; \exists n \in \mathbb{N}: n > x$.
""",
        7,
    ),
    answer(
        "vectors",
        r"""
Let $\vec{u} = (1, 2)$ and $\mathbf{v} = (3, 4)$. Then $\vec{u} \cdot \vec{w} = 11$ and $\|\vec{u}\| = \sqrt{5}$.

$$\nabla \cdot \vec{E} = \frac{\rho}{\varepsilon_0}, \qquad \oint \vec{B} \cdot d\vec{l} = \mu_0 I$$
""",
        5,
    ),
    answer(
        "cancelled",
        r"""
Simplify: $$\frac{\cancel{3} \cdot 4}{\cancel{3}} = 4$$ and nothing else.
""",
        1,
        r"\frac{\cancel{3} \cdot 4}{\cancel{3}} = 4",
    ),
    answer(
        "complexity",
        r"""
| Algorithm | Average | Worst | Stable |
|:----------|:-------:|------:|--------|
| Merge sort | $O(n \log n)$ | $O(n \log n)$ | yes |
| Quicksort | $O(n \log n)$ | $O(n^2)$ | no |
| Bubble sort | $O(n^2)$ | $O(n^2)$ | yes |

By the master theorem, $T(n) = 2T(n/2) + \Theta(n)$ gives $\Theta(n \log n)$.
""",
        8,
    ),
    answer(
        "induction",
        r"""
**Claim.** $\sum_{i=1}^{n} i = \frac{n(n+1)}{2}$ for all $n \geq 1$.

*Base case* ($n=1$): both sides are $1$. ✓

*Inductive step.* Assume it holds for $k$. Then
\begin{align}
\sum_{i=1}^{k+1} i &= \frac{k(k+1)}{2} + (k+1) \\
&= \frac{(k+1)(k+2)}{2}
\end{align}
as claimed. $\blacksquare$
""",
        7,
    ),
    answer(
        "python",
        """
Sure! Here is a function that finds duplicates:

```python
from collections import Counter

def duplicates(items: list[str]) -> list[str]:
    \"\"\"Return items that occur more than once.\"\"\"
    counts = Counter(items)
    return [item for item, n in counts.items() if n > 1]  # keeps the order

print(duplicates(["a", "b", "a"]))  # ['a']
```

**How it works**

1. `Counter` counts each item in `O(n)`.
2. The comprehension keeps those with `n > 1`.

Let me know if you'd like a version with `set`s!
""",
    ),
    answer(
        "shell",
        """
Run these commands:

```bash
$ export PRICE=$5
$ echo "$HOME costs $$"
sudo apt-get update && sudo apt-get install -y git
```

Then check with `git --version`. If `$PATH` lacks it, add `export PATH="$PATH:/usr/local/bin"` to `~/.bashrc`.
""",
    ),
    answer(
        "javascript",
        """
```javascript
const greet = (name) => `Hello, ${name}!`;
document.querySelector("#x").innerHTML = "<b>bold</b>"; // careful
/* block
   comment */
console.log(greet("Ada"), 1_000, 0xff, /re[gx]/i.test("x"));
```

`===` compares **without** coercion; `==` coerces (`"1" == 1` is `true`).
""",
    ),
    answer(
        "html_explained",
        """
Use a `<div>` with a class:

```html
<div class="card" onclick="open()">
  <img src="cat.png" alt="A cat">
  <p>Text &amp; more</p>
</div>
```

The tag <br> breaks a line, and &lt; is written as `&lt;`. Press <kbd>Ctrl</kbd>+<kbd>C</kbd> to copy.
""",
    ),
    answer(
        "sql",
        """
```sql
SELECT c.name, SUM(o.total) AS revenue
FROM customers AS c
LEFT JOIN orders AS o ON o.customer_id = c.id
WHERE o.created_at >= '2024-01-01' -- this year
GROUP BY c.name
HAVING SUM(o.total) > 1000
ORDER BY revenue DESC;
```

* `LEFT JOIN` keeps customers without orders
* `HAVING` filters **after** grouping
""",
    ),
    answer(
        "rust_and_c",
        """
In Rust:

```rust
fn main() {
    let v: Vec<i32> = (1..=3).map(|x| x * 2).collect();
    println!("{:?}", v); // [2, 4, 6]
}
```

The same in C:

```c
#include <stdio.h>
int main(void) {
    for (int i = 1; i <= 3; i++) printf("%d\\n", i * 2);
    return 0;
}
```
""",
    ),
    answer(
        "json_and_yaml",
        """
The response looks like this:

~~~json
{"id": 7, "tags": ["a", "b"], "price": 9.99, "ok": true, "none": null}
~~~

or, as YAML:

```yaml
id: 7
tags: [a, b]
price: 9.99  # dollars
```
""",
    ),
    answer(
        "diff",
        """
Change one line:

```diff
--- a/app.py
+++ b/app.py
@@ -1,3 +1,3 @@
-x = eval(text)
+x = int(text)
```

That's it.
""",
    ),
    answer(
        "code_in_lists",
        """
1. Install the package:

   ```bash
   pip install requests
   ```

2. Fetch a page:

   ```python
   import requests
   print(requests.get("https://example.org").status_code)
   ```

   - a `200` means **success**
   - a `404` means *not found*
     1. check the address
     2. try again

3. Done.
""",
    ),
    answer(
        "lists_with_formulas",
        r"""
- **Circle**
  - Area: \(A = \pi r^2\)
  - Circumference:
    \[
    C = 2 \pi r
    \]
- **Sphere**
  1. Volume:

     $$
     V = \frac{4}{3} \pi r^3
     $$

  2. Surface: $S = 4 \pi r^2$
""",
        4,
    ),
    answer(
        "nested_code_fence",
        """
Write the block like so:

````markdown
```python
print("hi")
```
````

Inline, use ``a `tick` inside``.
""",
    ),
)
