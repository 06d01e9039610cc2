"""An archive written as RO-Crate: the metadata by the library ``rocrate``, the bytes the same for the same contents."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.archive.contents import Contents
from spa.errors import AnalysisError, how_to_install
from spa.files import written_whole

VERSION = "1.2"  # of RO-Crate: the first whose context has sha256
METADATA = "ro-crate-metadata.json"
MOMENT = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say
MODE = 0o100644 << 16  # a plain file
LEVEL = 9
HIGHEST_RATIO = 200  # of bytes to those stored, in files above SMALL: no archive unpacks to more
SMALL = 1 << 20
MEDIA = {  # by the end of a name; of others nothing is said
    ".css": "text/css",
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the metadata say of the whole archive.

    Attributes
    ----------
    name, description : str
        Its title, and what is in it.
    published : str
        A day, 2026-05-04.
    licence : str
        An id of SPDX such as CC-BY-4.0, an address, or words.
    versions : mapping of str to str
        Of Python and the libraries that made the report.
    """

    name: str
    description: str
    published: str
    licence: str
    versions: Mapping[str, str]


def write_crate(contents: Contents, about: About, path: Path) -> str:
    """Write an archive, whole or not at all, and return its SHA-256 (hexadecimal).

    Raises
    ------
    AnalysisError
        If the file cannot be written.
    """
    with TemporaryDirectory(prefix="spa-bundle-") as empty:
        folder = Path(empty)
        _crate(contents, about).write(folder)
        with written_whole(path, error_type=AnalysisError) as temporary:
            _write_zip(folder, temporary)
            with temporary.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_without_library() -> None:
    """Raise AnalysisError where the library is not installed."""
    if find_spec("rocrate") is None:
        raise AnalysisError(f"spa bundle needs the package rocrate: {how_to_install('archive')}")


def _crate(contents: Contents, about: About) -> Any:
    from rocrate.model import ContextEntity
    from rocrate.rocrate import ROCrate

    crate = ROCrate(gen_preview=False, version=VERSION)
    licence = crate.add(ContextEntity(crate, _licence_id(about.licence), properties=_licence(about.licence)))
    crate.root_dataset["name"] = about.name
    crate.root_dataset["description"] = about.description
    crate.root_dataset["datePublished"] = about.published
    crate.root_dataset["license"] = licence
    for program, version in sorted(about.versions.items()):
        properties = {"@type": "SoftwareApplication", "name": program, "softwareVersion": version}
        crate.root_dataset.append_to("mentions", crate.add(ContextEntity(crate, f"#{program}", properties=properties)))
    for name in contents:
        source = contents.path(name)
        crate.add_file(str(source), dest_path=name, properties=_properties(source, contents.about(name)))
    return crate


def _properties(path: Path, about: str) -> dict[str, str]:
    with path.open("rb") as stream:
        found = {"description": about, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
    found["contentSize"] = str(path.stat().st_size)
    medium = MEDIA.get(path.suffix.lower())
    return found if medium is None else {**found, "encodingFormat": medium}


def _licence_id(licence: str) -> str:
    if licence.startswith(("http://", "https://")):
        return licence
    spdx = licence.replace(".", "").replace("-", "").replace("+", "").isalnum() and licence != "unknown"
    return f"https://spdx.org/licenses/{licence}" if spdx else "#licence"


def _licence(licence: str) -> dict[str, str]:
    said = "No licence is stated: ask the authors before you use it." if licence == "unknown" else licence
    return {"@type": "CreativeWork", "name": said}


def _write_zip(folder: Path, path: Path) -> None:
    """Write the files of a folder by name, with no time, owner or order of the machine in them."""
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    names.sort(key=lambda name: name != METADATA)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.compress_type = zipfile.ZIP_STORED if _shrinks_too_far(folder / name) else zipfile.ZIP_DEFLATED
            entry.external_attr, entry.create_system = MODE, 3
            entry.file_size = (folder / name).stat().st_size
            with archive.open(entry, "w") as into, (folder / name).open("rb") as stream:
                while part := stream.read(1 << 20):
                    into.write(part)


def _shrinks_too_far(path: Path) -> bool:
    """Return whether a file would look like one that is made to fill a disk when it is unpacked."""
    size = path.stat().st_size
    if size <= SMALL:
        return False
    packing, packed = zlib.compressobj(1), 0  # at LEVEL a few times less
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            packed += len(packing.compress(part))
    return size > HIGHEST_RATIO // 5 * (packed + len(packing.flush()))
