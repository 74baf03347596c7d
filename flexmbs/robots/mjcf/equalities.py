"""Equality constraints and fixed tendons of MJCF files.

MuJoCo softens constraints, the model satisfies them exactly.
"""

from dataclasses import dataclass

import numpy as np

from flexmbs.declaration import shown
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.couplings import LinearCoupling
from flexmbs.model.forces import Transmission
from flexmbs.model.general_couplings import HolonomicCoupling
from flexmbs.model.item import CoordinateUse
from flexmbs.model.joints import Fixed, Spherical
from flexmbs.model.laws import SpringDamper
from flexmbs.robots.mjcf.document import MAIN, Defaults
from flexmbs.robots.mjcf.model_builder import ModelBuilder
from flexmbs.robots.mjcf.tree import FREEDOMS, MjBody
from flexmbs.robots.mjcf.values import ElementValues, RigidPose, quaternion_rotation
from flexmbs.robots.urdf_read import item_name

LINEAR = 2  # coefficients of a linear polynomial
UNREAD = ("frictionloss", "armature", "limited", "range")  # attributes of tendons that are noted


@dataclass(frozen=True)
class Polynomial:
    """g(x) = x₁ − Σ cₖ x₂ᵏ"""

    coefficients: tuple[float, ...]

    def __call__(self, t: float, x: np.ndarray) -> float:
        return float(x[0] - np.polynomial.polynomial.polyval(x[1], self.coefficients))

    def gradient(self, t: float, x: np.ndarray) -> np.ndarray:
        """Gradient ∂g/∂x of the polynomial constraint."""
        slopes = np.polynomial.polynomial.polyder(self.coefficients)
        return np.array([1.0, -np.polynomial.polynomial.polyval(x[1], slopes)])


def read_tendons(
    draft: ModelBuilder, section: XmlElement, defaults: Defaults, off: set[str]
) -> None:
    """Read fixed tendons as factors of joint coordinates, with springs and dampers.

    Other effects are noted.
    """
    for element in section.children:
        given = ElementValues(element, defaults.of(element, MAIN, "tendon"), draft.report)
        name = element.attributes.get("name", "")
        if element.tag != "fixed":
            draft.report.note(f"{element.tag} tendon '{name}'")
            continue
        acts = [
            key
            for key in UNREAD
            if key in given and given.text(key).strip("0. ") not in ("", "false")
        ]
        if acts:
            draft.report.note(f"{acts[0]} of tendon '{name}'")
        parts = [
            ElementValues(each, each.attributes, draft.report) for each in element.all("joint")
        ]
        factors = {each.text("joint"): each.number("coef", 0.0) for each in parts}
        known = [draft.tree.joint(joint) for joint in factors]
        if all(found and FREEDOMS[found[1].kind] == 1 for found in known):
            draft.tendons[name] = factors
            _passive(draft, given, name, off)


def _passive(draft: ModelBuilder, given: ElementValues, name: str, off: set[str]) -> None:
    """Spring and damper of a fixed tendon: −k (L − L₀) − c L̇ on its length.

    L₀ from the joints' springs unless given.
    """
    stiffness, damping = (
        given.numbers(key, (0.0, 0.0, 0.0), 1) for key in ("stiffness", "damping")
    )
    k, c = (
        0.0 if key in off else float(each[0])
        for key, each in (("spring", stiffness), ("damper", damping))
    )
    lengths = given.numbers("springlength", (-1.0, -1.0), 1)
    if stiffness[1:].any() or damping[1:].any():
        draft.report.note(f"tendon '{name}': non-constant stiffness or damping")
    if not (k or c):
        return
    if (
        "springlength" in given
        and len(given.text("springlength").split()) > 1
        and lengths[0] != lengths[1]
        and k
    ):
        draft.report.note(f"tendon '{name}': a spring with a slack range (springlength)")
        k = 0.0
    rest = draft.tendon_sum(name, lambda joint: joint.unit * joint.given.number("springref", 0.0))
    rest = float(lengths[0]) if "springlength" in given and lengths[0] >= 0.0 else rest
    law = SpringDamper(k=k, c=c, x0=rest - draft.tendon_sum(name, lambda joint: joint.ref))
    draft.add(Transmission(draft.name("forces", item_name(name)), draft.tendon(name), law))


def add_equalities(draft: ModelBuilder, section: XmlElement, defaults: Defaults) -> list[str]:
    """Add joints and couplings of the active constraints.

    Return the names of loop-closing joints.
    """
    closing: list[str] = []
    for k, element in enumerate(section.children):
        given = ElementValues(element, defaults.of(element, MAIN, "equality"), draft.report)
        if given.switch("active", True) is False:
            continue
        name = item_name(element.attributes.get("name") or f"{element.tag} {k + 1}")
        if element.tag in ("connect", "weld"):
            closing += _closing(draft, given, name)
        elif element.tag in ("joint", "tendon"):
            _coupling(draft, given, name)
        else:
            draft.report.note(f"equality '{name}' ({element.tag})")
    return closing


def _closing(draft: ModelBuilder, given: ElementValues, name: str) -> list[str]:
    """Spherical joint (connect) or fixed joint (weld) of an equality between two bodies.

    At their poses for qpos0 unless given.
    """
    weld = given.element.tag == "weld"
    turns = not weld or given.number("torquescale", 1.0) == 0.0
    ends = _sites(draft, given) if "site1" in given else _bodies(draft, given, weld)
    if ends is None:
        return []
    (first, a), (second, b) = ends
    if draft.places[first][0] == draft.places[second][0]:
        draft.report.note(f"equality '{name}' within one body")
        return []
    name = draft.name("joints", name)
    parent, child = draft.frame(first, a, f"{name} joint"), draft.frame(second, b, f"{name} joint")
    draft.add((Spherical if turns else Fixed)(name, parent, child))
    return [name]


def _sites(
    draft: ModelBuilder, given: ElementValues
) -> tuple[tuple[MjBody, RigidPose], tuple[MjBody, RigidPose]] | None:
    """The two sites of an equality with their bodies and poses; None if one is missing."""
    found = [draft.tree.site(given.text(key)) for key in ("site1", "site2")]
    if found[0] is None or found[1] is None:
        given.problem("site1 and site2: both must be sites of the file")
        return None
    return found[0], found[1]


def _bodies(
    draft: ModelBuilder, given: ElementValues, weld: bool
) -> tuple[tuple[MjBody, RigidPose], tuple[MjBody, RigidPose]] | None:
    """The two bodies of an equality with the poses of the anchor; None if one is missing."""
    first, second = (
        draft.tree.body(given.text("body1")),
        draft.tree.body(given.text("body2", "world")),
    )
    if first is None or second is None:
        key = "body1" if first is None else "body2"
        given.problem(f"{key}: there is no body {shown(given.text(key))}")
        return None
    anchor = given.vector("anchor")
    between = _relative(first.world, second.world)  # pose of body 2 in body 1
    relpose = given.numbers("relpose", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    if weld:
        # point in body 2; matters for torquescale 0 and for a given pose in body 1
        at = RigidPose(np.eye(3), anchor)
        own = (
            RigidPose(quaternion_rotation(relpose[3:]), relpose[:3])
            if relpose[3:].any()
            else between.then(at)
        )
        return (first, own), (second, at)
    place = RigidPose(np.eye(3), anchor)
    return (first, place), (second, RigidPose(between.R.T, between.R.T @ (anchor - between.o)))


def _relative(first: RigidPose, second: RigidPose) -> RigidPose:
    """Pose of the second frame relative to the first."""
    return RigidPose(first.R.T @ second.R, first.R.T @ (second.o - first.o))


def _coupling(draft: ModelBuilder, given: ElementValues, name: str) -> None:
    """Coupling x₁ = Σ cₖ x₂ᵏ of joints, or of the lengths of fixed tendons, relative to qpos0."""
    kind = given.element.tag
    polynomial = given.numbers("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0), 1)
    one, other = (_factors(draft, given, f"{kind}{k}") for k in (1, 2))
    if one is None or other is None:
        draft.report.note(
            f"equality '{name}' ({kind}) of other items than hinges, slides, or their fixed tendons"
        )
        return
    if polynomial[LINEAR:].any() and other:
        if kind == "tendon":
            draft.report.note(f"equality '{name}' (tendon) with a nonlinear polynomial")
            return
        function = Polynomial(tuple(float(c) for c in polynomial))
        of = [_coordinate(draft, joint) for joint in (*one, *other)]
        draft.add(
            HolonomicCoupling(
                draft.name("couplings", name), of, function=function, gradient=function.gradient
            )
        )
        return
    factors: dict[str, float] = {}
    for joint, factor in (
        *one.items(),
        *((joint, -polynomial[1] * factor) for joint, factor in other.items()),
    ):
        coordinate = _coordinate(draft, joint)
        factors[coordinate] = factors.get(coordinate, 0.0) + float(factor)
    kept = {key: value for key, value in factors.items() if value}
    draft.add(LinearCoupling(draft.name("couplings", name), kept, offset=float(polynomial[0])))


def _factors(draft: ModelBuilder, given: ElementValues, key: str) -> dict[str, float] | None:
    """Factors by joint of a joint or tendon.

    Empty if there is none, None if it has no counterpart.
    """
    aim = given.text(key)
    if not aim:
        return {}
    if key.startswith("tendon"):
        return draft.tendons.get(aim)
    found = draft.tree.joint(aim)
    return {aim: 1.0} if found and FREEDOMS[found[1].kind] == 1 else None


def _coordinate(draft: ModelBuilder, joint: str) -> str:
    """Name of the coordinate of a joint in the model."""
    use: CoordinateUse = draft.coordinates[joint]
    body = draft.tree.joint(joint)
    assert body is not None
    return use.joint if len(body[0].joints) == 1 else f"{use.joint}.{use.coordinate}"
