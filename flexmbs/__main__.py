"""Command line. Numbers and plots are imported inside the commands, so that help comes at once.

Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 internal error, 2 bad input, 3 solver stopped
(partial results are kept), 4 machine (disk, memory, missing extra), 130 interrupted.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flexmbs.errors import FlexmbsError

INTERRUPTED = 130
HELP = "Flexible multibody dynamics: from a finite-element mesh to the plotted report of a flexible mechanism."


class Interrupt(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; where the plain KeyboardInterrupt strikes in an import, Python ignores the exit code at its end."""


class Commands(TyperGroup):
    """The commands; an interrupt (Ctrl-C, SIGTERM) ends them with its exit code and no further word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


PLAIN: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}
app = typer.Typer(name="flexmbs", cls=Commands, help=HELP, **PLAIN)
part = typer.Typer(help="Flexible bodies from finite-element meshes.", **PLAIN)
app.add_typer(part, name="preprocess")

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file (TOML).", show_default=False)]
SolutionFile = Annotated[Path, typer.Argument(metavar="SOLUTION", help="Solution file of flexmbs run.", show_default=False)]
PartFile = Annotated[Path, typer.Argument(metavar="PART", help="Part file (TOML).", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
AllowOutside = Annotated[bool, typer.Option("--allow-outside", help="Files outside the model's folder may be read.")]
AllowCode = Annotated[bool, typer.Option("--allow-code", help="Functions may be imported from the model's folder.")]


def _version(wanted: bool) -> None:
    if wanted:
        from flexmbs import __version__

        typer.echo(f"flexmbs {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    if debug:
        os.environ["FLEXMBS_DEBUG"] = "1"


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("flexmbs-demo"),
) -> None:
    """Mesh to report: a two-link flexible arm, checked against the numbers of a finer run."""
    from flexmbs.command.demo import demo as command

    raise typer.Exit(command(folder))


@app.command()
def check(model: ModelFile, as_json: AsJson = False, allow_outside: AllowOutside = False, allow_code: AllowCode = False) -> None:
    """Bodies, freedoms, loops and everything wrong with a model."""
    from flexmbs.command.check import check as command

    raise typer.Exit(command(model, as_json=as_json, allow_outside=allow_outside, allow_code=allow_code))


@app.command()
def run(
    model: ModelFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Solution file; default: MODEL with .h5.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the report (HTML) here.")] = None,
    t_end: Annotated[float | None, typer.Option("--t-end", help="End time, s.")] = None,
    step: Annotated[float | None, typer.Option("--step", help="Fixed step, s; without it steps are error-controlled.")] = None,
    output_step: Annotated[float | None, typer.Option("--output-step", help="Time between outputs, s.")] = None,
    formalism: Annotated[str | None, typer.Option("--formalism", help="See flexmbs list formalisms.")] = None,
    coordinates: Annotated[str | None, typer.Option("--coordinates", help="joint or absolute.")] = None,
    integrator: Annotated[str | None, typer.Option("--integrator", help="See flexmbs list integrators.")] = None,
    stabilization: Annotated[str | None, typer.Option("--stabilization", help="none, baumgarte or projection.")] = None,
    rho_inf: Annotated[float | None, typer.Option("--rho-inf", help="Spectral radius of generalized-α, 0 … 1.")] = None,
    rtol: Annotated[float | None, typer.Option("--rtol", help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option("--atol", help="Absolute tolerance.")] = None,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Simulate a model; options replace those of its [run] table."""
    from flexmbs.command.run import run as command

    given = {
        "t_end": t_end, "step": step, "output_step": output_step, "formalism": formalism, "coordinates": coordinates,
        "integrator": integrator, "stabilization": stabilization, "rho_inf": rho_inf, "rtol": rtol, "atol": atol,
    }  # fmt: skip
    chosen = {key: value for key, value in given.items() if value is not None}
    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    raise typer.Exit(command(model, chosen, output=output, report=report, as_json=as_json, access=access))


@app.command()
def compare(
    model: ModelFile,
    t_end: Annotated[float | None, typer.Option("--t-end", help="End time, s; default: that of the [run] table.")] = None,
    step: Annotated[float | None, typer.Option("--step", help="Fixed step, s; without it steps are error-controlled.")] = None,
    formalism: Annotated[list[str] | None, typer.Option("--formalism", help="Only this one; may be repeated.")] = None,
    integrator: Annotated[list[str] | None, typer.Option("--integrator", help="Only this one; may be repeated.")] = None,
    rtol: Annotated[float, typer.Option("--rtol", help="Relative tolerance.")] = 1e-7,
    atol: Annotated[float, typer.Option("--atol", help="Absolute tolerance.")] = 1e-9,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a model under all formalisms: agreement, energy error, drift, time."""
    from flexmbs.command.compare import compare as command

    options = {"t_end": t_end, "step": step, "formalisms": formalism, "integrators": integrator, "rtol": rtol, "atol": atol}
    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    raise typer.Exit(command(model, options, as_json=as_json, access=access))


@app.command()
def report(
    solution: SolutionFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="HTML file; default: SOLUTION with .html.")] = None,
) -> None:
    """Report of a solution: one HTML page, and its key numbers as JSON beside it."""
    from flexmbs.command.report import report as command

    command(solution, output)


@app.command()
def export(
    solution: SolutionFile,
    folder: Annotated[Path | None, typer.Option("--output", "-o", help="Folder; default: SOLUTION without its ending.")] = None,
    csv: Annotated[bool, typer.Option("--csv/--no-csv", help="Tables of frames, joints, drives, energy.")] = True,
    vtu: Annotated[bool, typer.Option("--vtu/--no-vtu", help="Deformed flexible bodies for ParaView.")] = False,
    instants: Annotated[int, typer.Option("--instants", min=1, help="Number of instants of the VTU files.")] = 50,
) -> None:
    """Tables (CSV) and deformed bodies (VTU) of a solution."""
    from flexmbs.command.export import export as command

    command(solution, folder, csv=csv, vtu=vtu, instants=instants)


@app.command(name="list")
def list_kinds(
    what: Annotated[str | None, typer.Argument(help="bodies, joints, motions, forces, laws, formalisms, integrators …")] = None,
    as_json: AsJson = False,
) -> None:
    """Kinds of everything that a model can have and a run can use."""
    from flexmbs.command.listing import listing as command

    command(what, as_json=as_json)


@app.command()
def warmup() -> None:
    """Compile everything ahead, once per version."""
    from flexmbs.command.warmup import warmup as command

    command()


@part.command("reduce")
def reduce_part(
    file: PartFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Flexible body; default: PART with .h5.")] = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Reduce a meshed part to a flexible body; PART names mesh, unit, material, interfaces, method, reference, damping."""
    from flexmbs.command.part import reduce_file as command

    command(file, output, allow_outside=allow_outside)


@part.command("inspect")
def inspect_body(
    body: Annotated[Path, typer.Argument(metavar="BODY", help="Flexible body (HDF5).", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Mass, frames, modes, origin and checks of a flexible body."""
    from flexmbs.command.part import inspect as command

    raise typer.Exit(command(body, as_json=as_json))


def _tell(*lines: str) -> None:
    for line in lines:
        print(f"error: {line}", file=sys.stderr)


def _failed(error: Exception) -> int:
    """Message and exit code of an exception; a traceback where it helps: of a user's function, or when asked for."""
    import traceback

    if os.environ.get("FLEXMBS_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, FlexmbsError):
        _tell(*str(error).splitlines())
        return error.exit_code
    if isinstance(error, MemoryError):
        _tell("the memory does not suffice; use fewer modes, fewer outputs or a larger machine")
        return 4
    notes = [note for note in getattr(error, "__notes__", []) if note.startswith("in the function of")]
    if notes:
        if not os.environ.get("FLEXMBS_DEBUG"):
            traceback.print_exception(error)
        _tell(f"{type(error).__name__} {notes[0]}: {error}")
        return 2
    _tell(f"internal error: {type(error).__name__}: {error} (flexmbs --debug … shows where)")
    return 1


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    stops: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stops.append(number)
        raise Interrupt

    kept = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        app(arguments, prog_name="flexmbs")
    except (SystemExit, Exception, KeyboardInterrupt) as error:
        if stops:  # wherever it struck, and whatever a library made of it
            print("interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
        if isinstance(error, Exception):
            sys.exit(_failed(error))
        raise
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
