"""Command line.

NumPy and plotting are imported inside the commands, so that help appears immediately.
"""

import enum
from pathlib import Path
from typing import Annotated

import typer

from flexmbs.console.program import PLAIN, Commands, common_options
from flexmbs.console.program import run as run_program
from preprocess.command_line import app as preprocess

HELP = (
    "Flexible multibody dynamics: from a finite-element mesh to the plotted report of a "
    "flexible mechanism."
)

app = typer.Typer(name="flexmbs", cls=Commands, help=HELP, **PLAIN)
app.callback()(common_options)
app.add_typer(preprocess, name="preprocess")

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model (TOML, URDF, MJCF, SDF).", show_default=False)
]
SolutionFile = Annotated[
    Path,
    typer.Argument(metavar="SOLUTION", help="Solution file of flexmbs run.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Audit = Annotated[str | None, typer.Option("--audit", help="full, standard or none.")]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Files outside the model's folder may be read.")
]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Functions that the model names may be imported and run."),
]


class Machine(enum.StrEnum):
    """Machines of the demo."""

    ARM = "arm"
    ROBOT = "robot"


@app.command()
def demo(
    machine: Annotated[
        Machine, typer.Argument(help="Arm of two flexible links, or robot of six axes.")
    ] = Machine.ARM,
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path(
        "flexmbs-demo"
    ),
) -> None:
    """Run a flexible arm from mesh to report, checked against a finer run."""
    from flexmbs.command.demo import demo as command

    raise typer.Exit(command(machine.value, folder))


@app.command()
def examples(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path(
        "meshes"
    ),
) -> None:
    """Write the meshes, part files and CAD files of the documentation."""
    from flexmbs.command.examples import examples as command

    command(folder)


@app.command()
def check(
    model: ModelFile,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Bodies, degrees of freedom, loops and problems of a model."""
    from flexmbs.command.check import check as command

    raise typer.Exit(
        command(model, as_json=as_json, allow_outside=allow_outside, allow_code=allow_code)
    )


@app.command()
def run(
    model: ModelFile,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Solution file, or folder/ with checkpoints of the run; default: MODEL with .h5.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write the report (HTML, PDF) here.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in the folder from its checkpoint.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Continue although model, part or version differ.")
    ] = False,
    checkpoint: Annotated[
        float, typer.Option("--checkpoint", help="Time between checkpoints in the folder, s.")
    ] = 30.0,
    t_end: Annotated[float | None, typer.Option("--t-end", help="End time, s.")] = None,
    step: Annotated[
        float | None,
        typer.Option("--step", help="Fixed step, s; without it steps are error-controlled."),
    ] = None,
    output_step: Annotated[
        float | None, typer.Option("--output-step", help="Time between outputs, s.")
    ] = None,
    formalism: Annotated[
        str | None, typer.Option("--formalism", help="See flexmbs list formalisms.")
    ] = None,
    coordinates: Annotated[
        str | None, typer.Option("--coordinates", help="joint, absolute or rheonomic.")
    ] = None,
    integrator: Annotated[
        str | None, typer.Option("--integrator", help="See flexmbs list integrators.")
    ] = None,
    stabilization: Annotated[
        str | None, typer.Option("--stabilization", help="none, baumgarte or projection.")
    ] = None,
    rho_inf: Annotated[
        float | None, typer.Option("--rho-inf", help="Spectral radius of generalized-α, 0 … 1.")
    ] = None,
    rtol: Annotated[float | None, typer.Option("--rtol", help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option("--atol", help="Absolute tolerance.")] = None,
    audit: Audit = None,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Simulate a model; options override its [run] table."""
    from flexmbs.command.run import RunOutputs
    from flexmbs.command.run import run as command

    given = {
        "t_end": t_end,
        "step": step,
        "output_step": output_step,
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
        "stabilization": stabilization,
        "rho_inf": rho_inf,
        "rtol": rtol,
        "atol": atol,
        "audit": audit,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    kept = RunOutputs(output, resume, force, checkpoint, report)
    raise typer.Exit(command(model, chosen, kept, as_json=as_json, access=access))


@app.command()
def watch(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder of flexmbs run -o FOLDER/.", show_default=False
        ),
    ],
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port on this machine; 0: any free port."),
    ] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page of a running simulation to browsers on this machine."""
    from flexmbs.command.watch import watch as command

    command(folder, port, browser=browser)


@app.command()
def studio(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model (TOML).", show_default=False)
    ],
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port on this machine; 0: any free port."),
    ] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Edit a model on a local page: change its numbers, check, run, compare curves, save.

    The page is served to browsers on this machine only, under the address that is printed. Only
    the model file is written, and only by Save; its comments and layout stay.
    """
    from flexmbs.command.studio import studio as command

    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    command(model, port, browser=browser, access=access)


@app.command()
def sweep(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="Study file (TOML).", show_default=False)
    ],
    folder: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the results; default: STUDY without .toml."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Run the cases missing in the folder.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="With --resume: also repeat the cases that failed.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --resume: although model, outputs or versions differ."),
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the solution of each case.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write the page of the results (HTML) here.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="Number of processes; default: number of processors."
        ),
    ] = None,
    threads: Annotated[
        bool, typer.Option("--threads", help="Use threads instead of processes.")
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a dask.distributed scheduler.")
    ] = None,
    audit: Audit = None,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a model with many parameter values in parallel; completed cases are never repeated."""
    from flexmbs.command.sweep import SweepOptions
    from flexmbs.command.sweep import sweep as command

    how = SweepOptions(resume, retry, force, keep, threads, workers, scheduler, report, audit)
    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    raise typer.Exit(command(study, folder, how, as_json=as_json, access=access))


@app.command()
def compare(
    model: ModelFile,
    t_end: Annotated[
        float | None, typer.Option("--t-end", help="End time, s; default: from the [run] table.")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option("--step", help="Fixed step, s; without it steps are error-controlled."),
    ] = None,
    formalism: Annotated[
        list[str] | None, typer.Option("--formalism", help="Only this one; may be repeated.")
    ] = None,
    integrator: Annotated[
        list[str] | None, typer.Option("--integrator", help="Only this one; may be repeated.")
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Implicit integration with every formalism, not only the first one."
        ),
    ] = False,
    rtol: Annotated[float, typer.Option("--rtol", help="Relative tolerance.")] = 1e-7,
    atol: Annotated[float, typer.Option("--atol", help="Absolute tolerance.")] = 1e-9,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a model with all formalisms: agreement, energy error, drift and time, one row each.

    Compiling for the first row takes up to a minute. All formalisms run with explicit steps, the
    first one also with implicit steps.
    """
    from flexmbs.command.compare import compare as command

    options = {
        "t_end": t_end,
        "step": step,
        "formalisms": formalism,
        "integrators": integrator,
        "rtol": rtol,
        "atol": atol,
    }
    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    raise typer.Exit(command(model, options, every=every, as_json=as_json, access=access))


@app.command()
def report(
    solutions: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOLUTION [OTHER]",
            help="Solution file of flexmbs run, or two.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="HTML or PDF file; default: SOLUTION with .html."),
    ] = None,
) -> None:
    """Report of a solution: an HTML page or PDF document, and its key numbers as JSON.

    For two solutions, their comparison on one page.
    """
    from flexmbs.command.report import report as command

    command(solutions, output)


@app.command()
def view(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Model (TOML), robot (URDF, MJCF, SDF), solution or flexible body (HDF5), CAD file "
            "(STEP, IGES, BREP) or mesh.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="HTML file; default: FILE with .view.html."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    unit: Annotated[
        str | None, typer.Option("--unit", help="Unit of a mesh, such as mm; default: m.")
    ] = None,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Three-dimensional page of a model, robot, solution, flexible body, CAD file or mesh.

    The page of a CAD file names each face with the line that selects it as an interface.
    """
    from flexmbs.command.view import view as command

    command(
        file,
        output,
        browser=browser,
        unit=unit,
        access={"allow_outside": allow_outside, "allow_code": allow_code},
    )


@app.command()
def export(
    solution: SolutionFile,
    folder: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder; default: SOLUTION without its ending."),
    ] = None,
    csv: Annotated[
        bool,
        typer.Option("--csv/--no-csv", help="Tables of frames, joints, drives, energy, hot spots."),
    ] = True,
    mat: Annotated[
        bool, typer.Option("--mat/--no-mat", help="A MAT-file with all arrays, names and units.")
    ] = False,
    vtu: Annotated[
        bool,
        typer.Option(
            "--vtu/--no-vtu", help="Deformed flexible bodies with their stress for ParaView."
        ),
    ] = False,
    vtkhdf: Annotated[
        bool, typer.Option("--vtkhdf/--no-vtkhdf", help="All bodies with their motion in one file.")
    ] = False,
    gltf: Annotated[
        bool,
        typer.Option(
            "--gltf/--no-gltf", help="An animation of all bodies (GLB) for other viewers."
        ),
    ] = False,
    instants: Annotated[
        int, typer.Option("--instants", min=1, help="Number of instants of VTU, VTKHDF and glTF.")
    ] = 50,
    at: Annotated[
        list[float] | None, typer.Option("--at", help="Time of an instant, s; may be repeated.")
    ] = None,
) -> None:
    """Tables (CSV, MAT) and moving, stressed bodies (VTU, VTKHDF, glTF) of a solution."""
    from flexmbs.command.export import ExportOptions
    from flexmbs.command.export import export as command

    command(solution, folder, ExportOptions(csv, mat, vtu, vtkhdf, gltf, instants, at or []))


@app.command()
def fmu(
    model: ModelFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="FMU file; default: MODEL with .fmu.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--in", help="An input, e.g. push=effort,rail; may be repeated."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--out", help="An output, e.g. x=coordinate,rail; may be repeated."),
    ] = None,
    t_end: Annotated[
        float | None, typer.Option("--t-end", help="Latest time that can be reached, s.")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option("--step", help="Fixed step, s; without it steps are error-controlled."),
    ] = None,
    communication_step: Annotated[
        float | None, typer.Option("--communication-step", help="Suggested communication step, s.")
    ] = None,
    version: Annotated[int, typer.Option("--fmi", help="Version of FMI, 3 or 2.")] = 3,
    derivatives: Annotated[
        bool | None,
        typer.Option(
            "--derivatives/--no-derivatives",
            help="Directional derivatives; default: where possible.",
        ),
    ] = None,
    allow_outside: AllowOutside = False,
    allow_code: AllowCode = False,
) -> None:
    """Export a model as an FMU for co-simulation; it requires Python with flexmbs."""
    from flexmbs.command.fmu import fmu as command

    options = {
        "t_end": t_end,
        "step": step,
        "communication_step": communication_step,
        "version": version,
    }
    options["derivatives"] = derivatives
    access = {"allow_outside": allow_outside, "allow_code": allow_code}
    command(model, output, (inputs or [], outputs or []), options, access)


@app.command(name="list")
def list_kinds(
    what: Annotated[
        str | None,
        typer.Argument(help="A family (bodies, joints, forces, laws, integrators …) or a kind."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List kinds of items, formalisms and integrators.

    For one kind (e.g. revolute), its keys with units and an example.
    """
    from flexmbs.command.listing import listing as command

    command(what, as_json=as_json)


@app.command()
def schema(
    what: Annotated[
        str, typer.Argument(help="model, part or sweep: the type of TOML file.")
    ] = "model",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the schema here instead of printing it."),
    ] = None,
) -> None:
    """JSON schema of model, part or study files, for completion and checks in editors."""
    from flexmbs.command.schema import schema as command

    command(what, output)


@app.command()
def warmup() -> None:
    """Compile all kernels ahead of time, once per version."""
    from flexmbs.command.warmup import warmup as command

    command()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    run_program(app, "flexmbs", arguments)
