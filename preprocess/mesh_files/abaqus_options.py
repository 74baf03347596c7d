"""Known options of the keywords of Abaqus and CalculiX files; any other option is rejected.

An unknown option would otherwise be silently ignored. Options without an effect on a linear body,
such as temperatures, names of layups and FREQUENCY of outputs, are among the known ones. Blanks in
their names do not count.

Source: Abaqus Keywords Reference Guide and CalculiX CrunchiX User's Manual.
"""

from __future__ import annotations

from preprocess.mesh_files.abaqus_blocks import error_at, similar_keyword

ELSET, SECTION = (
    "ELSET",
    "ELSET, MATERIAL, ORIENTATION, CONTROLS, COMPOSITE, SYMMETRIC, LAYUP, OFFSET, NODAL THICKNESS",
)
# of sections
REFUSED = ("TAPER", "DENSITY", "STIFFNESS FACTOR", "SHELL THICKNESS", "STACK DIRECTION")
MEMBERS = "INSTANCE, GENERATE, INTERNAL, UNSORTED, INPUT"
BEAM = (
    "ELSET, MATERIAL, SECTION, ORIENTATION, OFFSET1, OFFSET2, NODAL THICKNESS, POISSON, "
    "TEMPERATURE, ZERO, DEPENDENCIES"
)
RIGID = (
    "NSET, ELSET, REF NODE, ROT NODE, PIN NSET, TIE NSET, ANALYTICAL SURFACE, POSITION, ISOTHERMAL"
)
LINK = "ELSET, NONLINEAR, ORIENTATION, DEPENDENCIES, RTOL"
OPTIONS = {
    keyword: tuple(name for name in names.split(", ") if name)
    for keyword, names in {
        "NODE": "INPUT, NSET, SYSTEM",
        "NGEN": "NSET, LINE",
        "ELEMENT": "TYPE, ELSET, INPUT",
        "NSET": f"NSET, ELSET, {MEMBERS}, FREQUENCY",
        "ELSET": f"ELSET, {MEMBERS}",
        "SURFACE": "NAME, TYPE, COMBINE, INTERNAL, TRIM, NO THICK, NO OFFSET, SCALE THICK, MAX "
        "RATIO, PROPERTY, REGION TYPE",
        "SYSTEM": "",
        "NORMAL": "TYPE, INPUT",
        "PART": "NAME",
        "INSTANCE": "NAME, PART",
        "SOLID SECTION": f"{SECTION}, ORDER, REF NODE",
        "SOLIDSECTION": f"{SECTION}, ORDER, REF NODE",
        "SHELL SECTION": f"{SECTION}, SECTION INTEGRATION, POISSON, TEMPERATURE, THICKNESS MODULUS",
        "BEAM SECTION": BEAM,
        "BEAM GENERAL SECTION": BEAM,
        "NODAL THICKNESS": "INPUT",
        "CENTROID": "",
        "SHEAR CENTER": "",
        "MATERIAL": "NAME, RTOL, SRATE FACTOR, STRAIN RATE REGULARIZATION",
        "ELASTIC": "TYPE, DEPENDENCIES, MODULI",
        "DENSITY": "DEPENDENCIES",
        "ORIENTATION": "NAME, SYSTEM, DEFINITION",
        "COUPLING": "CONSTRAINT NAME, REF NODE, SURFACE, ORIENTATION, INFLUENCE RADIUS, ADJUST",
        "KINEMATIC": "",
        "DISTRIBUTING": "WEIGHTING METHOD, COUPLING",
        "DISTRIBUTING COUPLING": ELSET,
        "RIGID BODY": RIGID,
        "RIGIDBODY": RIGID,
        "EQUATION": "INPUT",
        "MPC": "INPUT",
        "TRANSFORM": "NSET, TYPE",
        "TIE": "NAME, POSITION TOLERANCE, ADJUST, CYCLIC SYMMETRY, MULTISTAGE, FLUIDPERIODIC, "
        "FLUIDCYCLIC, TYPE, NO THICKNESS",
        "CYCLIC SYMMETRY MODEL": "N, NGRAPH, TIE, ELSET, CHECK",
        "SPRING": LINK,
        "DASHPOT": LINK,
        "MASS": "ELSET, TYPE",
    }.items()
}


def known_options(keyword: str, options: dict[str, str], line: str) -> dict[str, str]:
    """Options of an Abaqus keyword by their names in `OPTIONS`, spaces ignored.

    Raises InputError with the line and the nearest name for any other.
    """
    if keyword not in OPTIONS:
        return options
    own = (*OPTIONS[keyword], *(REFUSED if keyword.endswith("SECTION") else ()))
    names = {name.replace(" ", ""): name for name in own}
    found: dict[str, str] = {}
    for key, value in options.items():
        short = key.replace(" ", "")
        if short and short not in names:
            near = next(
                (name for each, name in names.items() if each.startswith(short)), ""
            ) or similar_keyword(key, own)
            what = (
                f"did you mean {near}? Remove it otherwise"
                if near
                else "remove it if it has no meaning for the body"
            )
            raise error_at(line, f"*{keyword}, {key[:60]} is not supported; {what}")
        if short:
            found[names[short]] = value
    return found
