"""Attributes of MJCF files that are read, and those that do not affect the motion.

All others, including misspelt ones, are noted.

Contacts of geoms are left out and equality constraints hold exactly, so attributes that only affect
these are idle. Source: MuJoCo documentation, XML reference.
"""

from collections import Counter
from collections.abc import Iterator

from flexmbs.files.xml_tree import XmlElement
from flexmbs.robots.import_result import ImportLog
from flexmbs.robots.mjcf.document import ACTUATORS

ELSEWHERE = {  # sections for rendering, sensors, sizes and data, or noted as a whole
    "asset",
    "visual",
    "statistic",
    "size",
    "sensor",
    "custom",
    "extension",
    "deformable",
    "contact",
}
TURNED = "quat axisangle xyaxes zaxis euler"
SOFTNESS = "solref solimp"
LOOKS = "rgba material user group"
DRIVEN = (
    "gear ctrlrange ctrllimited forcerange forcelimited joint jointinparent tendon site "
    "refsite body cranksite"
)
READ = {
    "mujoco": "model",
    "compiler": "angle eulerseq autolimits inertiafromgeom inertiagrouprange boundmass boundinertia "
    "balanceinertia settotalmass "
    "coordinate",
    "option": "gravity actuatorgroupdisable density viscosity wind",
    "flag": "gravity passive spring damper frictionloss limit equality constraint actuation "
    "clampctrl",
    "worldbody": "childclass",
    "frame": f"pos childclass {TURNED}",
    "body": f"pos childclass gravcomp mocap {TURNED}",
    "inertial": f"pos mass diaginertia fullinertia {TURNED}",
    "joint": "type axis pos ref range limited stiffness damping springref springdamper armature "
    "frictionloss actuatorfrcrange "
    "actuatorfrclimited",
    "freejoint": "",
    "geom": "type size pos fromto mass density group mesh contype conaffinity fluidshape "
    f"shellinertia {TURNED}",
    "site": f"pos fromto {TURNED}",
    "general": f"{DRIVEN} gaintype gainprm biastype biasprm dyntype dynprm inheritrange",
    "motor": DRIVEN,
    "position": f"{DRIVEN} kp kv dampratio timeconst inheritrange",
    "velocity": f"{DRIVEN} kv",
    "damper": f"{DRIVEN} kv",
    "fixed": "stiffness damping springlength frictionloss armature limited range",
    "tendon": "",
    "connect": "active body1 body2 anchor site1 site2",
    "weld": "active body1 body2 anchor relpose site1 site2 torquescale",
    "joint of equality": "active joint1 joint2 polycoef",
    "tendon of equality": "active tendon1 tendon2 polycoef",
    "equality": "active",
    "joint of fixed": "joint coef",
    "key": "qpos qvel ctrl",
}
IDLE = {
    "compiler": "assetdir meshdir texturedir strippath discardvisual fusestatic usethread "
    "saveinertial savecanonical "
    "savecompiled fitaabb convexhull conflict passthrough exactmeshinertia",
    "option": "timestep integrator solver cone jacobian iterations tolerance ls_iterations "
    "ls_tolerance noslip_iterations "
    "noslip_tolerance ccd_iterations ccd_tolerance sdf_iterations sdf_initpoints "
    "mpr_iterations mpr_tolerance impratio magnetic "
    "sleep_tolerance o_margin o_solref o_solimp o_friction apirate collision",
    "flag": "contact warmstart filterparent refsafe sensor midphase eulerdamp autoreset nativeccd "
    "island energy fwdinv "
    "invdiscrete multiccd sleep override diagexact ipc speculative",
    "body": "user simple sleep fuse",
    "joint": "group user margin solreflimit solimplimit solreffriction solimpfriction "
    "actuatorgravcomp",
    "freejoint": "group",
    "geom": f"{LOOKS} {SOFTNESS} friction condim priority margin gap solmix hfield fitscale "
    "castshadow fluidcoef adhesion "
    "surfacevel",
    "site": f"type size mesh {LOOKS}",
    "connect": SOFTNESS,
    "weld": SOFTNESS,
    "joint of equality": SOFTNESS,
    "tendon of equality": SOFTNESS,
    "equality": SOFTNESS,
    "fixed": f"{LOOKS} margin width solreflimit solimplimit solreffriction solimpfriction",
    "key": "time mpos mquat",
}
OF_ACTUATORS = (
    "group user lengthrange cranklength slidersite actearly interp nsample delay armature damping"
)
INNER = {  # elements by parent element; others are noted, or rejected by their reader
    "mujoco": "compiler option default worldbody tendon equality constraint actuator keyframe "
    "include",
    "option": "flag",
    "compiler": "lengthrange",
    "equality": "connect weld joint tendon flex flexvert flexstrain",
    "tendon": "fixed spatial",
    "fixed": "joint",
    "actuator": " ".join((*ACTUATORS, "plugin")),
    "keyframe": "key",
    "worldbody": "body frame geom site joint freejoint camera light replicate attach composite "
    "flexcomp inertial",
    "default": "default mesh texture material joint geom site camera light pair equality tendon "
    "general " + " ".join(ACTUATORS),
}
INNER |= {
    "body": f"{INNER['worldbody']} plugin",
    "frame": f"{INNER['worldbody']} plugin",
    "constraint": INNER["equality"],
}
UNMOVED = {
    "camera",
    "light",
    "mesh",
    "texture",
    "material",
    "pair",
    "plugin",
    "replicate",
    "attach",
    "composite",
    "flexcomp",
    "spatial",
    "lengthrange",
    "flex",
    "flexvert",
    "flexstrain",
}
NOTHING = ("", "false", "none", "auto")  # values that do not enable anything


def note_unread(root: XmlElement, report: ImportLog) -> None:
    """Note every attribute that is neither read nor idle, and every unknown element."""
    found = Counter(_unread(root, ""))
    for what, count in found.items():
        report.note(what if count == 1 else f"{what}, {count} times")


def _unread(element: XmlElement, around: str) -> Iterator[str]:
    """Names of the attributes and elements that the importer does not read, recursively."""
    kind = f"{element.tag} of {around}" if f"{element.tag} of {around}" in READ else element.tag
    if around == "default" and element.tag == "tendon":
        kind = "fixed"
    if element.tag in UNMOVED:
        return
    if element.tag in READ or element.tag in INNER:
        known = {"name", "class", *READ.get(kind, "").split(), *IDLE.get(kind, "").split()}
        known |= set(OF_ACTUATORS.split()) if element.tag in ACTUATORS else set()
        for key, value in element.attributes.items():
            if key not in known and value.strip() not in NOTHING:
                yield f"attribute '{key}' of <{element.tag}>"
    for child in element.children:
        if element.tag == "mujoco" and child.tag in ELSEWHERE:
            continue
        if element.tag in INNER and child.tag not in INNER[element.tag].split():
            yield f"<{child.tag}> in <{element.tag}>"
        elif element.tag in INNER:
            yield from _unread(child, element.tag)
