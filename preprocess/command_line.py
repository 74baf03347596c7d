"""Command line of the preprocessor.

NumPy and plots are imported inside the commands, so that --help is fast.
"""

from pathlib import Path
from typing import Annotated

import typer

from flexmbs.console.program import PLAIN, Commands, common_options
from flexmbs.console.program import run as run_program

HELP = (
    "Flexible bodies from finite-element meshes and matrices: reduce, inspect, compare, "
    "convert, report, list materials."
)

app = typer.Typer(name="preprocess", cls=Commands, help=HELP, **PLAIN)
app.callback()(common_options)

PartFile = Annotated[
    Path,
    typer.Argument(
        metavar="PART", help="Part file (TOML), a CAD file, or a deck.", show_default=False
    ),
]
BodyFile = Annotated[
    Path, typer.Argument(metavar="BODY", help="Flexible body (HDF5).", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Allow files outside the part's folder.")
]
Material = Annotated[
    str | None,
    typer.Option("--material", help="Of a CAD file or deck: name, or 'E = …, nu = …, rho = …'."),
]
Interfaces = Annotated[
    list[str] | None,
    typer.Option(
        "--interface", help="NAME=FACE: hub=7, or hub='hole = \"10 mm\"'; of a deck NAME=SET."
    ),
]
AveragedFaces = Annotated[
    bool, typer.Option("--averaged", help="Interfaces that do not stiffen their faces.")
]
Size = Annotated[
    str | None,
    typer.Option("--size", help="Largest elements, as 4mm; default: 1/20 of the diagonal."),
]
Refine = Annotated[
    list[str] | None,
    typer.Option("--refine", help='Smaller elements: \'size = "1 mm", hole = "10 mm"\'.'),
]
Solid = Annotated[
    str | None, typer.Option("--solid", help="Number or name of one of several solids, or all.")
]
AllowLarge = Annotated[
    bool, typer.Option("--allow-large", help="Continue although the memory may be insufficient.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Reduce again although the inputs are unchanged.")
]


@app.command("reduce")
def reduce_part(
    file: PartFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Flexible body; default: PART with .h5.")
    ] = None,
    force: Force = False,
    allow_outside: AllowOutside = False,
    allow_large: AllowLarge = False,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="File that keeps the factor of the stiffness.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option("--engine", help="serial; petsc or slepc: in several processes, by mpirun."),
    ] = "serial",
    material: Material = None,
    interface: Interfaces = None,
    averaged: AveragedFaces = False,
    reference: Annotated[
        str | None, typer.Option("--reference", help="Body frame; default: first interface.")
    ] = None,
    size: Size = None,
    refine: Refine = None,
    solid: Solid = None,
    modes: Annotated[
        int | None, typer.Option("--modes", min=0, help="Fixed-interface modes; default: 12.")
    ] = None,
    damping: Annotated[
        float | None, typer.Option("--damping", help="Damping ratio of all modes; default: 0.")
    ] = None,
    all_spiders: Annotated[
        bool,
        typer.Option("--all-spiders", help="Interfaces at the centres of all spiders of a deck."),
    ] = False,
    unit: Annotated[
        str | None, typer.Option("--unit", help="Unit of a deck: mm, mm-t-s, …; file: its own.")
    ] = None,
    mass: Annotated[
        str | None,
        typer.Option("--mass", help="Mass matrix: consistent (default), lumped, deck: its own."),
    ] = None,
) -> None:
    """Reduce a meshed part to a flexible body.

    PART names mesh, unit, material, interfaces, method, reference, damping. For a CAD file (STEP,
    IGES, BREP) or a deck (Nastran, Abaqus, Ansys, …) options give them; preprocess inspect lists
    faces, spiders and sets.
    """
    from preprocess.command.reduce import CadPartOptions
    from preprocess.command.reduce import reduce_file as command

    command(
        file,
        output,
        engine=engine,
        force=force,
        allow_outside=allow_outside,
        allow_large=allow_large,
        keep=keep,
        given=CadPartOptions(
            material,
            tuple(interface or ()),
            averaged,
            reference,
            size,
            tuple(refine or ()),
            solid,
            modes,
            damping,
            all_spiders,
            unit,
            mass,
        ),
    )


@app.command("mesh")
def mesh_cad_file(
    file: Annotated[
        Path, typer.Argument(metavar="CAD", help="STEP, IGES or BREP file.", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Mesh; default: CAD with .msh.")
    ] = None,
    size: Size = None,
    refine: Refine = None,
    order: Annotated[
        int, typer.Option("--order", min=1, max=2, help="Tetrahedra of ten (2) or four nodes.")
    ] = 2,
    curvature: Annotated[
        float, typer.Option("--curvature", help="Elements per radius of curvature.")
    ] = 2.0,
    grading: Annotated[
        float, typer.Option("--grading", help="Growth of elements, 0 (slow) to 1.")
    ] = 0.3,
    solid: Solid = None,
) -> None:
    """Mesh a CAD file by curved tetrahedra and list its faces."""
    from preprocess.command.mesh import mesh_file as command

    command(
        file,
        output,
        size=size,
        refine=refine or [],
        order=order,
        curvature=curvature,
        grading=grading,
        solid=solid,
    )


@app.command("inspect")
def inspect_file(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Flexible body (HDF5), or a mesh.", show_default=False),
    ],
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", help="Unit of the file: m, cm, mm, in, or a system as mm-t-s, in-lbf-s."
        ),
    ] = None,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Mass, frames, modes, origin, checks of a flexible body; sets, size, quality of a mesh."""
    from preprocess.command.inspect import inspect as command

    raise typer.Exit(command(file, unit=unit, as_json=as_json, allow_outside=allow_outside))


@app.command("converge")
def converge_part(
    file: PartFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Plot: PNG, SVG or PDF.")
    ] = None,
    material: Material = None,
    interface: Interfaces = None,
    averaged: AveragedFaces = False,
    size: Size = None,
    refine: Refine = None,
    solid: Solid = None,
    modes: Annotated[int, typer.Option("--modes", min=1, help="Number of modes.")] = 6,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
    allow_large: AllowLarge = False,
) -> None:
    """Frequencies and interface compliance of a CAD part over three sizes of elements.

    The sizes are 1, 0.7 and 0.5 of the part's; values are extrapolated to size zero.
    """
    from preprocess.command.converge import converge as command
    from preprocess.command.reduce import CadPartOptions, read_any_part

    given = CadPartOptions(
        material, tuple(interface or ()), averaged, None, size, tuple(refine or ()), solid
    )
    part = read_any_part(file, given, allow_outside=allow_outside)
    command(part, output, modes=modes, as_json=as_json, allow_large=allow_large)


@app.command("compare")
def compare_body(
    body: BodyFile,
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER", help="Part file, or another body of its mesh.")
    ] = None,
    modes: Annotated[int, typer.Option("--modes", min=1, help="Number of modes to compare.")] = 12,
    as_json: AsJson = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Compare frequencies, shapes (MAC) and compliance of a body with its full model.

    OTHER: the part file, by default BODY with .toml, or another body of the same mesh.
    """
    from preprocess.command.compare import compare as command

    command(body, other, modes=modes, as_json=as_json, allow_outside=allow_outside)


@app.command("convert")
def convert_body(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="Reduced body in any readable format.", show_default=False
        ),
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write.", show_default=False)
    ],
    read_as: Annotated[
        str | None,
        typer.Option("--from", help="Format of IN; default: by its suffix and first bytes."),
    ] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="Format of OUT; default: by its suffix.")
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            "--unit", help="Unit of IN, where the format does not state them: m-kg-s, mm-t-s, …"
        ),
    ] = "m-kg-s",
    frames: Annotated[
        list[str] | None,
        typer.Option("--frame", help="NAME=NODE: a node of IN that becomes a frame."),
    ] = None,
    unit_out: Annotated[
        str,
        typer.Option("--unit-out", help="Unit of OUT for Nastran and Abaqus: m-kg-s, mm-t-s, …"),
    ] = "m-kg-s",
    nodes: Annotated[
        list[str] | None,
        typer.Option("--node", help="NAME=NODE: number of a frame in OUT for Nastran and Abaqus."),
    ] = None,
) -> None:
    """Convert flexible bodies between formats.

    flexmbs (.h5), SID, MBDyn, MBSim, Simscape, VTU of modes; superelements of Nastran (.dmig, .op4)
    and Abaqus (.mtx).
    """
    from preprocess.command.convert import convert as command

    command(
        source,
        target,
        read_as=read_as,
        write_as=write_as,
        unit=unit,
        frames=frames or [],
        unit_out=unit_out,
        nodes=nodes or [],
    )


@app.command("report")
def report_body(
    body: BodyFile,
    part: Annotated[
        Path | None, typer.Argument(metavar="PART", help="Part file; default: BODY with .toml.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HTML file; default: BODY with .html.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--compare", help="Compare with the full model of the part file.")
    ] = False,
    allow_outside: AllowOutside = False,
) -> None:
    """One HTML page: interfaces, modes and stress in pictures, mass, checks, accuracy, origin."""
    from preprocess.command.report import report as command

    command(body, part, output, full=full, allow_outside=allow_outside)


@app.command("materials")
def list_materials(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="All data of one, with sources.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="TOML file with materials of your own.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the materials that part files and pp.material have by name."""
    from preprocess.command.materials import materials as command

    command(name, file, as_json=as_json)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    run_program(app, "preprocess", arguments)
