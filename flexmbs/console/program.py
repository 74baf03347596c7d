"""Execution of a command line: options, interrupts, exit codes.

Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 internal error, 2 bad
input, 3 solver stopped (partial results are kept), 4 machine (disk, memory, missing extra), 130
interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flexmbs.console import interrupts
from flexmbs.console.messages import discard, note
from flexmbs.errors import (
    AssemblyWarning,
    AuditWarning,
    FlexmbsError,
    InputError,
    ModelWarning,
    SolverError,
)

# allocations between two garbage collections; the default starts 340 of them during imports
COLLECT = 50_000


class Interrupt(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    A subclass, because Python replaces the exit code after a plain KeyboardInterrupt during an
    import.
    """


class Commands(TyperGroup):
    """Group of commands whose help shows complete first paragraphs.

    An interrupt (Ctrl-C, SIGTERM) ends it with its exit code and no further message.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands with the first paragraph of their help."""
        rows = [
            (name, _first_paragraph(command.help))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; interrupts become exit codes, sys.exit of user functions an error."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(interrupts.exit_code()) from None
        except SystemExit as error:
            # commands end with typer's Exit: a SystemExit comes from user functions of the model
            raise SolverError(
                f"a function of the model called sys.exit({error.code!r}); let it raise "
                "an exception"
            ) from error


def _first_paragraph(text: str | None) -> str:
    """First paragraph of a text on one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


PLAIN: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}


def _version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        from flexmbs import __version__

        typer.echo(f"flexmbs {__version__}")
        raise typer.Exit()


def common_options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Accept the options before the command."""
    if debug:
        os.environ["FLEXMBS_DEBUG"] = "1"


def _print_error(*lines: str) -> None:
    """Print lines to stderr, each after "error:"."""
    for line in lines:
        note(f"error: {line}")


def _shown_as_lines(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Function that shows warnings of flexmbs in one line without their source location.

    ``otherwise`` shows other warnings.
    """

    def show(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        """Print a warning of flexmbs as one line to stderr; others as usual."""
        if issubclass(category, AssemblyWarning | AuditWarning | ModelWarning):
            note(f"warning: {message}")
        else:
            otherwise(message, category, *rest, **named)

    return show


def _failed(error: Exception, name: str) -> int:
    """Print the message of an exception and return its exit code.

    With a traceback for user functions, or on request.
    """
    import traceback

    if os.environ.get("FLEXMBS_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, FlexmbsError):
        _print_error(*str(error).splitlines())
        return error.exit_code
    notes = [
        note for note in getattr(error, "__notes__", []) if note.startswith("in the function of")
    ]
    if notes:
        if not os.environ.get("FLEXMBS_DEBUG"):
            traceback.print_exception(error)
        _print_error(f"{type(error).__name__} {notes[0]}: {error}")
        return (
            InputError.exit_code
            if getattr(error, "solution", None) is None
            else SolverError.exit_code
        )
    if isinstance(error, MemoryError):
        _print_error("insufficient memory; use fewer modes, fewer outputs or a larger machine")
        return 4
    if isinstance(error, OSError):
        remedy = "check the file, its permissions or the free space"
        if not (item := error.filename):
            item = "the results"
            try:
                os.getcwd()
            except OSError:
                item, remedy = "the current folder", "change to a folder that exists"
        _print_error(f"{item}: {error.strerror or error}; {remedy}")
        return 4
    _print_error(
        f"internal error: {type(error).__name__}: {error} ({name} --debug … shows the traceback)"
    )
    return 1


def _degrade_characters() -> None:
    """Replace characters that the terminal or pipe cannot encode by question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not its replacement in a test or a notebook
            stream.reconfigure(errors="replace")


def _flush(name: str) -> None:
    """Flush the results; exit with code 4 if that fails, for example on a full disk."""
    try:
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        sys.exit(_failed(error, name))


def _silent(lost: "sys.UnraisableHookArgs") -> None:
    """Handler that ignores exceptions raised in destructors after an interrupt."""


def run(app: typer.Typer, name: str, arguments: list[str] | None) -> None:
    """Run a command line and exit with its code."""
    gc.set_threshold(COLLECT)
    # a collection takes longer than validating a model
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    interrupts.received.clear()
    interrupts.heeded.clear()
    _degrade_characters()

    def stop(number: int, frame: FrameType | None) -> None:
        """Signal handler: record the signal and raise `Interrupt`, unless at a border to C."""
        interrupts.received.append(number)
        if not interrupts.at_border(frame):
            raise Interrupt

    # by a destructor or a callback of a library; loops read ``received``
    def dropped(lost: "sys.UnraisableHookArgs") -> None:
        """Ignore exceptions in destructors caused by an interrupt."""
        if not isinstance(lost.exc_value, Interrupt):
            hook(lost)

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    showing, warnings.showwarning = warnings.showwarning, _shown_as_lines(warnings.showwarning)
    kept = {number: signal.signal(number, stop) for number in interrupts.ending_signals()}
    try:
        app(arguments, prog_name=name)
    except (SystemExit, Exception, KeyboardInterrupt) as error:
        if interrupts.received:  # wherever it occurred, and however a library converted it
            note("interrupted")
            hook = _silent  # until the end of the program
            sys.exit(interrupts.exit_code())
        if isinstance(error, Exception):
            sys.exit(_failed(error, name))
        _flush(name)
        raise
    finally:
        sys.unraisablehook = hook
        warnings.showwarning = showing
        interrupts.received.clear()
        for number, handler in kept.items():
            signal.signal(number, handler)
