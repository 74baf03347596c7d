"""Linear systems as text for other programs: C, Modelica, MATLAB, Simscape, and FMUs in plain C."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import subprocess
import zipfile
from collections.abc import Container, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np
from scipy.linalg import matrix_balance

from flexmbs.declaration import shown
from flexmbs.errors import InputError, MachineError
from flexmbs.files.output import atomic_file, temporary_folder, write_text
from flexmbs.files.paths import file_path

TEXTS = (".c", ".mo", ".m", ".ssc")
TYPES = (
    "Float32",
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Boolean",
    "String",
    "Binary",
    "Clock",
)
ABSENT = {  # functions that an FMU must have and that this one does not use
    2: (
        *(f"{do}{kind}" for do in ("Get", "Set") for kind in ("Integer", "Boolean", "String")),
        "SetRealInputDerivatives",
        "GetRealOutputDerivatives",
        "CancelStep",
        *(f"Get{kind}Status" for kind in ("", "Real", "Integer", "Boolean", "String")),
    ),
    3: (
        *(f"{do}{kind}" for do in ("Get", "Set") for kind in TYPES),
        "GetAdjointDerivative",
        "EnterEventMode",
        "EnterStepMode",
        "EnterConfigurationMode",
        "ExitConfigurationMode",
        "EvaluateDiscreteStates",
        "UpdateDiscreteStates",
        "GetNumberOfVariableDependencies",
        "GetVariableDependencies",
        "GetOutputDerivatives",
        "ActivateModelPartition",
        *(
            f"{do}{what}{kind}"
            for do in ("Get", "Set")
            for what in ("Interval", "Shift")
            for kind in ("Decimal", "Fraction")
        ),
        "EnterContinuousTimeMode",
        "CompletedIntegratorStep",
        "SetTime",
        "SetContinuousStates",
        "GetContinuousStates",
        "GetContinuousStateDerivatives",
        "GetEventIndicators",
        "GetNominalsOfContinuousStates",
        "GetNumberOfContinuousStates",
        "GetNumberOfEventIndicators",
    ),
}
# keywords of the languages and names within the files, not allowed as names of models or functions
RESERVED = {
    ".mo": "algorithm and annotation block break class connect connector constant constrainedby "
    "der discrete each else elseif "
    "elsewhen encapsulated end enumeration equation expandable extends external false "
    "final flow for function if import impure "
    "in initial inner input loop model not operator or outer output package parameter "
    "partial protected public pure record "
    "redeclare replaceable return stream then true type when while within A B C D u x y",
    ".m": "break case catch classdef continue else elseif end for function global if otherwise "
    "parfor persistent return spmd "
    "switch try while A B C D system states inputs outputs exist ss struct zeros",
    ".ssc": "annotations branches component components connect connections domain else elseif end "
    "equations events for function "
    "if inputs intermediates let nodes outputs parameters variables when",
}
PLATFORM = {2: "linux64", 3: "x86_64-linux"}  # platform folder of the binary


class LinearSystem(NamedTuple):
    """Linear system ẋ = A x + B u, y = C x + D u with labels, "name (unit)"."""

    title: str
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]


def write_linear(system: LinearSystem, path: str | Path, *, version: int = 3) -> Path:
    """Write a linear system as C, Modelica, MATLAB, Simscape or FMU, by the suffix.

    The suffix of the path is the format: .c, .mo, .m, .ssc, or .fmu with an FMI version.

    Raises `InputError`, `MachineError`.

    """
    path = file_path(path)
    if path.suffix not in (*TEXTS, ".fmu"):
        raise InputError(
            f"path: must end with one of {', '.join((*TEXTS, '.fmu'))}, not {shown(path.name)}"
        )
    if isinstance(version, bool) or not isinstance(version, int) or version not in ABSENT:
        raise InputError(f"version: must be 2 or 3 (FMI), not {shown(version)}")
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    if not re.match(r"[A-Za-z]", name):
        raise InputError(
            f"path: the name {shown(path.stem)} must start with a letter A to Z; rename it"
        )
    if name in RESERVED.get(path.suffix, "").split() or (
        path.suffix == ".ssc" and re.fullmatch(r"[uxy]\d+", name)
    ):
        raise InputError(
            f"path: the name {shown(path.stem)} is a keyword of that language or a name "
            "within the file; rename it"
        )
    if path.suffix == ".fmu":
        _write_unit(system, name, path, version)
    else:
        write_text(path, rendered(f"linear{path.suffix}", _facts(system, name)))
    return path


def _facts(system: LinearSystem, name: str) -> dict[str, Any]:
    """Values that are inserted into the code templates."""
    rows = {key: np.asarray(getattr(system, key)).tolist() for key in "ABCD"}
    n, m, p = len(system.states), len(system.inputs), len(system.outputs)
    return {
        "name": name,
        "title": _safe_text(system.title),
        "n": n,
        "m": m,
        "p": p,
        "matrices": list(rows.items()),
        "columns": {"A": n, "B": m, "C": n, "D": m},
        "states": [_safe_text(each) for each in system.states],
        "inputs": [_safe_text(each) for each in system.inputs],
        "outputs": [_safe_text(each) for each in system.outputs],
        "scale": balance(system.A, system.B),
        "c_numbers": _c_numbers,
        "modelica": _modelica,
        "matlab": _matlab,
        "cells": _cells,
        "unit": False,
        "equations": {"state": _sums(rows["A"], rows["B"]), "output": _sums(rows["C"], rows["D"])},
    }


def balance(A: np.ndarray, B: np.ndarray) -> list[float]:
    """Powers of two T of states and inputs that balance the matrix of a linear system.

    T⁻¹ (A B; 0 0) T is balanced; its exponential then loses no digits because of units.
    """
    if not len(A):
        return [1.0] * B.shape[1]
    states = matrix_balance(A, permute=False, separate=True)[1][0]
    size = max(float(np.abs(A * states[None, :] / states[:, None]).max()), np.finfo(float).tiny)
    columns = np.abs(B / states[:, None]).max(axis=0)
    inputs = [2.0 ** round(math.log2(size / each)) if each > 0.0 else 1.0 for each in columns]
    return [*(float(each) for each in states), *inputs]


def _safe_text(text: str) -> str:
    """Text without characters that end a comment, string or line in any of the languages."""
    return re.sub(r'[\\"*\n\r%{}]', " ", text.replace("²", "2").replace("'", " "))


def rendered(template: str, facts: dict[str, Any]) -> str:
    """Template of this package, rendered with facts."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flexmbs.exports", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(facts)


def _c_numbers(rows: list[list[float]]) -> str:
    """All numbers in the order of the rows.

    A single zero if there are none, since C has no empty arrays.
    """
    return ",\n    ".join(", ".join(map(repr, row)) for row in rows if row) or "0.0"


def _modelica(rows: list[list[float]], columns: int) -> str:
    """Matrix as a literal of Modelica."""
    if not rows or not columns:
        return f"fill(0.0, {len(rows)}, {columns})"
    return "{" + ", ".join("{" + ", ".join(map(repr, row)) + "}" for row in rows) + "}"


def _matlab(rows: list[list[float]], columns: int) -> str:
    """Matrix as a literal of MATLAB."""
    if not rows or not columns:
        return f"zeros({len(rows)}, {columns})"
    return "[" + "; ...\n    ".join(", ".join(map(repr, row)) for row in rows) + "]"


def _cells(labels: Sequence[str]) -> str:
    """Cell array of labels as a literal of MATLAB."""
    return "{" + ", ".join(f"'{label}'" for label in labels) + "}"


def _sums(of_states: list[list[float]], of_inputs: list[list[float]]) -> list[str]:
    """Code of each row of (A B)(x; u) as a sum of its terms."""
    found = []
    for first, second in zip(of_states, of_inputs):
        terms = [
            f"{a!r}*{letter}{k + 1}"
            for letter, row in (("x", first), ("u", second))
            for k, a in enumerate(row)
            if a
        ]
        found.append(" + ".join(terms).replace("+ -", "- ") or "0")
    return found


def _write_unit(system: LinearSystem, name: str, path: Path, version: int) -> None:
    """Write the FMU: description, sources, and a binary if there is a C compiler."""
    facts = _facts(system, name) | {"unit": True, "version": version, "absent": ABSENT[version]}
    text = rendered("linear.c", facts)
    facts["guid"] = hashlib.sha256(text.encode()).hexdigest()[:32]
    source = text + rendered("fmi.c", facts)
    facts["variables"] = variables = _variables(system)
    facts["output_places"] = [
        k + 1 for k, each in enumerate(variables) if each["causality"] == "output"
    ]
    facts["title"] = _attribute(facts["title"])
    with atomic_file(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as unit:
        unit.writestr("modelDescription.xml", rendered("description.xml", facts))
        unit.writestr(f"sources/{name}.c", source)
        if version == 3:
            unit.writestr("sources/buildDescription.xml", BUILD.format(name=name))
        if compiler() is not None:
            unit.writestr(f"binaries/{PLATFORM[version]}/{name}.so", compiled_library(source, name))


BUILD = """<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration modelIdentifier="{name}"><SourceFileSet><SourceFile name="{name}.c"/></SourceFileSet></BuildConfiguration>
</fmiBuildDescription>
"""


def _variables(system: LinearSystem) -> list[dict[str, Any]]:
    """Inputs, outputs and states with value references from 1."""
    found: list[dict[str, Any]] = []
    taken = {"time"}
    for labels, causality, initial in (
        (system.inputs, "input", ""),
        (system.outputs, "output", "calculated"),
        (system.states, "local", "exact"),
    ):
        for label in labels:
            bare = re.sub(r" \([^)]*\)$", "", label)
            wanted = f"{bare} (state)" if causality == "local" else bare
            own = unused_name(wanted, taken, " ")
            taken.add(own)
            found.append({
                "name": _attribute(own), "label": _attribute(label), "reference": len(found) + 1,
                "causality": causality, "initial": initial, "start": causality != "output",
            })  # fmt: skip
    return found


def unused_name(wanted: str, taken: Container[str], between: str) -> str:
    """Name followed by the first free number from 2 if it is taken."""
    return next(
        name
        for k in count(1)
        if (name := wanted if k == 1 else f"{wanted}{between}{k}") not in taken
    )


def _attribute(text: str) -> str:
    """Text quoted as an XML attribute value."""
    return escape(text, {'"': "&quot;", "\n": " ", "\r": " ", "\t": " "})


def compiler() -> str | None:
    """C compiler of this machine; None without one or on systems other than Linux on x86-64."""
    import platform

    return (
        shutil.which("cc")
        if (platform.system(), platform.machine()) == ("Linux", "x86_64")
        else None
    )


def required_compiler() -> str:
    """C compiler, as in `compiler`. Raises `MachineError` without one."""
    found = compiler()
    if found is None:
        raise MachineError("a C compiler, cc, on Linux on x86-64 is needed")
    return found


def compiled_library(
    source: str, name: str, needed: Mapping[str, bytes] = MappingProxyType({})
) -> bytes:
    """Shared library of a source for this machine.

    needed: names of libraries that it loads from its own folder. Raises `MachineError`, also
    without a `compiler`.

    """
    cc = required_compiler()
    with temporary_folder("code") as place:
        (place / f"{name}.c").write_text(source, encoding="utf-8")
        for each, content in needed.items():
            (place / each).write_bytes(content)
        beside = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", *needed] if needed else []
        command = [
            cc,
            "-std=c99",
            "-O2",
            "-shared",
            "-fPIC",
            f"{name}.c",
            "-o",
            f"{name}.so",
            *beside,
            "-lm",
            "-ldl",
        ]
        made = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if made.returncode:
            raise MachineError(f"{cc} cannot compile the FMU: {made.stderr.splitlines()[:1]}")
        binary = (place / f"{name}.so").read_bytes()
    for each in needed:
        if each.encode() + b"\0" not in binary:
            raise MachineError(
                f"{cc}: '{each}' has another internal name; install the version of "
                "PythonFMU required by flexmbs[fmu]"
            )
    return binary
