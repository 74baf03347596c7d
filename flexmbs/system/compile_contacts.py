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
    Contacts, Cuts,
)  # fmt: skip

NUMBERS = Contacts._fields[:12]  # integers, −1 where a contact has none
VALUES = Contacts._fields[12:17]

Row = dict[str, float]


def compile_contacts(
    model: ModelData, places: dict[str, JointPlace], frame: Callable[[FrameRef], int], cuts: Cuts, n: int, laws: LawTable
) -> tuple[Contacts, tuple[str, ...]]:
    """Records of all contacts and the names of their rows; those with laws have the last of n couplings."""
    coupling = n - len(lawful(model))
    rows: list[Row] = []
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
                made[0] |= {"geometry_kernel": kernel.number, "geometry_index": laws.place()}
                if law is not None:
                    made[0]["coupling"] = coupling
                    coupling += 1
            case _:
                raise InputError(f"contacts.{name}: kind '{contact.kind}' is not known to the equations")
        if law is not None:
            for row in made:
                row |= {"law_kernel": law.number, "law_index": laws.place()}
        rows += made
        given += [parameters] * len(made)
        shapes += [geometry] * len(made)
    numbers = {key: np.array([row.get(key, -1) for row in rows], np.int64) for key in NUMBERS}
    values = {key: np.array([row.get(key, 0.0) for row in rows], float) for key in VALUES}
    return Contacts(**numbers, **values, geometry=table(shapes), law=table(given)), tuple(names)


def _row(contact: Contact) -> Row:
    return {"poisson": int(contact.restitution_law == "poisson"), "e": contact.restitution}


def _between_frames(contact: FrameContact, frame: Callable[[FrameRef], int]) -> Row:
    ends = {"a": frame(contact.parent), "b": frame(contact.child)}
    return _row(contact) | ends | {"et": contact.tangential_restitution, "mu": contact.friction}


def _bounds(contact: CoordinateContact, place: JointPlace, cuts: Cuts) -> list[Row]:
    rows = []
    for sign, bound in contact.bounds().values():
        v, q = place.coordinate(f"contacts.{contact.name}", contact.coordinate)
        row = _row(contact) | {"body": place.body, "cut": place.cut, "v": v, "q": q, "sign": sign, "bound": bound}
        if place.cut >= 0:
            row |= {"a": int(cuts.frame_p[place.cut]), "b": int(cuts.frame_c[place.cut])}
        rows.append(row)
    return rows
