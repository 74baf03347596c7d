"""HDF5 file of a solution.

States, joint wrenches, the model's text and the flexible bodies, all in one file. The whole model
is restored from it. No code in the file is run: user functions remain names in the text. Their
effects are contained in the stored wrenches and works, so all views are available; operations that
would call them need the user's model.
"""

from __future__ import annotations

import copy
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import h5py
import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.hdf5 import (
    attributes,
    check_items,
    check_storage,
    datasets,
    read_whole,
    set_text,
    write_atomically,
)
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.file import GENERATOR, body, fill
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.functions import missing_functions_allowed
from flexmbs.model.laws import Function
from flexmbs.model.model import SECTIONS, ModelData
from flexmbs.model.toml_read import model_of
from flexmbs.results.joints import JointHistories, history_shapes
from flexmbs.system.check import STATUSES, Check
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.trajectory import EventRecord, Impact, RunInfo, Trajectory
from flexmbs.toml.document import Locator
from flexmbs.toml.nesting_guard import check_nesting

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

Body: TypeAlias = FlexibleBodyData | DividedBodyData
S = TypeVar("S", bound="SolutionData")
FORMAT = "flexmbs-solution/1"
STATES = tuple(name for name in Trajectory._fields if name != "contact")
MAX_CHARACTERS = 5_000_000
TEXTS = ("model", "run")
CONTACT = "trajectory/contact"  # present only with contacts
# unloaded lengths (m) and constants of couplings; present only with such items
CONSTANTS = ("springs", "couplings")
POSITIONS = {f"trajectory/{name}" for name in ("t", "beta", "q", "s", "sd")} | {"joints/primary"}
# m, rad, s and rates: squares of derived quantities stay finite in double precision
LARGEST = 1e60


def write(solution: SolutionData, path: str | os.PathLike[str]) -> None:
    """Write ``solution`` to the file ``path``, atomically. Raises MachineError."""
    arrays = {
        f"trajectory/{name}": values for name, values in solution.trajectory._asdict().items()
    }
    if not solution.trajectory.contact.size:
        del arrays[CONTACT]
    arrays |= {f"joints/{name}": values for name, values in solution._joints._asdict().items()}
    arrays |= {f"applied/{name}": values for name, values in solution.applied.items()}
    arrays |= {
        name: values for name, values in _constants(solution.compiled).items() if len(values)
    }
    numbers, parts = _distinct(solution.compiled.data)
    texts = {
        "model": solution.model_text,
        "run": json.dumps(_run_record(solution, numbers), default=str),
    }

    def fill_file(file: h5py.File) -> None:
        """Write texts, arrays and flexible bodies into an open file."""
        set_text(file, "format", FORMAT)
        set_text(file, "generator", GENERATOR)
        for name, text in texts.items():
            file.create_dataset(name, data=np.frombuffer(text.encode(), np.uint8))
        for item, values in arrays.items():
            file.create_dataset(item, data=values.astype(values.dtype.newbyteorder("<")))
        file.create_group("bodies")
        for number, data in enumerate(parts):
            fill(file["bodies"].create_group(str(number), track_order=True), data)

    write_atomically(path, fill_file)


def read(
    path: str | os.PathLike[str],
    model: ModelData | None,
    make: type[S],
    make_model: type[ModelData],
) -> S:
    """Read the solution in the file ``path``, for ``model`` if given.

    Raises InputError naming the file and the item.
    """
    return read_whole(
        path, lambda file: _solution(file, model, make, make_model), "flexmbs run or Solution.save"
    )


def _distinct(
    data: Mapping[str, FlexibleBodyData],
) -> tuple[dict[str, int], list[FlexibleBodyData]]:
    """(index of the data of each flexible body, distinct data), so that copies are stored once."""
    digests: dict[str, int] = {}
    parts: list[FlexibleBodyData] = []
    numbers = {}
    for name, part in data.items():
        number = digests.setdefault(part.digest, len(parts))
        if number == len(parts):
            parts.append(part)
        numbers[name] = number
    return numbers, parts


def _run_record(solution: SolutionData, numbers: dict[str, int]) -> dict[str, Any]:
    """Record of the run that is stored as JSON."""
    run = solution.run
    return {
        "coordinates": solution.compiled.topology.coordinates,
        "bodies": numbers,
        "pieces": {body: own.names for body, own in solution.compiled.pieces.items()},
        "statistics": solution.statistics,
        "options": run.options,
        "outcome": run.outcome,
        "redundant": [list(pair) for pair in run.redundant],
        "moved": [str(line) for line in run.moved],
        "notes": [str(line) for line in run.notes],
        "provenance": run.provenance,
        "events": [
            [event.name, event.t, event.q.tolist(), event.s.tolist()] for event in run.events
        ],
        "impacts": [
            [impact.contact, impact.t, list(impact.impulse), impact.lost] for impact in run.impacts
        ],
        "checks": [[check.title, check.status, check.found, check.remedy] for check in run.checks],
    }


def _solution(
    file: h5py.File, given: ModelData | None, make: type[S], make_model: type[ModelData]
) -> S:
    """Solution from an open file. Raises `InputError`."""
    header = attributes(file)
    if header.get("format") != FORMAT:
        raise InputError(
            f"format: is {header.get('format', 'missing')!r}; this version reads {FORMAT!r}"
        )
    found = dict(datasets(file))
    check_items(
        {
            item: dataset
            for item, dataset in found.items()
            if not item.startswith(("bodies/", "applied/", CONTACT, *CONSTANTS))
        },
        {
            *TEXTS,
            *(f"trajectory/{name}" for name in STATES),
            *(f"joints/{name}" for name in JointHistories._fields),
        },
        FORMAT,
    )
    model_text, run_text = (_text(name, found[name]) for name in TEXTS)
    record = _record(run_text)
    parts = {number: body(file["bodies"][number], FlexibleBodyData) for number in file["bodies"]}
    data = {str(name): parts[str(number)] for name, number in record["bodies"].items()}
    whole = _declared_bodies(data, record["pieces"])
    model = (
        _model(model_text, whole, make_model) if given is None else _same(given, model_text, whole)
    )
    compiled = compile_model(model, str(record["coordinates"]))
    if given is None:
        compiled = _with_motions(compiled, found)
    compiled = _with_constants(compiled, found)
    trajectory = _trajectory(compiled, found)
    joints = {
        name: _array(f"joints/{name}", found, shape)
        for name, shape in history_shapes(compiled, len(trajectory.t)).items()
    }
    return make(
        compiled,
        trajectory,
        dict(record["statistics"]),
        _run_info(record, model_text),
        JointHistories(**joints),
        _applied(compiled, found, len(trajectory.t)),
    )


def _text(item: str, dataset: h5py.Dataset) -> str:
    """Text stored in a dataset. Raises `InputError`."""
    check_storage(item, dataset, "u")
    if dataset.ndim != 1 or dataset.size > MAX_CHARACTERS:
        raise InputError(
            f"{item}: has shape {dataset.shape}; it must be a text of at most "
            f"{MAX_CHARACTERS} bytes"
        )
    return bytes(dataset[()]).decode()


def _record(text: str) -> dict[str, Any]:
    """Record of the run from JSON text. Raises `InputError`."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("run: is not the record of a run; write the file again") from None
    if isinstance(record, dict):
        record = {
            "events": [],
            "impacts": [],
            "pieces": {},
        } | record  # absent in files of early versions
    kinds = {
        "coordinates": str,
        "bodies": dict,
        "pieces": dict,
        "statistics": dict,
        "options": dict,
        "outcome": str,
        "redundant": list,
        "moved": list,
        "notes": list,
        "provenance": dict,
        "events": list,
        "impacts": list,
    }
    wrong = [
        key
        for key, kind in kinds.items()
        if not isinstance(record, dict) or not isinstance(record.get(key), kind)
    ]
    if wrong:
        raise InputError(*(f"run: '{key}' is missing or damaged" for key in wrong))
    return dict(record)


def _run_info(record: Mapping[str, Any], model_text: str) -> RunInfo:
    """Outcome, events, impacts and checks from the record of a run."""
    return RunInfo(
        options=record["options"],
        outcome=record["outcome"],
        events=tuple(_event(k, values) for k, values in enumerate(record["events"])),
        impacts=tuple(_impact(k, values) for k, values in enumerate(record["impacts"])),
        redundant=[(str(name), int(rows)) for name, rows in record["redundant"]],
        moved=tuple(map(str, record["moved"])),
        notes=tuple(map(str, record["notes"])),
        checks=tuple(_check(values) for values in record.get("checks", ())),
        provenance={str(key): str(value) for key, value in record["provenance"].items()},
        model_text=model_text,
    )


def _event(number: int, values: Any) -> EventRecord:
    """Event number k from its stored values. Raises `InputError`."""
    try:
        name, t, q, s = values
        return EventRecord(
            str(name), float(t), np.array(q, float).reshape(-1), np.array(s, float).reshape(-1)
        )
    except (TypeError, ValueError):
        raise InputError(f"run: event {number} is damaged; write the file again") from None


def _check(values: Any) -> Check:
    """Check from its stored values. Raises `InputError`."""
    try:
        title, status, found, remedy = map(str, values)
        return Check(title, STATUSES[STATUSES.index(status)], found, remedy)
    except (TypeError, ValueError):
        raise InputError("run: the audit is damaged; write the file again") from None


def _impact(number: int, values: Any) -> Impact:
    """Impact number k from its stored values. Raises `InputError`."""
    try:
        contact, t, (normal, first, second), lost = values
        return Impact(
            str(contact), float(t), (float(normal), float(first), float(second)), float(lost)
        )
    except (TypeError, ValueError):
        raise InputError(f"run: impact {number} is damaged; write the file again") from None


def _table(text: str) -> dict[str, Any]:
    """Table of the model file from its text."""
    check_nesting(text, "model")
    return tomllib.loads(text)


def _declared_bodies(
    data: Mapping[str, FlexibleBodyData], pieces: Mapping[str, Any]
) -> dict[str, Body]:
    """Flexible data by declared body, divided ones with all pieces. Raises `InputError`."""
    missing = [name for own in pieces.values() for name in own if name not in data]
    if missing:
        raise InputError(f"bodies.{missing[0]}: its data is not in the file; write the file again")
    return {
        **data,
        **{
            body: DividedBodyData(body, tuple(data[name] for name in own))
            for body, own in pieces.items()
        },
    }


def _model(text: str, whole: Mapping[str, Body], make: type[ModelData]) -> ModelData:
    """Model from its stored text, with placeholders for user functions.

    Its flexible bodies have the data in the file.
    """
    table = _table(text)
    bodies = {}
    for name, values in dict(table.get("bodies", {})).items():
        bodies[name] = {key: value for key, value in values.items() if key not in ("file", "data")}
        if bodies[name].get("kind") == FlexibleBody.kind:
            if name not in whole:
                raise InputError(
                    f"bodies.{name}: its data is not in the file; write the file again"
                )
            bodies[name]["data"] = whole[name]
    with missing_functions_allowed():
        model, problems = model_of(
            {**table, "bodies": bodies}, Locator(Path(), allow_outside=False), make
        )
    if problems:
        raise InputError(*(f"model: {problem}" for problem in problems))
    return model


def _same(given: ModelData, text: str, whole: Mapping[str, Body]) -> ModelData:
    """Given model after checking that it matches the stored one. Raises `InputError`.

    Raises `InputError` if an item differs from the model of the solution.
    """
    stored, own = _table(text), tomllib.loads(given.to_toml(complete=False))
    values = {key for key in (*stored, *own) if key not in SECTIONS}
    pairs = [(key, stored.get(key), own.get(key)) for key in sorted(values - {"run"})]
    for section in SECTIONS:
        here, there = stored.get(section, {}), own.get(section, {})
        pairs += [
            (f"{section}.{name}", here.get(name), there.get(name))
            for name in dict.fromkeys((*here, *there))
        ]
    wrong = [name for name, here, there in pairs if _without_source(here) != _without_source(there)]
    wrong += [
        f"bodies.{name}"
        for name, body in given.bodies.items()
        if isinstance(body, FlexibleBody)
        and name in whole
        and body.whole().digest != whole[name].digest
    ]
    if wrong:
        raise InputError(
            *(
                f"model: {name} differs from the solution; give the model of the run"
                for name in wrong
            )
        )
    return given


def _without_source(item: Any) -> Any:
    """Table of an item without the path of its file.

    Flexible bodies are compared by their data.
    """
    return (
        {key: value for key, value in item.items() if key not in ("file", "data")}
        if isinstance(item, dict)
        else item
    )


def _constants(compiled: Compiled) -> dict[str, np.ndarray]:
    """Constants determined by the initial position, by item of the file."""
    return dict(
        zip(
            CONSTANTS,
            np.split(compiled.initial_constants, [len(compiled.system.forces.line.value)]),
        )
    )


def _with_constants(compiled: Compiled, found: Mapping[str, h5py.Dataset]) -> Compiled:
    """Model with the constants that only the run knows."""
    constants = _constants(compiled)
    for name, values in constants.items():
        if name in found:
            constants[name] = _array(name, found, values.shape)
        elif np.isnan(values).any():
            raise InputError(f"{name}: is missing; write the file again")
    return compiled.with_initial_constants(np.concatenate(list(constants.values())))


def _with_motions(compiled: Compiled, found: Mapping[str, h5py.Dataset]) -> Compiled:
    """Compiled model with stored motions in place of missing user functions.

    By quintic interpolation of the stored f, ḟ, f̈.
    """
    model, rows = compiled.declared, compiled.system.prescribed
    names = [list(model.drives)[d] for d in rows.drive]
    missing = [
        (k, name) for k, name in enumerate(names) if isinstance(model.drives[name].motion, Function)
    ]
    if not missing:
        return compiled
    t = found["trajectory/t"][()]
    values = _array("joints/prescribed", found, (len(t), len(names), 4))
    keep = np.concatenate([[True], np.diff(t) > 0.0])
    known = copy.copy(model)
    known.drives = dict(model.drives)
    for k, name in missing:
        motion = Function(_StoredMotion(t[keep], values[keep, k, :3]))
        known.drives[name] = replace(model.drives[name], motion=motion)
    return replace(
        compile_model(known, compiled.topology.coordinates), declared=model, model=compiled.model
    )


class _StoredMotion:
    """Values (f, ḟ, f̈)(t) interpolated from stored ones.

    For a single output their Taylor polynomial.
    """

    def __init__(self, t: np.ndarray, values: np.ndarray) -> None:
        from scipy.interpolate import BPoly  # imported on demand: a quarter of a second

        if len(t) == 1:
            f, fd, fdd = values[0]
            t, values = (
                np.array([t[0], t[0] + 1.0]),
                np.array([values[0], [f + fd + 0.5 * fdd, fd + fdd, fdd]]),
            )
        self.curve = BPoly.from_derivatives(t, values)

    def __call__(self, t: float) -> tuple[float, float, float]:
        return float(self.curve(t)), float(self.curve(t, 1)), float(self.curve(t, 2))


def _trajectory(compiled: Compiled, found: Mapping[str, h5py.Dataset]) -> Trajectory:
    """Trajectory from the datasets, with shapes checked against the model."""
    t, z = found["trajectory/t"], found["trajectory/z"]
    nt, nz = (t.size, z.shape[1]) if t.ndim == 1 and z.ndim == 2 else (0, 0)
    _, nq, ns, nc, _ = (int(n) for n in compiled.system.layout)
    n_beta = sum(compiled.model.joints[name].nq for name in compiled.topology.cuts)
    widths = {"beta": n_beta, "q": nq, "s": ns, "sd": ns, "lam": nc, "z": nz, "work": 3, "drift": 2}
    shapes = {name: (nt, widths[name]) if name in widths else (nt,) for name in STATES}
    values = Trajectory(
        **{name: _array(f"trajectory/{name}", found, shape) for name, shape in shapes.items()}
    )
    shape = (nt, len(compiled.contacts), 3)
    values = values._replace(
        contact=_array(CONTACT, found, shape) if CONTACT in found else np.zeros(shape)
    )
    if nt == 0 or not np.all(np.diff(values.t) >= 0):
        raise InputError("trajectory/t: the times must increase and there must be at least one")
    return values


def _applied(
    compiled: Compiled, found: Mapping[str, h5py.Dataset], nt: int
) -> dict[str, np.ndarray]:
    """Wrenches of applied forces by the frame they act on."""
    names = {f"applied/{ref}": str(ref) for ref in compiled.frames}
    items = [item for item in found if item.startswith("applied/")]
    unknown = [item for item in items if item not in names]
    if unknown:
        raise InputError(f"{unknown[0]}: the model has no such frame")
    return {names[item]: _array(item, found, (nt, 6)) for item in items}


def _array(item: str, found: Mapping[str, h5py.Dataset], shape: tuple[int, ...]) -> np.ndarray:
    """Array of a dataset with a given shape. Raises `InputError`."""
    dataset = found[item]
    kind = "i" if item.endswith("/unique") else "f"
    check_storage(item, dataset, kind)
    if dataset.shape != shape:
        raise InputError(f"{item}: has shape {dataset.shape}; the model needs {shape}")
    values = np.ascontiguousarray(dataset[()], dtype=np.float64 if kind == "f" else np.int64)
    if item in POSITIONS and not (np.abs(values) <= LARGEST).all():
        raise InputError(
            f"{item}: has values that are not finite or exceed {LARGEST:g}; run it again"
        )
    return values
