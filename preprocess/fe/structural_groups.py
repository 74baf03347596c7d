"""Beams and shells of a mesh, in groups of one type, section and material."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flexmbs.errors import InputError
from preprocess.elements.structural import STRUCTURAL
from preprocess.fe.beam_section_base import BeamSection
from preprocess.fe.element_groups import Materials, owners_by_block
from preprocess.fe.freedoms import NONE, Freedoms, Indices
from preprocess.fe.material import Isotropic, Material
from preprocess.fe.offset_triangles import offset_triangles
from preprocess.fe.section_base import Section
from preprocess.fe.shell_normals import facets_beyond, smooth_normals
from preprocess.fe.structural_element import StructuralElement
from preprocess.inputs.argument_checks import instance
from preprocess.mesh.declarations import MassMatrix
from preprocess.mesh.mesh import Mesh

Sections = Section | Mapping[str, Section]


def element_class(name: str, varies: bool = False) -> Any:
    """Class of an element type, for sections that vary along it if ``varies``."""
    own = STRUCTURAL[name]
    found = (varies and own.varying) or own.formulation
    return pkgutil.resolve_name(f"preprocess.fe.{found}")


def structural_groups(
    mesh: Mesh,
    material: Materials,
    sections: Sections,
    freedoms: Freedoms,
    *,
    mass: MassMatrix = "consistent",
) -> tuple[StructuralElement, ...]:
    """Beams and shells of a mesh by section and material.

    sections: one for all structural elements, or by element set; freedoms: of the nodes; mass: its
    formulation. Raises InputError as `element_groups`.
    """
    if not mesh.structural:
        return ()
    materials = owners_by_block(mesh, mesh.blocks, material, "material")
    owners = owners_by_block(mesh, mesh.structural, sections, "sections")
    found = []
    for name, block in mesh.structural.items():
        owner = np.zeros((len(block.ids), 2), dtype=np.int64)
        for column, parts in enumerate((owners[name], materials[name])):
            for k, (_, rows) in enumerate(parts):
                owner[rows, column] = k
        for both in np.unique(owner, axis=0):
            (section, _), (own, _) = owners[name][both[0]], materials[name][both[1]]
            _check_section(mesh, name, section)
            _check_material(mesh, name, own)
            rows = np.flatnonzero((owner == both).all(axis=1))
            table = block.connectivity[rows]
            made = element_class(name, section.varies)
            rows_of = name, table, block.ids[rows], mesh.node_ids[table]
            at = mesh.nodes[table]
            found.append(made(*rows_of, own, freedoms, at, section=section, mass=mass))
    return tuple(_on_one_surface(found, mesh))


def _on_one_surface(found: list[Any], mesh: Mesh) -> list[Any]:
    """Groups whose shells have common normals at a node, for all sections, types and pieces.

    Triangles are moved to their offset.
    """
    shells = [each for each in found if STRUCTURAL[each.kind].family == "shell"]
    normals = dict(zip(map(id, shells), smooth_normals([*shells, *facets_beyond(mesh)])))
    placed = [
        replace(each, smooth=normals[id(each)]) if id(each) in normals else each for each in found
    ]
    return [
        offset_triangles(each) if each.kind == "tri3" and each.section.offset else each
        for each in placed
    ]


def turning_nodes(mesh: Mesh) -> Indices:
    """Nodes of beams and shells, which have a rotation."""
    tables = [
        block.connectivity.ravel()
        for name, block in mesh.structural.items()
        if element_class(name).rotates
    ]
    return np.unique(np.concatenate([NONE, *tables]))


def _check_material(mesh: Mesh, name: str, material: Material) -> None:
    """Raise InputError for beams of an anisotropic material, whose axes are those of the mesh."""
    if STRUCTURAL[name].family != "shell" and not isinstance(material, Isotropic):
        raise InputError(
            f"{mesh.source}: material: {name} elements need an Isotropic one, not "
            f"{type(material).__name__}"
        )


def _check_section(mesh: Mesh, name: str, section: Section) -> None:
    """Raise `InputError` for objects that are not sections, or do not suit the elements."""
    instance(
        section,
        Section,
        f"{mesh.source}: sections",
        "a section, such as TubularSection(0.05, 0.002)",
    )
    if name not in section.elements:
        kinds = ", ".join(section.elements)
        raise InputError(
            f"{mesh.source}: sections: {type(section).__name__} is of {kinds} elements, "
            f"not of {name}; give another"
        )
    if (
        name == "line3"
        and isinstance(section, BeamSection)
        and (section.ends is not None or any(section.released))
    ):
        raise InputError(
            f"{mesh.source}: sections: ends and released apply to line2 elements only, not to "
            f"{name}; give two-node beams there"
        )
