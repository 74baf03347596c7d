"""Contacts → flat records; a joint limit makes one row for each of its stops."""

import math
from collections.abc import Callable

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.contacts import CornerLine, FrameContact, JointLimit, SpherePlane, SphereSphere
from flexmbs.model.frames import FrameRef
from flexmbs.model.joints import normal_directions
from flexmbs.model.model import Model
from flexmbs.system.compile_forces import JointPlace, lawful, table
from flexmbs.system.records import (
    CO_A, CO_B, CO_BODY, CO_BOUND, CO_COUPLING, CO_CUT, CO_E, CO_ET, CO_HIGH, CO_KIND, CO_LAW,
    CO_LOW, CO_MU, CO_NORMAL, CO_PLACE, CO_POISSON, CO_Q, CO_RADIUS_A, CO_RADIUS_B, CO_SIGN, CO_V, CO_WIDTH, CUT_C,
    CUT_P, LIMIT, SPHERE_PLANE, SPHERE_SPHERE, Contacts,
)  # fmt: skip

INFO_WIDTH = CO_PLACE + 1


def compile_contacts(
    model: Model, places: dict[str, JointPlace], frame: Callable[[FrameRef], int], cuts: np.ndarray, couplings: int, forces: int
) -> tuple[Contacts, tuple[str, ...]]:
    """Records of all contacts and the names of their rows; those with laws have the last of the ``couplings``.

    forces: number of all forces, behind which the contacts stand as places of laws.
    """
    coupling = couplings - len(lawful(model))
    rows: list[tuple[np.ndarray, np.ndarray]] = []
    laws: list[tuple[float, ...]] = []
    names: list[str] = []
    for name, contact in model.contacts.items():
        made: list[tuple[np.ndarray, np.ndarray]]
        match contact:
            case JointLimit():
                made = _limits(contact, places[contact.joint], cuts)
                names += [f"{name}.{key}" for key in ("lower", "upper") if getattr(contact, key) is not None]
            case FrameContact():
                made = [_between_frames(contact, frame)]
                names.append(name)
            case _:
                raise InputError(f"contacts.{name}: kind '{contact.kind}' is not known to the equations")
        parameters: tuple[float, ...] = ()
        if contact.law is not None:
            law, parameters = contact.law.contact()
            for info, _ in made:
                info[CO_LAW] = law.number
            if isinstance(contact, FrameContact):
                made[0][0][CO_COUPLING] = coupling
                coupling += 1
        rows += made
        laws += [parameters] * len(made)
    info = np.array([row[0] for row in rows], np.int64).reshape(-1, INFO_WIDTH)
    info[:, CO_PLACE] = forces + np.arange(len(rows))
    value = np.array([row[1] for row in rows], float).reshape(-1, CO_WIDTH)
    return Contacts(info, value, table(laws)), tuple(names)


def _row(kind: int) -> tuple[np.ndarray, np.ndarray]:
    info, value = np.full(INFO_WIDTH, -1, np.int64), np.zeros(CO_WIDTH)
    info[CO_KIND], info[CO_POISSON] = kind, 0
    value[CO_LOW], value[CO_HIGH] = -math.inf, math.inf
    return info, value


def _between_frames(contact: FrameContact, frame: Callable[[FrameRef], int]) -> tuple[np.ndarray, np.ndarray]:
    info, value = _row(SPHERE_PLANE)
    match contact:
        case SpherePlane():
            value[CO_RADIUS_B] = contact.radius
            value[CO_NORMAL:CO_RADIUS_A] = np.ravel([contact.normal, *normal_directions(contact.normal)])
        case CornerLine():
            across = np.cross(contact.normal, contact.direction)
            value[CO_NORMAL:CO_RADIUS_A] = np.ravel([contact.normal, contact.direction, across])
            if contact.length is not None:
                value[CO_LOW], value[CO_HIGH] = 0.0, contact.length
        case SphereSphere():
            info[CO_KIND] = SPHERE_SPHERE
            value[CO_RADIUS_A], value[CO_RADIUS_B] = contact.radius_parent, contact.radius_child
        case _:
            raise InputError(f"contacts.{contact.name}: kind '{contact.kind}' is not known to the equations")
    info[CO_A], info[CO_B] = frame(contact.parent), frame(contact.child)
    info[CO_POISSON] = int(contact.restitution_law == "poisson")
    value[CO_E], value[CO_ET], value[CO_MU] = contact.restitution, contact.tangential_restitution, contact.friction
    return info, value


def _limits(contact: JointLimit, place: JointPlace, cuts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    rows = []
    for sign, bound in ((1.0, contact.lower), (-1.0, contact.upper)):
        if bound is not None:
            info, value = _row(LIMIT)
            info[CO_BODY], info[CO_CUT] = place.body, place.cut
            info[CO_V], info[CO_Q] = place.coordinate(f"contacts.{contact.name}", contact.coordinate)
            if place.cut >= 0:
                info[CO_A], info[CO_B] = cuts[place.cut, CUT_P], cuts[place.cut, CUT_C]
            info[CO_POISSON] = int(contact.restitution_law == "poisson")
            value[CO_SIGN], value[CO_BOUND], value[CO_E] = sign, bound, contact.restitution
            rows.append((info, value))
    return rows
