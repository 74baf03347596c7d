"""Elements and attributes of URDF files that are read or do not affect the motion.

All others are reported.

Collision shapes and blocks for simulators are counted. Drake's extensions for reflected inertia are
read: N² I q̈ at the joint for a rotor with inertia I behind a gear of ratio N. Sources:
wiki.ros.org/urdf/XML, the schema of urdfdom, and drake.mit.edu (Tags and attributes for URDF and
SDFormat).
"""

from collections import Counter
from collections.abc import Callable, Iterator

from flexmbs.files.xml_tree import XmlElement

CHILDREN = {  # child elements that are read or do not affect the motion
    "robot": "link joint material transmission gazebo sensor",
    "link": "inertial visual collision self_collision_checking",
    "inertial": "origin mass inertia",
    "visual": "origin geometry material",
    "collision": "origin geometry verbose",
    "geometry": "box cylinder sphere mesh",
    "material": "color",
    "gazebo": "",
    "sensor": "",
    "joint": "origin parent child axis calibration dynamics limit safety_controller mimic",
    "transmission": "type joint actuator mechanicalReduction",
}
# of the ends of transmissions, which drives without rotors may ignore
ENDS = (
    "hardwareInterface",
    "mechanicalReduction",
    "mechanical_reduction",
    "offset",
    "role",
    "motorTorqueConstant",
    "encoderOffset",
)
ATTRIBUTES = {
    "robot": "name version",
    "link": "name type",
    "inertial": "",
    "visual": "name",
    "collision": "name",
    "geometry": "",
    "box": "size",
    "cylinder": "radius length",
    "sphere": "radius",
    "mesh": "filename scale",
    "material": "name",
    "color": "rgba",
    "verbose": "value",
    "transmission": "name type",
    "origin": "xyz rpy quat_xyzw",
    "mass": "value",
    "inertia": "ixx ixy ixz iyy iyz izz",
    "joint": "name type",
    "parent": "link",
    "child": "link",
    "axis": "xyz",
    "calibration": "rising falling reference_position",
    "dynamics": "damping friction",
    "limit": "lower upper effort velocity acceleration jerk",
    "mimic": "joint multiplier offset",
    "safety_controller": "soft_lower_limit soft_upper_limit k_position k_velocity",
}
COUNTED = {"collision": "collision shapes", "gazebo": "<gazebo> blocks", "sensor": "sensors"}
# elements of an actuator in a transmission
ROTOR, RATIO = "drake:rotor_inertia", "drake:gear_ratio"


def unread(root: XmlElement) -> list[str]:
    """Descriptions of elements and attributes that the model ignores, with their numbers."""
    found = Counter(_unread(root))
    return [text if count == 1 else f"{text}, {count} times" for text, count in found.items()]


def counted(root: XmlElement) -> list[str]:
    """Numbers of collision shapes and of blocks for other programs in a URDF file.

    These are never part of a model.
    """
    within = [*root.children, *(child for link in root.all("link") for child in link.children)]
    numbers = Counter(child.tag for child in within if child.tag in COUNTED)
    return [f"{count} {COUNTED[tag]}" for tag, count in numbers.items()]


def _unread(element: XmlElement) -> Iterator[str]:
    """Names of the attributes and elements that the importer does not read, recursively."""
    known = CHILDREN.get(element.tag, "").split()
    for key in element.attributes:
        if (
            element.tag in ATTRIBUTES
            and key not in ATTRIBUTES[element.tag].split()
            and not key.startswith("xmlns")
        ):
            yield f"attribute '{key}' of <{element.tag}>"
    for child in element.children:
        if element.tag in CHILDREN and known and child.tag not in known:
            yield f"<{child.tag}> in <{element.tag}>"
        elif element.tag == "transmission":
            read = (
                (ROTOR, RATIO) if child.tag == "actuator" and len(element.all("joint")) == 1 else ()
            )
            for each in child.children:
                if each.tag not in (*ENDS, *read):
                    yield f"<{each.tag}> in <{child.tag}>"
        else:
            yield from _unread(child)


def rotors(
    root: XmlElement, number: Callable[[XmlElement, str, str], float]
) -> dict[str, tuple[float, float, XmlElement]]:
    """Rotor inertia (kg m²), gear ratio and transmission element, by joint.

    ``number`` reads an attribute.
    """
    found = {}
    for transmission in root.all("transmission"):
        joints = [each.attributes.get("name", "") for each in transmission.all("joint")]
        for actuator in transmission.all("actuator"):
            rotor, ratio = actuator.first(ROTOR), actuator.first(RATIO)
            if rotor is None or len(joints) != 1:
                continue
            gear = 1.0 if ratio is None else number(ratio, "value", f"<{RATIO}>")
            found[joints[0]] = (number(rotor, "value", f"<{ROTOR}>"), gear, transmission)
    return found
