"""Pseudonyms of people: a keyed hash, so that two imports with one key name a person alike."""

from __future__ import annotations

import hmac
import os
import secrets
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from spa.errors import ResponseError

KEY_BYTES = 32
KEY = f"a key of {KEY_BYTES} bytes in hexadecimal digits"
KEY_FILE = "pseudonyms.key"  # beside the mappings, so that those of one folder share it
DIGITS = 20  # of a pseudonym


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymKey:
    """The secret that people's names are hashed with, the file that keeps it, and whether it was just made."""

    path: Path
    secret: bytes = field(repr=False)
    created: bool = False

    def pseudonym(self, name: str) -> str:
        """Return the pseudonym of a person: without the key, guessed names cannot be tested.

        Spaces around a name, and how its accents are stored, make no other person.

        >>> key = PseudonymKey(path=Path("a.key"), secret=bytes(32))
        >>> key.pseudonym("W1"), key.pseudonym(" W1 ") == key.pseudonym("W1"), len(key.pseudonym("W2"))
        ('f3d358f69db11707e7b5', True, 20)
        """
        return hmac.new(self.secret, f"worker {spelled(name)}".encode("utf-8", "surrogatepass"), sha256).hexdigest()[
            :DIGITS
        ]


def spelled(name: str) -> str:
    """Return a name as all ways of writing it alike are counted: without spaces around it, its accents composed."""
    return unicodedata.normalize("NFC", name.strip())


def default_key_path(mapping: Path) -> Path:
    """Return where the key lies that no option names: one of the mapping's own name, else one for its folder."""
    own = mapping.with_suffix(".key")
    return own if own.exists() else mapping.with_name(KEY_FILE)


def load_key(path: Path) -> PseudonymKey:
    """Load a key; a missing one is created, readable by its owner only. One that is there is never written.

    Raise ResponseError where the file holds something else.
    """
    created = False
    try:
        if not path.exists():
            with suppress(FileExistsError):  # another import was faster
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(secrets.token_hex(KEY_BYTES) + "\n")
                created = True
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else "something else"
        raise ResponseError(f"{path}: expected {KEY}, got: {reason}; name the right file with --key") from error
    if len(secret) != KEY_BYTES:
        raise ResponseError(f"{path}: expected {KEY}, got {len(secret)}; name the right file with --key")
    return PseudonymKey(path=path, secret=secret, created=created)
