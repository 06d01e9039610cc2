"""A release, rehearsed in a clone that is thrown away: version, changelog, packages, pages. Publishes nothing.

``make release-rehearsal VERSION=1.2.3`` runs ``python -m tests.release 1.2.3``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "## [Unreleased]\n"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
PLACES = {  # where the version stands, each once
    "pyproject.toml": r'(?m)^(version = )"[^"]+"$',
    "CITATION.cff": r'(?m)^(version: )"?[^"\n]+"?$',
    "codemeta.json": r'(?m)^( *"version": )"[^"]+"(?=,?$)',
}
WHO = {  # commits in the clone
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "release"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "release@localhost"),
}


def with_version(name: str, text: str, version: str) -> str:
    """Return the text of a file with a version in the place of its own; ValueError where it does not have one."""
    if VERSION.fullmatch(version) is None:
        raise ValueError(f"expected a version such as 1.2.3 or 1.2.3rc1, got {version!r}")
    quoted = version if name == "CITATION.cff" else f'"{version}"'
    changed, times = re.subn(PLACES[name], rf"\g<1>{quoted}", text)
    if times != 1:
        raise ValueError(f"{name}: expected the version once, got it {times} times")
    return changed


def cut_changelog(text: str, version: str, day: str) -> str:
    """Return a changelog whose unreleased entries are those of a version; ValueError where there are none."""
    before, mark, after = text.partition(UNRELEASED)
    entries = after.partition("\n## [")[0]
    if not mark or not re.search(r"^- ", entries, flags=re.M):
        raise ValueError("CHANGELOG.md: expected entries under [Unreleased], got none")
    if f"## [{version}]" in text:
        raise ValueError(f"CHANGELOG.md: expected a new version, got {version}, which is there")
    return f"{before}{mark}\n## [{version}] - {day}\n{after}"


def prepare(folder: Path, version: str, day: str) -> None:
    """Put the version into a checkout."""
    for name in PLACES:
        path = folder / name
        path.write_text(with_version(name, path.read_text(encoding="utf-8"), version), encoding="utf-8")
    path = folder / "CHANGELOG.md"
    path.write_text(cut_changelog(path.read_text(encoding="utf-8"), version, day), encoding="utf-8")


def rehearse(version: str, day: str) -> Iterator[str]:
    """Release a clone of what is committed, and yield what was done."""
    with cloned() as folder:
        prepare(folder, version, day)
        run(folder, "git", "commit", "--quiet", "--all", "--message", f"Release {version}")
        run(folder, "git", "tag", f"v{version}")
        yield f"version {version}, changelog of {day}, tag v{version}"
        run(folder, sys.executable, "-m", "build", "--installer", "uv", "--outdir", "dist", ".")
        (wheel,), (sdist,) = folder.glob("dist/*.whl"), folder.glob("dist/*.tar.gz")
        yield f"{sdist.name}, {wheel.name}: {_names_version(sdist, wheel, version)}"
        run(folder, sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
        yield "twine check: both are fit for an index"
        run(folder, sys.executable, "docs/pages.py", "site-pages")
        run(folder, "mike", "deploy", "--update-aliases", version, "latest")
        run(folder, "mike", "set-default", "latest")
        pages = run(folder, "git", "ls-tree", "-r", "--name-only", "gh-pages").splitlines()
        if f"{version}/index.html" not in pages or "versions.json" not in pages:
            raise ValueError(f"gh-pages: expected the pages of {version}, got {len(pages)} other files")
        of_version = sum(page.startswith(f"{version}/") for page in pages)
        yield f"site: {of_version} files of {version} on gh-pages of the clone"
    yield "nothing was published; CONTRIBUTING.md says what does"


@contextmanager
def cloned() -> Iterator[Path]:
    """Yield a clone of what is committed that knows no place to push to."""
    with TemporaryDirectory(prefix="release-") as base:
        folder = Path(base) / "clone"
        run(Path(base), "git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder))
        run(folder, "git", "remote", "remove", "origin")
        yield folder


def run(folder: Path, *words: str) -> str:
    """Run a program there, and return what it prints; what it says of an error stands in the exception's place."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # mike calls mkdocs
    environment = {**os.environ, **WHO, "PATH": path, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(folder)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _names_version(sdist: Path, wheel: Path, version: str) -> str:
    """Return a line where both archives are of the version."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = [archive.read(name).decode()]
    with tarfile.open(sdist) as packed:
        (member,) = [one for one in packed if one.name.count("/") == 1 and one.name.endswith("/PKG-INFO")]
        content = packed.extractfile(member)
        metadata.append("" if content is None else content.read().decode())
    if not all(f"\nVersion: {version}\n" in text for text in metadata):
        raise ValueError(f"{wheel.name}, {sdist.name}: expected version {version} in their metadata")
    return "their metadata have the version"


def main() -> None:
    """Read the command line and print each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--day", default=f"{datetime.now(UTC):%Y-%m-%d}", help="of the release")
    given = parser.parse_args()
    for line in rehearse(given.version, given.day):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
