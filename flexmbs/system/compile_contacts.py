"""Contacts → flat records.

Each bound of a joint coordinate makes one row.
"""

from collections.abc import Callable

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.contacts import (
    CoordinateContact,
    DryFriction,
    FrameContact,
    UnilateralContact,
    UnilateralCoupling,
    UserContact,
)
from flexmbs.model.frames import FrameRef
from flexmbs.model.model import ModelData
from flexmbs.system.compile_forces import JointPlace, law_contact_frames, table
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.coordinate_functions import addresses
from flexmbs.system.pose_functions import (
    check_shape,
    examined_pose,
    row_address,
    slope_address,
    value_address,
)
from flexmbs.system.records import (
    OF_COORDINATES,
    OF_FRICTION,
    OF_POSE,
    Contacts,
    CouplerTerms,
    Cuts,
)
from flexmbs.system.start_poses import StartPoses

NUMBERS = Contacts._fields[:19]  # integers, −1 where a contact has none
VALUES = Contacts._fields[19:27]

Row = dict[str, float]


def compile_contacts(
    model: ModelData,
    places: dict[str, JointPlace],
    frame: Callable[[FrameRef], int],
    moving: tuple[Cuts, list[int]],
    n: int,
    laws: LawTable,
    poses: StartPoses,
) -> tuple[Contacts, tuple[str, ...], list[int]]:
    """Records of all contacts, the names of their rows, and the extended paths.

    Contacts between frames with force laws have the last of the n couplings. moving: the paths of
    bodies that move something, to which those of the contacts are appended.
    """
    cuts, paths = moving
    terms: list[tuple[int, ...]] = []
    coupling = n - len(law_contact_frames(model))
    rows: list[Row] = []
    shapes: list[tuple[float, ...]] = []
    given: list[tuple[float, ...]] = []
    names: list[str] = []
    for name, contact in model.contacts.items():
        law, parameters = (
            contact.law.contact()
            if isinstance(contact, UnilateralContact) and contact.law
            else (None, ())
        )
        geometry: tuple[float, ...] = ()
        match contact:
            case CoordinateContact():
                made = _bounds(contact, places[contact.joint], cuts)
                names += [f"{name}.{key}" for key in contact.bounds()]
            case DryFriction():
                made, geometry = (
                    [_of_friction(contact, places[contact.joint], cuts)],
                    contact.limits,
                )
                names.append(name)
            case UnilateralCoupling():
                own = _terms(contact, places, model)
                at, to = len(paths), len(terms)
                terms += own
                paths = [*paths, *_movers(own, cuts, paths)]
                made = [
                    _of_coordinates(contact, laws, model)
                    | {"first": to, "end": len(terms), "path": at, "path_end": len(paths)}
                ]
                names.append(name)
            case FrameContact():
                made = [_between_frames(contact, frame)]
                names.append(name)
                if isinstance(contact, UserContact):
                    made[0] |= _of_pose(contact, laws, poses)
                else:
                    kernel, geometry = contact.shape()
                    made[0] |= {"geometry_kernel": kernel.number, "geometry_index": laws.place()}
                if law is not None:
                    made[0]["coupling"] = coupling
                    coupling += 1
            case _:
                raise InputError(
                    f"contacts.{name}: kind '{contact.kind}' is not known to the equations"
                )
        if law is not None:
            for row in made:
                row |= {"law_kernel": law.number, "law_index": laws.place()}
        rows += made
        given += [parameters] * len(made)
        shapes += [geometry] * len(made)
    numbers = {key: np.array([row.get(key, -1) for row in rows], np.int64) for key in NUMBERS}
    values = {key: np.array([row.get(key, 0.0) for row in rows], float) for key in VALUES}
    for key in ("first", "end", "path", "path_end"):
        numbers[key] = np.maximum(numbers[key], 0)
    body, cut, v, q = np.array(terms, np.int64).reshape(-1, 4).T.copy()
    number, ones = np.zeros(len(body), np.int64), np.ones(len(body))
    coordinates = CouplerTerms(number, body, cut, v, q, ones, ones)
    return (
        Contacts(**numbers, **values, geometry=table(shapes), law=table(given), terms=coordinates),
        tuple(names),
        paths,
    )


def _terms(
    contact: UnilateralCoupling, places: dict[str, JointPlace], model: ModelData
) -> list[tuple[int, ...]]:
    """(body, cut, velocity, position) of the coordinates of a unilateral coupling."""
    found: list[tuple[int, ...]] = []
    for use in contact.coordinates(model.joints):
        place = places[use.joint]
        found.append(
            (place.body, place.cut, *place.coordinate(f"contacts.{contact.name}", use.coordinate))
        )
    return found


def _movers(terms: list[tuple[int, ...]], cuts: Cuts, paths: list[int]) -> list[int]:
    """Bodies whose velocities change the coordinates of a contact."""
    found = (
        paths[cuts.path[cut] : cuts.path_end[cut]] if cut >= 0 else [body]
        for body, cut, *_ in terms
    )
    return sorted({body for bodies in found for body in bodies})


def _of_coordinates(contact: UnilateralCoupling, laws: LawTable, model: ModelData) -> Row:
    """Record of a unilateral coupling of joint coordinates."""
    value, row = addresses(laws, contact, model.joints)
    made: Row = {
        "geometry_kernel": OF_COORDINATES,
        "function": laws.pose(value),
        "row_function": laws.pose(row),
    }
    return _row(contact) | made


def _of_pose(contact: UserContact, laws: LawTable, poses: StartPoses) -> Row:
    """Record of the user functions of a contact between frames."""
    name, callbacks, timed = f"contacts.{contact.name}", laws.callbacks, contact.rheonomic
    given = {key: getattr(contact, key) for key in ("function", "jacobian", "slip")}
    functions = {f"{name}.{key}": function for key, function in given.items()}
    at = examined_pose(lambda: poses.relative(contact.parent, contact.child), functions)
    check_shape(f"{name}.function", contact.function, at, (1,))
    made: Row = {
        "geometry_kernel": OF_POSE,
        "function": laws.pose(value_address(callbacks, name, contact.function, 1, at)),
    }
    if contact.jacobian is None:
        made["row_function"] = laws.pose(slope_address(laws, name, contact.function, 1, timed, at))
    else:
        check_shape(f"{name}.jacobian", contact.jacobian, at, (1, 7) if timed else (1, 6))
        made["row_function"] = laws.pose(row_address(callbacks, name, contact.jacobian, 1, at))
    if contact.slip is not None:
        check_shape(
            f"{name}.slip", contact.slip, at, *((2, n) for n in ((6, 7) if timed else (6,)))
        )
        made["slip_function"] = laws.pose(row_address(callbacks, name, contact.slip, 2, at))
    return made


def _row(contact: UnilateralContact) -> Row:
    """Record of the impact law of a contact."""
    return {"poisson": int(contact.restitution_law == "poisson"), "e": contact.restitution}


def _between_frames(contact: FrameContact, frame: Callable[[FrameRef], int]) -> Row:
    """Record of a contact between two frames, with friction."""
    ends = {"a": frame(contact.parent), "b": frame(contact.child)}
    made = _row(contact) | ends | {"et": contact.tangential_restitution, "mu": contact.friction}
    if contact.law is None:
        return made
    turning = {"rolling": contact.rolling_friction, "torsional": contact.torsional_friction}
    # 0: no moments
    return made | turning | {"turn_rate": contact.law.turn_rate if any(turning.values()) else 0.0}


def _bounds(contact: CoordinateContact, place: JointPlace, cuts: Cuts) -> list[Row]:
    """Records of the bounds of a joint limit."""
    at = _of_coordinate(contact, place, cuts)
    return [
        _row(contact) | at | {"sign": sign, "bound": bound}
        for sign, bound in contact.bounds().values()
    ]


def _of_friction(contact: DryFriction, place: JointPlace, cuts: Cuts) -> Row:
    """Record of dry friction in a joint, a contact without a gap."""
    kind: Row = {"geometry_kernel": OF_FRICTION, "poisson": 0, "mu": 1.0, "sign": 1.0}
    return kind | _of_coordinate(contact, place, cuts)


def _of_coordinate(contact: CoordinateContact | DryFriction, place: JointPlace, cuts: Cuts) -> Row:
    """Record of a contact on a joint coordinate."""
    v, q = place.coordinate(f"contacts.{contact.name}", contact.coordinate)
    row: Row = {"body": place.body, "cut": place.cut, "v": v, "q": q}
    if place.cut >= 0:
        row |= {"a": int(cuts.frame_p[place.cut]), "b": int(cuts.frame_c[place.cut])}
    return row
