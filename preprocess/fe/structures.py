"""The beams and shells of a mesh, in groups of one type, section and material."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.errors import InputError
from preprocess.fe.beam_section import BeamSection
from preprocess.fe.beams import Beams
from preprocess.fe.curved_beams import CurvedBeams
from preprocess.fe.element_groups import Materials, owners_by_block
from preprocess.fe.freedoms import NONE, Freedoms, Indices
from preprocess.fe.material import Isotropic, Material
from preprocess.fe.section import Section
from preprocess.fe.shells import Shells
from preprocess.fe.straight_beams import StraightBeams
from preprocess.fe.structure import Structure
from preprocess.fe.tapered_beams import TaperedBeams
from preprocess.fe.trusses import Trusses
from preprocess.inputs.arguments import instance
from preprocess.mesh.mesh import Mesh

Sections = Section | Mapping[str, Section]
CLASSES: dict[str, type[Structure]] = {
    "truss2": Trusses,
    "line2": StraightBeams,
    "line3": CurvedBeams,
    "tri3": Shells,
    "quad4": Shells,
    "tri6": Shells,
    "quad8": Shells,
}
TAPERED: dict[str, type[Structure]] = {"line2": TaperedBeams}


def structures(mesh: Mesh, material: Materials, sections: Sections, freedoms: Freedoms) -> tuple[Structure, ...]:
    """The beams and shells of a mesh by section and material.

    sections: one for all structural elements, or by element set; freedoms: of the nodes.  Raises InputError as `element_groups`.
    """
    if not mesh.structural:
        return ()
    materials = owners_by_block(mesh, mesh.blocks, material, "material")
    owners = owners_by_block(mesh, mesh.structural, sections, "sections")
    found = []
    for name, block in mesh.structural.items():
        for section, rows in owners[name]:
            _check_section(mesh, name, section)
            for own, others in materials[name]:
                _check_material(mesh, name, own)
                both = np.intersect1d(rows, others)
                table = block.connectivity[both]
                if len(both):
                    rows_of = name, table, block.ids[both], mesh.node_ids[table]
                    made: Any = (TAPERED if section.varies else CLASSES).get(name, CLASSES[name])
                    found.append(made(*rows_of, own, freedoms, mesh.nodes[table], section=section))
    return tuple(found)


def turning_nodes(mesh: Mesh) -> Indices:
    """Nodes of beams and shells."""
    tables = [block.connectivity.ravel() for name, block in mesh.structural.items() if CLASSES[name].rotates]
    return np.unique(np.concatenate([NONE, *tables]))


def _check_material(mesh: Mesh, name: str, material: Material) -> None:
    """Raise InputError for beams of a material that is not isotropic: its axes are those of the mesh."""
    if issubclass(CLASSES[name], (Beams, Trusses)) and not isinstance(material, Isotropic):
        raise InputError(f"{mesh.source}: material: {name} elements need an Isotropic one, not {type(material).__name__}")


def _check_section(mesh: Mesh, name: str, section: Section) -> None:
    instance(section, Section, f"{mesh.source}: sections", "a section, such as TubularSection(0.05, 0.002)")
    if name not in section.elements:
        kinds = ", ".join(section.elements)
        raise InputError(f"{mesh.source}: sections: {type(section).__name__} is of {kinds} elements, not of {name}; give another")
    if name == "line3" and isinstance(section, BeamSection) and (section.ends is not None or any(section.released)):
        raise InputError(
            f"{mesh.source}: sections: ends and released are of line2 elements, not of {name}; give two-node beams there"
        )
