"""How many tokens a model reads for a second of sound or of a film, by families of models.

Sources: Google, "Understand and count tokens" (32 tokens a second of sound; a film is read once a second, 258 tokens a
picture, 70 from Gemini 3 on); OpenAI, "Audio and speech" (a token for 100 ms of what a user says); Qwen2-Audio and
Qwen2.5-Omni, model cards (25 a second of sound: one for 40 ms); Voxtral and Phi-4-multimodal (one for 80 ms). Qwen's
films are read twice a second, two pictures together. Providers change these rules: a reply says what was counted.
"""

from __future__ import annotations

import re
from math import ceil

from spa.media.image_tokens import image_tokens

Range = tuple[int, int]  # the fewest and the most tokens
SOUND = (  # what the name of a model holds -> tokens a second
    (r"gemini", 32.0),
    (r"gpt|\bo\d", 10.0),
    (r"qwen", 25.0),
    (r"voxtral|phi-?4", 12.5),
)
GEMINI_3 = 70  # a picture of a film
GEMINI = 258


def sound_tokens(seconds: float, model: str) -> Range:
    """Return the fewest and the most tokens of sound; those of all families where the model's is unknown.

    >>> sound_tokens(10.0, "gemini-2.5-flash"), sound_tokens(10.0, "")
    ((320, 320), (100, 320))
    """
    rates = [rate for name, rate in SOUND if re.search(name, model.lower())][:1] or [rate for _, rate in SOUND]
    return ceil(seconds * min(rates)), ceil(seconds * max(rates))


def film_tokens(seconds: float, width: int, height: int, model: str) -> Range:
    """Return the fewest and the most tokens of a film with sound.

    >>> film_tokens(10.0, 640, 360, "gemini-2.5-flash")
    (2580, 2900)
    """
    heard = sound_tokens(seconds, model)[1]
    if re.search(r"gemini", model.lower()):
        each = GEMINI_3 if re.search(r"gemini-?3", model.lower()) else GEMINI
        seen = (each * ceil(seconds), each * ceil(seconds))
    else:  # a picture a second: two, read together
        fewest, most = image_tokens(width, height, model)
        seen = (fewest * ceil(seconds), most * ceil(seconds))
    return seen[0], seen[1] + heard
