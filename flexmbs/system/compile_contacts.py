"""Contacts → flat records; bounds of a joint coordinate make one row each."""

from collections.abc import Callable

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.contacts import Contact, CoordinateContact, FrameContact
from flexmbs.model.frames import FrameRef
from flexmbs.model.model import ModelData
from flexmbs.system.compile_forces import JointPlace, lawful, table
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.records import (
    CO_A, CO_B, CO_BODY, CO_BOUND, CO_COUPLING, CO_CUT, CO_E, CO_ET, CO_LAW, CO_MU, CO_PLACE, CO_POISSON, CO_Q, CO_SHAPE,
    CO_SHAPE_PLACE, CO_SIGN, CO_V, CO_WIDTH, CUT_C, CUT_P, Contacts,
)  # fmt: skip

INFO_WIDTH = CO_SHAPE_PLACE + 1


def compile_contacts(
    model: ModelData, places: dict[str, JointPlace], frame: Callable[[FrameRef], int], cuts: np.ndarray, n: int, laws: LawTable
) -> tuple[Contacts, tuple[str, ...]]:
    """Records of all contacts and the names of their rows; those with laws have the last of n couplings."""
    coupling = n - len(lawful(model))
    rows: list[tuple[np.ndarray, np.ndarray]] = []
    shapes: list[tuple[float, ...]] = []
    given: list[tuple[float, ...]] = []
    names: list[str] = []
    for name, contact in model.contacts.items():
        law, parameters = (None, ()) if contact.law is None else contact.law.contact()
        geometry: tuple[float, ...] = ()
        match contact:
            case CoordinateContact():
                made = _bounds(contact, places[contact.joint], cuts)
                names += [f"{name}.{key}" for key in contact.bounds()]
            case FrameContact():
                made = [_between_frames(contact, frame)]
                names.append(name)
                kernel, geometry = contact.shape()
                made[0][0][CO_SHAPE], made[0][0][CO_SHAPE_PLACE] = kernel.number, laws.place()
                if law is not None:
                    made[0][0][CO_COUPLING] = coupling
                    coupling += 1
            case _:
                raise InputError(f"contacts.{name}: kind '{contact.kind}' is not known to the equations")
        if law is not None:
            for info, _ in made:
                info[CO_LAW], info[CO_PLACE] = law.number, laws.place()
        rows += made
        given += [parameters] * len(made)
        shapes += [geometry] * len(made)
    info = np.array([row[0] for row in rows], np.int64).reshape(-1, INFO_WIDTH)
    value = np.array([row[1] for row in rows], float).reshape(-1, CO_WIDTH)
    return Contacts(info, value, table(shapes), table(given)), tuple(names)


def _row(contact: Contact) -> tuple[np.ndarray, np.ndarray]:
    info, value = np.full(INFO_WIDTH, -1, np.int64), np.zeros(CO_WIDTH)
    info[CO_POISSON], value[CO_E] = int(contact.restitution_law == "poisson"), contact.restitution
    return info, value


def _between_frames(contact: FrameContact, frame: Callable[[FrameRef], int]) -> tuple[np.ndarray, np.ndarray]:
    info, value = _row(contact)
    info[CO_A], info[CO_B] = frame(contact.parent), frame(contact.child)
    value[CO_ET], value[CO_MU] = contact.tangential_restitution, contact.friction
    return info, value


def _bounds(contact: CoordinateContact, place: JointPlace, cuts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    rows = []
    for sign, bound in contact.bounds().values():
        info, value = _row(contact)
        info[CO_BODY], info[CO_CUT] = place.body, place.cut
        info[CO_V], info[CO_Q] = place.coordinate(f"contacts.{contact.name}", contact.coordinate)
        if place.cut >= 0:
            info[CO_A], info[CO_B] = cuts[place.cut, CUT_P], cuts[place.cut, CUT_C]
        value[CO_SIGN], value[CO_BOUND] = sign, bound
        rows.append((info, value))
    return rows
