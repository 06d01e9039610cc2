"""Manners of the command line: mistyped words, text in pipes, help."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from threading import Condition, Timer
from threading import enumerate as enumerate_threads
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from spa.command_groups import MistypedCommand
from spa.commands import terminal
from spa.commands.options import study_argument
from spa.commands.terminal import Stages, console, progress_bar
from spa.media.audio import AUDIO
from spa.media.medium import NeutralCopy
from spa.study.materials import NeutralCopies
from spa.waiting import SHOWN
from tests import patience
from tests.parsed_commands import every_command
from tests.spa.study_files import write_study
from tests.warm import WarmProcess

CHECK = ["check", "--help"]
LONG = "a system whose name is as long as a sentence and has a comma, " * 3


def spa(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


class Terminal(io.StringIO):
    """A stream that says it is one, and lets threads wait for what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self._written = Condition()

    def write(self, text: str) -> int:
        """Write, and say so."""
        with self._written:
            self._written.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        """Wait until a text was written."""
        with self._written:
            assert self._written.wait_for(lambda: text in self.getvalue(), patience.SECONDS)

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("reprot", "no such command 'reprot' (did you mean report?); see `spa --help`"),
        ("nonsense", "no such command 'nonsense'; see `spa --help`"),
        ("prolific publsh", "no such command 'publsh' (did you mean publish?); see `spa prolific --help`"),
        ("mturk keys lst", "no such command 'lst' (did you mean list?); see `spa mturk keys --help`"),
        ("check --jsn", "no such option '--jsn' (did you mean --json?); see `spa check --help`"),
        ("--versio", "no such option '--versio' (did you mean --version?); see `spa --help`"),
        ("init", "missing argument 'FOLDER'; see `spa init --help`"),
        (
            "serve --port web",
            "invalid value for '--port': 'web' is not a whole number; see `spa serve --help`",
        ),
        ("plan --power high", "invalid value for '--power': 'high' is not a number; see `spa plan --help`"),
        ("heds", "missing option '--out'; see `spa heds --help`"),
        (
            "export --out s3://bucket/tables",
            "invalid value for '--out': 's3://bucket/tables' is an address, and results are written on this machine; "
            "see `spa export --help`",
        ),
        ("forget", "expected one of --person, --submission, --older-than and --simulated; see `spa forget --help`"),
        ("help reprot", "no such command 'reprot' (did you mean report?); see `spa --help`"),
    ],
)
def test_what_is_mistyped_is_one_line_like_other_mistakes(words: str, line: str) -> None:
    found = spa(*words.split())
    assert (found.exit_code, found.stdout, found.stderr) == (2, "", f"spa: {line}\n")


def test_options_that_a_command_needs_are_asked_for() -> None:
    commands = dict(every_command())
    needed = [(name, option) for name, command in commands.items() for option in command.params if option.required]
    assert len(needed) > 20
    for name, option in needed:
        context = click.Context(commands[name])
        with pytest.raises(click.MissingParameter):
            option.handle_parse_result(context, {}, [])


def test_a_missing_package_of_an_extra_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Publishing(ModuleType):
        """Stands for a module that imports what is not installed."""

        def __getattr__(self, name: str) -> object:
            raise ModuleNotFoundError(name="botocore.exceptions")

    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setitem(sys.modules, "mturk.publishing", Publishing("mturk.publishing"))
    found = spa("mturk", "plan", "my-study")
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr == (
        "spa: spa mturk needs the package botocore: "
        'pip install ".[mturk]" in the checkout, or "spa-eval[mturk]" from an index\n'
    )


def test_help_is_shown_in_every_way_that_people_try() -> None:
    # in a process of its own: click keeps the help option of a command that was first called alone
    short, asked, helped = (
        WarmProcess(words).communicate()[0] for words in (["check", "-h"], CHECK, ["help", "check"])
    )
    assert short == asked == helped
    assert "-h, --help" in asked
    assert spa("help").stdout == spa("--help").stdout
    nothing = spa()
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert nothing.stderr == spa("--help").stdout
    assert spa("--version").stdout.startswith("spa, version ")


def test_every_command_has_an_example_and_says_what_it_does() -> None:
    assert [name for name, command in every_command() if "Example" not in (command.epilog or "")] == []
    assert [name for name, command in every_command() if not command.help] == []


@pytest.mark.parametrize(
    "words", [("check",), ("status",), ("plan", "--simulations", "0"), ("metrics", "--metric", "length")]
)
def test_text_in_a_pipe_is_neither_folded_nor_padded(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, head=f'id = "small"\ntitle = "{LONG.strip()}"\n')
    spa("build")
    spa("simulate", "--annotators", 1)
    found = spa(*words)
    assert found.exit_code == 0, found.stderr
    lines = found.stdout.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert words != ("check",) or lines[0].startswith(LONG.strip())


def test_help_in_a_pipe_has_a_line_for_each_option() -> None:
    lines = spa("report", "--help").stdout.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    command = dict(every_command())["spa report"]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and option.help:
            words = option.help.partition("  [")[0].strip()
            assert any(words in line for line in lines), option.opts[0]


def test_table_rows_in_pipe_and_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a table is one line in a pipe and folded on a terminal."""
    from rich.table import Table

    shown = []
    for stream in (io.StringIO(), Terminal()):
        table = Table(box=None, show_header=False)
        table.add_row("a word", LONG)
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("COLUMNS", "80")
        console().print(table)
        shown.append(stream.getvalue())
    assert shown[0] == f" a word  {LONG.rstrip()}\n"
    assert len(shown[1].splitlines()) > 2
    assert all(len(line) == 80 for line in shown[1].splitlines())


def test_progress_is_for_a_terminal_and_never_on_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_bar(range(3), length=3, label="counting") as steps:
        assert list(steps) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(length=3, label="counting") as bar:
        bar.update(3)
    assert "counting" in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_stages_for_a_terminal_that_waits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done now stands on a terminal's stderr once a command has taken its time, and is taken away again."""
    with Stages() as told:
        told("reading the answers")
    assert capsys.readouterr() == ("", "")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Stages() as told:
        told("reading the answers")
    assert stream.getvalue() == ""  # it was done at once
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with Stages() as told:
        told("reading the answers")
        stream.wait_for("reading the answers")
        told("writing the report")
    assert "writing the report" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K")  # the line is cleared
    assert capsys.readouterr().out == ""


def test_copies_of_clips_are_shown_while_they_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever command reads a study, within what it shows itself; afterwards nothing is."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    assert AUDIO.files is not None
    files = AUDIO.files

    def copied(content: bytes) -> NeutralCopy:
        stream.wait_for("copying clips: 0 of 2")
        return NeutralCopy(content=content, suffix=".wav")

    @click.command
    @study_argument
    def read(study: Path) -> None:
        with Stages() as told:
            told("reading the study")
            NeutralCopies(tmp_path).make([*tmp_path.glob("*.wav")], replace(files, neutral=copied))
            told("writing the report")

    for name in ("study.toml", "one.wav", "two.wav"):
        (tmp_path / name).write_text(name)
    read.main([str(tmp_path / "study.toml")], standalone_mode=False)
    shown = stream.getvalue()
    assert shown.index("copying clips: 0 of 2") < shown.rindex("writing the report")
    assert len([*(tmp_path / ".spa-copies").glob("*.wav")]) == 2
    with SHOWN.get()() as told:
        told("nothing")
    assert stream.getvalue() == shown


def test_stages_end_with_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake takes the line away too, and no thread goes on."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(terminal, "PATIENCE", 3600.0)

    def fail() -> None:
        with Stages() as told:
            told("reading the answers")
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    waiting = [thread for thread in enumerate_threads() if isinstance(thread, Timer)]
    assert all(thread.finished.is_set() for thread in waiting)
    assert stream.getvalue() == ""


def test_a_place_in_front_of_a_message_keeps_its_capitals() -> None:
    """Sentences of click begin small, names of files as they are."""
    message = io.StringIO()
    MistypedCommand("Batch_1_results.csv: expected tables, got others.").show(message)
    assert message.getvalue() == "spa: Batch_1_results.csv: expected tables, got others\n"
    message = io.StringIO()
    MistypedCommand("Missing argument.").show(message)
    assert message.getvalue() == "spa: missing argument\n"
