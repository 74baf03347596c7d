"""Parts and instances of an Abaqus file.

Each instance is a moved copy of its part with separate numbers and set names.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.claims import Claims

Array = NDArray[np.float64]
Rows = list[tuple[str, str]]  # location in the file, and text


@dataclass
class AbaqusContent:
    """Content of a model, a part or an instance read so far; sets hold numbers.

    surfaces: (set or number, face) by name, face "" for the outer faces of the set; shifts: offsets
    of the node and element numbers of each instance; own: those of the assembly's own nodes;
    claims: of the file; structural: whether beams and shells are read; system: origin and axes (columns) of the
    coordinates of subsequent nodes; beside: node that defines the first axis of a beam, by number
    of the beam; normals: (element or set, node or set, direction).
    """

    nodes: dict[int, tuple[float, ...]] = field(default_factory=dict)
    elements: dict[int, tuple[str, list[int]]] = field(default_factory=dict)
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)
    surfaces: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    node_surfaces: list[str] = field(default_factory=list)
    shifts: dict[str, tuple[int, int]] = field(default_factory=dict)
    own: tuple[int, int] = (0, 0)
    claims: Claims = field(default_factory=Claims)
    structural: bool = False
    system: tuple[Array, Array] | None = None
    beside: dict[int, int] = field(default_factory=dict)
    normals: list[tuple[str, str, tuple[float, ...], str]] = field(default_factory=list)

    def copy(self) -> "AbaqusContent":
        """Copy of the content of a part, for an instance to extend."""
        return replace(
            self,
            nodes=dict(self.nodes),
            elements=dict(self.elements),
            node_sets={name: list(members) for name, members in self.node_sets.items()},
            element_sets={name: list(members) for name, members in self.element_sets.items()},
            surfaces=dict(self.surfaces),
            node_surfaces=list(self.node_surfaces),
            beside=dict(self.beside),
            normals=list(self.normals),
            system=None,
            shifts={},
            own=(0, 0),
        )


def split(text: str) -> list[str]:
    """Fields of a line, separated by commas."""
    return [part.strip() for part in text.split(",")]


def add_instance(
    model: AbaqusContent, name: str, instance: AbaqusContent, motion: tuple[Array, Array]
) -> None:
    """Add the moved content of a part instance to the model, with its sets renamed.

    x ↦ R x + t, numbers above the existing ones, sets and surfaces named "instance.set".
    """
    R, t = motion
    up, up_e = _offset(model.nodes, instance.nodes), _offset(model.elements, instance.elements)
    model.shifts[name.upper()] = up, up_e
    if instance.nodes:
        moved = np.array(list(instance.nodes.values())) @ R.T + t
        model.nodes |= {n + up: tuple(x) for n, x in zip(instance.nodes, moved.tolist())}
    model.elements |= {
        n + up_e: (kind, [node + up for node in nodes])
        for n, (kind, nodes) in instance.elements.items()
    }
    model.node_sets |= {
        f"{name}.{key}": [n + up for n in members] for key, members in instance.node_sets.items()
    }
    model.element_sets |= {
        f"{name}.{key}": [n + up_e for n in members]
        for key, members in instance.element_sets.items()
    }
    model.beside |= {n + up_e: node + up for n, node in instance.beside.items()}
    for element, node, direction, line in instance.normals:
        first, second = (
            str(int(k) + shift) if k.isdecimal() else f"{name}.{k}"
            for k, shift in ((element, up_e), (node, up))
        )
        model.normals.append(
            (first if element else "", second, tuple((R @ np.array(direction)).tolist()), line)
        )
    for key, items in instance.surfaces.items():
        raised = up if key in instance.node_surfaces else up_e
        model.surfaces[f"{name}.{key}"] = [
            (str(int(i) + raised) if i.isdigit() else f"{name}.{i}", face) for i, face in items
        ]
    model.node_surfaces += [f"{name}.{key}" for key in instance.node_surfaces]


def number_apart(model: AbaqusContent) -> None:
    """Offset the numbers of the assembly's own nodes and elements above those of the instances.

    Reference points, for example.
    """
    model.own = _offset(model.nodes, (1,)), _offset(model.elements, (1,))


def _offset(there: Iterable[int], new: Iterable[int]) -> int:
    """Offset of new numbers: zero for the first, otherwise a power of ten above all numbers."""
    last = max(new, default=0)
    highest = max(there, default=0)
    return int(10 ** len(str(max(last, highest)))) if highest else 0


def with_plain_names(model: AbaqusContent) -> AbaqusContent:
    """Model whose sets lack the prefix "instance." if there is a single instance.

    Names that would become ambiguous keep the prefix.
    """
    if len(model.shifts) != 1:
        return model
    (instance,) = model.shifts
    node_sets, element_sets = (
        _names_without_prefix(model.node_sets, instance),
        _names_without_prefix(model.element_sets, instance),
    )
    surfaces = _names_without_prefix(model.surfaces, instance)
    items = {**node_sets, **element_sets}
    return replace(
        model,
        node_sets={node_sets[key]: members for key, members in model.node_sets.items()},
        element_sets={element_sets[key]: members for key, members in model.element_sets.items()},
        surfaces={
            surfaces[key]: [(items.get(i, i), face) for i, face in rows]
            for key, rows in model.surfaces.items()
        },
        node_surfaces=[surfaces[key] for key in model.node_surfaces],
    )


def _names_without_prefix(names: Iterable[str], instance: str) -> dict[str, str]:
    """Names without the prefix "instance.", unless taken."""
    taken = {name.upper() for name in names}
    cut = {
        name: name[len(instance) + 1 :] for name in names if name.upper().startswith(f"{instance}.")
    }
    return {
        name: cut[name] if name in cut and cut[name].upper() not in taken else name
        for name in names
    }


def instance_motion(rows: Rows) -> tuple[Array, Array]:
    """Rotation and translation (R, t) of an instance from its data lines.

    A row with the translation, then one with two points of an axis and the rotation angle
    (degrees). Source: Abaqus Keywords Reference Guide, *INSTANCE.
    """
    numbers = [_numbers(where, split(text)) for where, text in rows[:2]]
    t = np.array((numbers[0] + [0.0] * 3)[:3]) if numbers else np.zeros(3)
    if len(numbers) < 2:
        return np.eye(3), t
    if len(numbers[1]) != 7:
        raise InputError(
            f"{rows[1][0]}: expected two points of an axis and an angle, found "
            f"{len(numbers[1])} numbers"
        )
    a, b, angle = np.array(numbers[1][:3]), np.array(numbers[1][3:6]), np.radians(numbers[1][6])
    length = float(np.linalg.norm(b - a))
    if not length > 0:
        raise InputError(
            f"{rows[1][0]}: the axis of the rotation has zero length; give two different points"
        )
    x, y, z = (b - a) / length
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    R = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return R, R @ (t - a) + a


def _numbers(where: str, fields: list[str]) -> list[float]:
    """Finite numbers of the fields. Raises `InputError`."""
    try:
        values = [plain_numbers.real(f) for f in fields if f]
    except ValueError:
        raise InputError(f"{where}: expected numbers, found '{', '.join(fields)[:60]}'") from None
    if not np.isfinite(values).all():
        raise InputError(f"{where}: numbers must be finite")
    return values
