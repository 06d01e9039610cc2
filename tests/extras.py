"""The wheel in fresh environments, without extras, then with each by itself: ``python -m tests.extras WHEEL``.

Without extras a study is played through, and what needs an extra says so in a line; each extra does what it is for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.guides.servers import free_port, start
from tests.spa import tiny_models

ROOT = Path(__file__).resolve().parents[1]
STUDY = "study/study.toml"
READ = 2  # outputs of each system, which a model reads in thousands of tokens
PLAYED = (
    ("check", STUDY),
    ("simulate", STUDY),
    ("rate", STUDY, "--simulate", "--limit", "2"),
    ("report", STUDY, "--out", "report"),
)
COMPILED = """
import os; os.environ["NUMBA_OPT"] = "0"  # as fast as LLVM can
import numba
numba.config.DISABLE_JIT = 1
import pynndescent  # half of the work, for the neighbours of more texts than are ever explored
numba.config.DISABLE_JIT = 0
"""
INTERPRETED = 'import os; os.environ["NUMBA_DISABLE_JIT"] = "1"'  # UMAP: to compile it once is enough
DESCRIPTION = {"openapi": "3.0.3", "info": {"title": "empty", "version": "1"}, "paths": {}, "components": {}}
RATER = """
[[raters]]
id = "{model}"
provider = "local"
model = "{model}"
answer_format = "json"
attempts = 1
max_tokens = 4
"""
ASKED = """
id = "{vendor}"
model = "m"
provider = "{vendor}"
base_url = "http://127.0.0.1:9"
max_tokens = 9
"""
IN_TURN = """
import json, sys
from click.testing import CliRunner
from spa.cli import main
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(main, words)
    print(json.dumps([ended.exit_code, ended.stdout, ended.stderr]))
"""


def ended_well(words: Sequence[str], code: int, output: str, errors: str, fails_with: str) -> str:
    """Return what a command printed, which ended well or with a line in which these words stand."""
    typed = f"spa {' '.join(words)}: exit code {code}: {output}{errors}"
    assert code == (1 if fails_with else 0), typed
    assert fails_with in " ".join(errors.split()), typed
    return output


class Environment:
    """A virtual environment with the wheel and one extra, and an empty folder in which commands are typed."""

    def __init__(self, folder: Path, wheel: Path, extra: str, base: Path | None) -> None:
        """Install into a copy of ``base``, an environment with the wheel, or into a new one."""
        self.folder = folder
        self.python = str(folder / "env" / "bin" / "python")
        if base is None:
            self._uv("venv", "--python", sys.executable, "env")
        else:
            shutil.copytree(base, folder / "env", symlinks=True, copy_function=os.link)
        before = {found.name for found in self._packages()}
        constraints = str(ROOT / "constraints-test.txt")
        what = f"{wheel}[{extra}]" if extra else str(wheel)
        self._uv("pip", "install", "--python", self.python, "--constraint", constraints, what)
        for package in self._packages():
            if package.name not in before:
                take_compiled(Path(sysconfig.get_path("purelib")) / package.name, package)

    def spa(self, *words: str, fails_with: str = "") -> str:
        """Type a command; it ends well, or with one line in which these words stand."""
        done = subprocess.run(
            [self.python, "-I", "-c", "from spa.cli import run; run()", *words],
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return ended_well(words, done.returncode, done.stdout, done.stderr, fails_with)

    def spa_in_turn(self, *typed: tuple[Sequence[str], str], before: str = "") -> list[str]:
        """Type commands, each with words to fail with, in one process, which loads libraries once, after some code."""
        done = subprocess.run(
            [self.python, "-I", "-c", before + IN_TURN, json.dumps([words for words, _ in typed])],
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        ended = [json.loads(line) for line in done.stdout.splitlines()]
        return [ended_well(words, *each, fails) for (words, fails), each in zip(typed, ended, strict=True)]

    def studies(self) -> None:
        """Write a small study and build it, and write another one that metrics are for."""
        self.spa_in_turn((("init", "study"), ""), (("init", "corrections", "--example", "sottana"), ""))
        path = self.folder / STUDY
        text, times = re.subn(r"^exposure = \d+", f"exposure = {READ}", path.read_text(), flags=re.M)
        assert times == 1
        path.write_text(text)
        self.spa("build", STUDY)

    def run(self, code: str) -> str:
        """Run Python, and return all that it prints."""
        done = subprocess.run(
            [self.python, "-I", "-c", code], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def serve(self, *words: str) -> None:
        """Start a server, see that it answers, and stop it."""
        log, here = self.folder / "server.log", dict(os.environ)
        start(words, port=free_port(), environment=here, log=log, python=self.python, folder=self.folder).stop()

    def _packages(self) -> list[Path]:
        return [*self.folder.glob("env/lib/python*/site-packages/*")]

    def _uv(self, *words: str) -> None:
        subprocess.run([sys.executable, "-m", "uv", "--quiet", *words], cwd=self.folder, check=True)


def take_compiled(known: Path, package: Path) -> None:
    """Let a package have what this Python has compiled of it: where a source is not the same, it is compiled anew."""
    for folder, _, files in os.walk(known):
        if folder.endswith("__pycache__") and (package / Path(folder).relative_to(known).parent).is_dir():
            there = package / Path(folder).relative_to(known)
            there.mkdir(exist_ok=True)
            for name in files:
                with suppress(OSError):  # there already, or on another disk
                    os.link(Path(folder) / name, there / name)


def without_extras(env: Environment) -> None:
    """Play a study through, and say of every extra that it is missing, where it is."""
    env.spa_in_turn(*((words, "") for words in PLAYED))
    os.mkdir(env.folder / "study" / "model")
    add_rater(env, "model")
    env.spa("init", "heard", "--example", "speech")
    (env.folder / "openapi.json").write_text(json.dumps(DESCRIPTION))
    (env.folder / "ratings.xlsx").write_bytes(b"PK\x03\x04")
    for vendor in ("anthropic", "gemini"):
        (env.folder / f"{vendor}.toml").write_text(ASKED.format(vendor=vendor))
    missing = {
        "local": ("rate", STUDY, "--rater", "model"),
        "anthropic": ("rate", STUDY, "--rater", "anthropic.toml"),
        "gemini": ("rate", STUDY, "--rater", "gemini.toml"),
        "dashboard": ("dashboard", STUDY),
        "mturk": ("mturk", "serve", "lab.sqlite"),
        "postgres": ("build", STUDY, "--store", "postgresql://127.0.0.1:1/study"),
        "openapi": ("prolific", "emulate", "--openapi", "openapi.json"),
        "explanations": ("explanations", STUDY, "--out", "explored"),
        "metrics": ("metrics", "corrections/study.toml", "--metric", "rouge"),
        "errant": ("metrics", "corrections/study.toml", "--metric", "errant"),
        "cluster": ("report", "--json", "--ratings", "parts/*.csv", "--cluster", "local:1"),
        "xlsx": ("report", "--json", "--ratings", "ratings.xlsx"),
        "archive": ("bundle", STUDY, "--out", "study.zip"),
        "media": ("check", "heard/study.toml"),
        "slurm": ("report", "--json", "--ratings", "parts/*.csv", "--cluster", "slurm:jobs.toml", "--scratch", "."),
    }
    env.spa_in_turn(*((words, f'".[{extra}]"') for extra, words in missing.items()))


def local(env: Environment) -> None:
    """Let a folder, a GGUF file and a model whose tokeniser is a SentencePiece file answer."""
    study = env.folder / "study"
    tiny_models.tiny_llama(study / "folder")
    tiny_models.tiny_gguf(study / "file.gguf")
    tiny_models.sentencepiece_t5(study / "t5", study / "outputs.jsonl")
    models = ("folder", "file.gguf", "t5")
    for model in models:
        add_rater(env, model)
    for told in env.spa_in_turn(
        *((("rate", STUDY, "--rater", model, "--limit", "1", "--json"), "") for model in models)
    ):
        assert json.loads(told)["finished"] == 1, told


def anthropic(env: Environment, vendor: str = "anthropic") -> None:
    """Ask a server that is not there: the library loads."""
    (env.folder / f"{vendor}.toml").write_text(ASKED.format(vendor=vendor))
    env.spa("rate", STUDY, "--rater", f"{vendor}.toml", "--no-probe", fails_with="cannot be reached")


def gemini(env: Environment) -> None:
    """Ask a server that is not there: the library loads."""
    anthropic(env, "gemini")


def dashboard(env: Environment) -> None:
    """Open the dashboard."""
    env.serve("dashboard", STUDY, "--no-browser")


def mturk(env: Environment) -> None:
    """Make a requester's key, and serve endpoint and worker site."""
    env.spa("mturk", "keys", "add", "lab", "--store", "lab.sqlite")
    env.serve("mturk", "serve", "lab.sqlite")


def postgres(env: Environment) -> None:
    """Ask a server that is not there: the driver says so."""
    env.spa("build", STUDY, "--store", "postgresql://127.0.0.1:1/study", fails_with="refused")


def openapi(env: Environment) -> None:
    """Hold the emulated platform to a description."""
    (env.folder / "openapi.json").write_text(json.dumps(DESCRIPTION))
    env.serve("prolific", "emulate", "--openapi", "openapi.json")


def explanations(env: Environment, said: str = "terms of highest TF-IDF", numba: str = COMPILED) -> None:
    """Let a rater explain, and explore what it wrote."""
    (env.folder / "judge.toml").write_text('id = "judge"\nmodel = "simulated-rater"\nexplain = "after"\n')
    rated = ("rate", STUDY, "--rater", "judge.toml", "--simulate", "--limit", "1")  # enough texts for UMAP
    _, told = env.spa_in_turn((rated, ""), (("explanations", STUDY, "--out", "explored"), ""), before=numba)
    assert "UMAP of TF-IDF" in told, told
    assert said in told, told


def keywords(env: Environment) -> None:
    """Explore with the keywords of YAKE."""
    explanations(env, "those of YAKE", INTERPRETED)


def metrics(env: Environment) -> None:
    """Compute what the libraries of this extra give."""
    found = json.loads(env.spa("metrics", "corrections/study.toml", "--metric", "rouge,bleu,chrf,ter,sari", "--json"))
    assert len(found["corpus"]) == 8 * 3, found


def errant(env: Environment) -> None:
    """Ask for a spaCy model that is not there: the library loads."""
    env.spa("metrics", "corrections/study.toml", "--metric", "errant", fails_with="expected the spaCy model")


def cluster(env: Environment) -> None:
    """Let a process of its own rate."""
    env.spa("rate", STUDY, "--simulate", "--limit", "2", "--cluster", "local:1")


def slurm(env: Environment) -> None:
    """Ask for jobs by a file that is not there: the library loads."""
    said = env.run("from spa.cluster import open_cluster; open_cluster('slurm:jobs.toml').__enter__()")
    assert "jobs.toml: no such file" in said, said


def s3(env: Environment) -> None:
    """Load the file system."""
    said = env.run("from fsspec import filesystem; print(filesystem('s3', anon=True).protocol)")
    assert "s3a" in said, said


def xlsx(env: Environment) -> None:
    """Read a workbook."""
    env.run(
        "import openpyxl; book = openpyxl.Workbook(); add = book.active.append\n"
        "add(['annotator_id', 'item_id', 'system', 'score'])\n"
        "for n in range(24): add([f'a{n % 3}', f'i{n // 6}', 'xy'[n // 3 % 2], 1 + n % 5])\n"
        "book.save('ratings.xlsx')"
    )
    told = env.spa("report", "--json", "--ratings", "ratings.xlsx", "--no-verify")  # libraries of no extra do that
    assert json.loads(told)["ratings"]


def archive(env: Environment) -> None:
    """Write an archive and make its report again."""
    rows = (f"a{n % 3},i{n // 6},{'xy'[n // 3 % 2]},{1 + n % 5}\n" for n in range(24))
    (env.folder / "scores.csv").write_text("annotator_id,item_id,system,score\n" + "".join(rows))
    env.spa_in_turn((("bundle", "scores.csv", "--out", "scores.zip"), ""), (("replay", "scores.zip"), ""))


def media(env: Environment) -> None:
    """Copy the clips of a study, of which each has a length and a loudness."""
    env.spa_in_turn((("init", "heard", "--example", "speech"), ""), (("check", "heard/study.toml"), ""))


def add_rater(env: Environment, model: str) -> None:
    """Add a model of this machine to the study."""
    with (env.folder / STUDY).open("a") as study:
        study.write(RATER.format(model=model))


EXTRAS: dict[str, Callable[[Environment], None]] = {
    "anthropic": anthropic,
    "gemini": gemini,
    "dashboard": dashboard,
    "mturk": mturk,
    "postgres": postgres,
    "openapi": openapi,
    "metrics": metrics,
    "errant": errant,
    "local": local,
    "explanations": explanations,
    "keywords": keywords,
    "cluster": cluster,
    "slurm": slurm,
    "s3": s3,
    "xlsx": xlsx,
    "archive": archive,
    "media": media,
}
PART_OF = {"keywords": "explanations"}  # the extra brings the other


def main(arguments: Sequence[str]) -> None:
    """Try a wheel without extras, then with each by itself or with those that are named."""
    wheel = Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as base, ExitStack() as closing:
        closing.callback(subprocess.run, ["rm", "-rf", base], check=True)  # in half the time that Python takes
        studies = Path(base) / "studies"
        for extra in ("", *(arguments[1:] or EXTRAS)):
            folder = Path(base) / (extra or "plain")
            folder.mkdir()
            start_from = Path(base) / PART_OF.get(extra, "plain") / "env"
            env = Environment(folder, wheel, extra, start_from if start_from.exists() else None)
            if not studies.exists():
                env.studies()
                shutil.copytree(folder, studies, ignore=lambda inside, names: {"env"} & set(names))
            shutil.copytree(studies, folder, dirs_exist_ok=True)
            EXTRAS.get(extra, without_extras)(env)
            sys.stdout.write(f"{wheel.name}{f'[{extra}]' if extra else ''} works by itself\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
