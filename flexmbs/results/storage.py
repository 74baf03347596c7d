"""HDF5 file of a solution: states, joint wrenches, the model's text and the flexible bodies, all in one file.

Nothing in the file is run: functions of the user stay names in the text, and forces are not rebuilt; their effect is in the
stored wrenches and works.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body import GENERATOR, FlexibleBodyData
from flexmbs.flexible_body_file import body, fill
from flexmbs.model.bodies import Body
from flexmbs.model.contacts import Contact
from flexmbs.model.drives import Drive
from flexmbs.model.functions import imports_allowed
from flexmbs.model.joints import Joint
from flexmbs.model.model import Model
from flexmbs.model.user_relations import Holonomic
from flexmbs.plain_hdf5 import attributes, check_items, check_storage, datasets, read_whole, set_text, write_whole
from flexmbs.results.joints import JointHistories, history_shapes
from flexmbs.results.solution import Solution
from flexmbs.results.trajectory import EventRecord, Impact, RunInfo, Trajectory
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.toml.guard import check_nesting

FORMAT = "flexmbs-solution/1"
STATES = Trajectory._fields[:-1]
MAX_CHARACTERS = 5_000_000
TEXTS = ("model", "run")
CONTACT = "trajectory/contact"  # only where there are contacts


def write(solution: Solution, path: str | os.PathLike[str]) -> None:
    """File of ``solution`` at ``path``, complete or not there at all. Raises MachineError."""
    arrays = {f"trajectory/{name}": values for name, values in solution.trajectory._asdict().items()}
    if not solution.trajectory.contact.size:
        del arrays[CONTACT]
    arrays |= {f"joints/{name}": values for name, values in solution._joints._asdict().items()}
    arrays |= {f"applied/{name}": values for name, values in solution.applied.items()}
    numbers, parts = _distinct(solution.compiled.data)
    texts = {"model": solution.model_text, "run": json.dumps(_run_record(solution, numbers), default=str)}

    def fill_file(file: h5py.File) -> None:
        set_text(file, "format", FORMAT)
        set_text(file, "generator", GENERATOR)
        for name, text in texts.items():
            file.create_dataset(name, data=np.frombuffer(text.encode(), np.uint8))
        for item, values in arrays.items():
            file.create_dataset(item, data=values.astype(values.dtype.newbyteorder("<")))
        file.create_group("bodies")
        for number, data in enumerate(parts):
            fill(file["bodies"].create_group(str(number), track_order=True), data)

    write_whole(path, fill_file)


def read(path: str | os.PathLike[str]) -> Solution:
    """Solution in the file at ``path``. Raises InputError naming the file and the item."""
    return read_whole(path, _solution, "flexmbs run or Solution.save")


def _distinct(data: Mapping[str, FlexibleBodyData]) -> tuple[dict[str, int], list[FlexibleBodyData]]:
    """Number of the data of each flexible body, and the data, each once."""
    digests: dict[str, int] = {}
    parts: list[FlexibleBodyData] = []
    numbers = {}
    for name, part in data.items():
        number = digests.setdefault(part.digest, len(parts))
        if number == len(parts):
            parts.append(part)
        numbers[name] = number
    return numbers, parts


def _run_record(solution: Solution, numbers: dict[str, int]) -> dict[str, Any]:
    run = solution.run
    return {
        "coordinates": solution.compiled.topology.coordinates, "bodies": numbers, "statistics": solution.statistics,
        "options": run.options, "outcome": run.outcome, "redundant": [list(pair) for pair in run.redundant],
        "moved": [str(line) for line in run.moved], "notes": [str(line) for line in run.notes], "provenance": run.provenance,
        "events": [[event.name, event.t, event.q.tolist(), event.s.tolist()] for event in run.events],
        "impacts": [[impact.contact, impact.t, list(impact.impulse), impact.lost] for impact in run.impacts],
    }  # fmt: skip


def _solution(file: h5py.File) -> Solution:
    header = attributes(file)
    if header.get("format") != FORMAT:
        raise InputError(f"format: is {header.get('format', 'missing')!r}; this version reads {FORMAT!r}")
    found = dict(datasets(file))
    check_items(
        {item: dataset for item, dataset in found.items() if not item.startswith(("bodies/", "applied/", CONTACT))},
        {*TEXTS, *(f"trajectory/{name}" for name in STATES), *(f"joints/{name}" for name in JointHistories._fields)},
        FORMAT,
    )
    model_text, run_text = (_text(name, found[name]) for name in TEXTS)
    record = _record(run_text)
    parts = {number: body(file["bodies"][number]) for number in file["bodies"]}
    data = {str(name): parts[str(number)] for name, number in record["bodies"].items()}
    with imports_allowed(False):
        model = _model(model_text, data)
    compiled = compile_model(model, str(record["coordinates"]))
    trajectory = _trajectory(compiled, found)
    joints = {name: _array(f"joints/{name}", found, shape) for name, shape in history_shapes(compiled, len(trajectory.t)).items()}
    return Solution(
        compiled, trajectory, dict(record["statistics"]), _run_info(record, model_text), JointHistories(**joints),
        _applied(compiled, found, len(trajectory.t)),
    )  # fmt: skip


def _text(item: str, dataset: h5py.Dataset) -> str:
    check_storage(item, dataset, "u")
    if dataset.ndim != 1 or dataset.size > MAX_CHARACTERS:
        raise InputError(f"{item}: has shape {dataset.shape}; it must be a text of at most {MAX_CHARACTERS} bytes")
    return bytes(dataset[()]).decode()


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("run: is not the record of a run; write the file anew") from None
    record = {"events": [], "impacts": []} | record if isinstance(record, dict) else record  # the first files had none
    kinds = {
        "coordinates": str, "bodies": dict, "statistics": dict, "options": dict, "outcome": str, "redundant": list,
        "moved": list, "notes": list, "provenance": dict, "events": list, "impacts": list,
    }  # fmt: skip
    wrong = [key for key, kind in kinds.items() if not isinstance(record, dict) or not isinstance(record.get(key), kind)]
    if wrong:
        raise InputError(*(f"run: '{key}' is missing or damaged" for key in wrong))
    return dict(record)


def _run_info(record: Mapping[str, Any], model_text: str) -> RunInfo:
    return RunInfo(
        options=record["options"], outcome=record["outcome"],
        events=tuple(_event(k, values) for k, values in enumerate(record["events"])),
        impacts=tuple(_impact(k, values) for k, values in enumerate(record["impacts"])),
        redundant=[(str(name), int(rows)) for name, rows in record["redundant"]],
        moved=tuple(map(str, record["moved"])), notes=tuple(map(str, record["notes"])),
        provenance={str(key): str(value) for key, value in record["provenance"].items()}, model_text=model_text,
    )  # fmt: skip


def _event(number: int, values: Any) -> EventRecord:
    try:
        name, t, q, s = values
        return EventRecord(str(name), float(t), np.array(q, float).reshape(-1), np.array(s, float).reshape(-1))
    except (TypeError, ValueError):
        raise InputError(f"run: event {number} is damaged; write the file anew") from None


def _impact(number: int, values: Any) -> Impact:
    try:
        contact, t, (normal, first, second), lost = values
        return Impact(str(contact), float(t), (float(normal), float(first), float(second)), float(lost))
    except (TypeError, ValueError):
        raise InputError(f"run: impact {number} is damaged; write the file anew") from None


def _model(text: str, data: Mapping[str, FlexibleBodyData]) -> Model:
    """Bodies, joints, driven coordinates and contacts of the model: all that views need."""
    check_nesting(text, "model")
    table = tomllib.loads(text)
    model = Model(table["name"], gravity=table["gravity"], frames=table.get("frames"), cuts=table.get("cuts", ()))
    for name, values in table.get("bodies", {}).items():
        source = {"data": data[name]} if name in data else {}
        kept = {key: value for key, value in values.items() if key not in ("file", "data")}
        model.add(Body.read_kind({**kept, **source, "name": name}))
    for name, values in table.get("joints", {}).items():
        model.add(Joint.read_kind({**values, **_stand_ins(values), "name": name}))
    for name, values in table.get("drives", {}).items():
        model.add(Drive(name, values["joint"], 0.0, coordinate=values.get("coordinate", 0)))
    for name, values in table.get("contacts", {}).items():
        model.add(Contact.read_kind({**values, "name": name}))
    return model


def _stand_ins(joint: Mapping[str, Any]) -> dict[str, Any]:
    """Functions that give nought for those of a constraint of the user's own: what they did is in the stored histories."""
    n = joint.get("equations", 1)
    shapes = {"function": (n,) if joint.get("kind") == Holonomic.kind else (n, 6), "jacobian": (n, 6)}
    return {key: lambda t, x, A, shape=shape: np.zeros(shape) for key, shape in shapes.items() if key in joint}


def _trajectory(compiled: Compiled, found: Mapping[str, h5py.Dataset]) -> Trajectory:
    t, z = found["trajectory/t"], found["trajectory/z"]
    nt, nz = (t.size, z.shape[1]) if t.ndim == 1 and z.ndim == 2 else (0, 0)
    _, nq, ns, nc, _ = (int(n) for n in compiled.system.layout)
    widths = {"q": nq, "s": ns, "sd": ns, "lam": nc, "z": nz, "work": 3, "drift": 2}
    shapes = {name: (nt, widths[name]) if name in widths else (nt,) for name in STATES}
    values = Trajectory(**{name: _array(f"trajectory/{name}", found, shape) for name, shape in shapes.items()})
    shape = (nt, len(compiled.contacts), 3)
    values = values._replace(contact=_array(CONTACT, found, shape) if CONTACT in found else np.zeros(shape))
    if nt == 0 or not np.all(np.diff(values.t) >= 0):
        raise InputError("trajectory/t: the times must increase and there must be at least one")
    return values


def _applied(compiled: Compiled, found: Mapping[str, h5py.Dataset], nt: int) -> dict[str, np.ndarray]:
    """Wrenches of applied forces by the frame they act on."""
    names = {f"applied/{ref}": str(ref) for ref in compiled.frames}
    items = [item for item in found if item.startswith("applied/")]
    unknown = [item for item in items if item not in names]
    if unknown:
        raise InputError(f"{unknown[0]}: the model has no such frame")
    return {names[item]: _array(item, found, (nt, 6)) for item in items}


def _array(item: str, found: Mapping[str, h5py.Dataset], shape: tuple[int, ...]) -> np.ndarray:
    dataset = found[item]
    kind = "i" if item.endswith("/unique") else "f"
    check_storage(item, dataset, kind)
    if dataset.shape != shape:
        raise InputError(f"{item}: has shape {dataset.shape}; the model needs {shape}")
    return np.ascontiguousarray(dataset[()], dtype=np.float64 if kind == "f" else np.int64)
