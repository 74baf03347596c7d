"""Elements of SDF files that are read or do not affect the motion.

All others, including misspelt ones, are noted.

Collisions and plugins are noted by their number; limits of efforts and velocities only bound
controllers. Source: SDFormat specification 1.12.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from flexmbs.files.xml_tree import XmlElement
from flexmbs.robots.import_result import ImportLog
from flexmbs.robots.sdf.scopes import Scope
from flexmbs.robots.urdf_elements import RATIO, ROTOR

ATTRIBUTES = {  # of the elements that are read
    "name",
    "type",
    "version",
    "relative_to",
    "attached_to",
    "expressed_in",
    "rotation_format",
    "degrees",
    "canonical_link",
    "placement_frame",
    "auto",
    "merge",
    "joint",
    "axis",
    "namespace",
    "default",
}
KNOWN = {  # child elements that are read, then those that do not affect the motion
    "world": "gravity model include frame joint plugin light physics scene gui atmosphere "
    "magnetic_field spherical_coordinates "
    "audio road static",
    "model": "static pose link joint frame model include plugin self_collide allow_auto_disable",
    "link": "pose inertial gravity collision visual sensor light self_collide audio_source "
    "audio_sink projector particle_emitter "
    "battery",
    "joint": f"parent child pose axis axis2 screw_thread_pitch sensor physics {ROTOR} {RATIO}",
    "axis": "xyz dynamics limit mimic use_parent_model_frame",
    "dynamics": "damping friction spring_stiffness spring_reference",
    "limit": "lower upper effort velocity stiffness dissipation",
    "mimic": "multiplier offset reference",
    "inertial": "pose mass inertia density fluid_added_mass",
    "inertia": "ixx iyy izz ixy ixz iyz",
    "frame": "pose",
    "include": "uri name pose static placement_frame plugin namespace",
    "visual": "pose geometry material transparency cast_shadows laser_retro visibility_flags meta "
    "plugin",
    "geometry": "empty box sphere ellipsoid cylinder capsule mesh",
    "box": "size",
    "sphere": "radius",
    "ellipsoid": "radii",
    "cylinder": "radius length",
    "capsule": "radius length",
    "mesh": "uri scale",
    "material": "diffuse ambient specular emissive shininess double_sided lighting render_order",
}
WITHIN = {  # elements that are searched for unknown ones
    "world": (),
    "model": (),
    "link": ("inertial", "visual"),
    "visual": ("geometry", "material"),
    "geometry": ("box", "sphere", "ellipsoid", "cylinder", "capsule", "mesh"),
    "inertial": ("inertia",),
    "joint": ("axis", "axis2"),
    "axis": ("dynamics", "limit", "mimic"),
}
NOTHING = ("0", "false", "")


def note_unread(scopes: Sequence[Scope], report: ImportLog) -> None:
    """Note every unknown element of models, links and joints."""
    found: Counter[str] = Counter()
    for scope in scopes:
        included = scope.element.all("include")
        for element in (
            scope.element,
            *scope.links.values(),
            *scope.joints.values(),
            *scope.frames.values(),
            *included,
        ):
            found.update(_unread(element))
    for what, count in found.items():
        report.note(what if count == 1 else f"{what}, {count} times")


def _unread(element: XmlElement) -> Iterator[str]:
    """Names of the attributes and elements that the importer does not read, recursively."""
    kind = "axis" if element.tag == "axis2" else element.tag
    yield from _unread_attributes(element)
    for child in element.children:
        if child.tag not in KNOWN[kind].split() and (child.children or child.text not in NOTHING):
            yield f"<{child.tag}> of <{element.tag}>"
        elif child.tag in WITHIN.get(kind, ()):
            yield from _unread(child)
        elif not child.children and child.tag != "plugin":
            yield from _unread_attributes(child)


def _unread_attributes(element: XmlElement) -> Iterator[str]:
    for key, value in element.attributes.items():
        # programs write frame="" in each pose
        if key not in ATTRIBUTES and not key.startswith("xmlns") and value:
            yield f"attribute '{key}' of <{element.tag}>"
