"""Runs of a model and of the same model transformed: motion, reactions and verdict must agree.

Moved and turned in space, on a carrier of constant velocity, in other units, declared in another
order, with other names, with a body cut in two, and run backwards.
"""

import dataclasses
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from any_models import any_model, contents, registered
from differential import T_END, Pair, guarded, options, pairs
from differential import Report as Report
from other_units import InUnits, Units
from scipy.spatial.transform import Rotation
from transformations import copy_of, cut_in_two, permuted, placed, renamed

import flexmbs as fm
from flexmbs.initial.initial_state import consistent_state, joint_coordinates
from flexmbs.integrators import INTEGRATORS, Integrator
from flexmbs.model.contacts import Contact
from flexmbs.model.couplings import ConstantCoupling
from flexmbs.model.laws import Constant

FAR = 1e4  # m
STEP = 1e-3  # s
UNITS = {
    "mm-t-s": Units(1e3, 1e-3, 1.0),
    "mm-kg-ms": Units(1e3, 1.0, 1e3),
    "µm-kg-s": Units(1e6, 1.0, 1.0),
}
TITLES = (
    "rotated",
    "translated",
    "boosted",
    "permuted",
    "renamed",
    *UNITS,
    "cut in two",
    "reversed",
)
TAKEN = 3  # transformations of each model of a study
# of the motion: differences of runs with other round-off, and so other steps
CONTROLLED, FIXED = 1e-4, 3e-6
# with fixed steps: the absolute tolerance of the others, in m or rad, is below the round-off of a
# metre in µm
ROUGH = ("generalized-alpha", "moreau-jean", "rattle")
# errors relative to the motion, to energies and speeds, which are others on a carrier
OF_MOTION = (
    "Second run",
    "Error of the steps",
    "Energy balance",
    "Velocity drift",
    "Work within steps",
)
AS_MUCH = 1e-4  # of the forces
# of a distance, to a place whose coordinates have other binary exponents and so other round-off.
# Differences that two runs far away may have from a third one, over that from each other, and their
# limit of the forces, at which the audit warns
BESIDE, NOISE, NOTICED = -0.4, 4.0, 0.02


SI = Units(1.0, 1.0, 1.0)


class Variant(NamedTuple):
    """A transformed model with the rotation R, shift d and velocity v of its motion, its units, and
    the names of its items.
    """

    model: fm.Model
    R: np.ndarray = np.eye(3)
    d: np.ndarray = np.zeros(3)
    v: np.ndarray = np.zeros(3)
    units: Units = SI
    name: Callable[[str], str] = lambda name: name


def variants(model: fm.Model, rng: np.random.Generator) -> Iterator[tuple[str, fm.Model, Variant]]:
    """(transformation, model, the same transformed); forces that a transformation cannot express
    are left out of both.
    """
    cyclic = np.roll(np.eye(3), int(rng.integers(1, 3)), axis=0)
    world = any(
        isinstance(force, fm.FrameForce) and force.axes == "world"
        for force in model.forces.values()
    )
    R = cyclic if world else Rotation.random(rng=rng).as_matrix()
    d = FAR * _unit(rng)
    v = rng.uniform(0.5, 3.0) * _unit(rng)
    yield "rotated", model, Variant(placed(model, R, np.zeros(3)), R=R)
    yield "translated", model, Variant(placed(model, np.eye(3), d), d=d)
    yield "boosted", model, Variant(placed(model, np.eye(3), np.zeros(3), v), v=v)
    yield "permuted", model, Variant(permuted(model, rng))
    yield "renamed", model, Variant(renamed(model, _other), name=_other)
    for title, units in (
        ("mm-t-s", Units(1e3, 1e-3, 1.0)),
        ("µm-kg-s", Units(1e6, 1.0, 1.0)),
        ("mm-kg-ms", Units(1e3, 1.0, 1e3)),
    ):
        changed = InUnits(model, units).changed()
        yield title, _without(model, changed), Variant(changed, units=units)
    if (cut := cut_in_two(model, rng)) is not None:
        yield "cut in two", model, Variant(cut)


def _other(name: str) -> str:
    """Another name, whose alphabetical order is the reverse."""
    return "".join(chr(ord("a") + ord("z") - ord(c)) if c.islower() else c for c in name) + " x"


def _unit(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def _without(model: fm.Model, changed: fm.Model) -> fm.Model:
    """The model without the items that the changed one lacks."""
    sections = {type(item).section: getattr(changed, type(item).section) for item in _items(model)}
    return copy_of(model, lambda item: item if item.name in sections[item.section] else None)


def _items(model: fm.Model) -> Iterator[Any]:
    for section in (
        model.bodies,
        model.joints,
        model.forces,
        model.drives,
        model.couplings,
        model.contacts,
        model.rotors,
    ):
        yield from section.values()


def method(name: str, units: Units) -> Integrator:
    """An integrator with fixed steps, or with tolerances far below the differences that are
    allowed.
    """
    match name:
        case "generalized-alpha" | "moreau-jean":
            return INTEGRATORS[name](step=STEP * units.time, newton_tolerance=1e-11)
        case "rattle":
            return INTEGRATORS[name](step=STEP * units.time)
        case _:
            return INTEGRATORS[name](rtol=1e-8, atol=1e-10)


def run(model: fm.Model, pair: Pair, units: Units = SI, **more: Any) -> fm.Solution:
    """A run with five outputs."""
    end = T_END * units.time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fm.simulate(
            model,
            t_end=end,
            output_step=end / 4,
            **options(pair, method(pair.integrator, units)),
            **more,
        )


def compare(
    report: Report,
    what: str,
    pair: Pair,
    base: fm.Solution,
    other: fm.Solution,
    variant: Variant,
) -> None:
    """Differences of the motion, the reactions and the checks of two runs."""
    if len(base.t) != len(other.t):
        report.failures.append(
            f"{what}: {len(other.t)} of {len(base.t)} outputs: {other.run.outcome}"
        )
        return
    fixed = bool(base.run.options["step"])
    struck = bool(base.run.impacts)
    allowed = (30.0 if struck or (fixed and variant.v.any()) else 1.0) * (
        FIXED if fixed else CONTROLLED
    )
    report.measure(f"{what}: motion", motion_apart(base, other, variant), allowed)
    if not struck:
        apart, allowed = reactions_apart(base, other, variant), AS_MUCH
        if apart > allowed and fixed and variant.d.any():
            allowed += min(NOISE * round_off(pair, other, variant), NOTICED)
        report.measure(f"{what}: reactions", apart, allowed)
    _compare_checks(report, what, base, other, variant)


def motion_apart(base: fm.Solution, other: fm.Solution, variant: Variant) -> float:
    """Largest difference of positions, rotations, velocities and elastic coordinates, relative to
    their sizes or 1.
    """
    u, worst = variant.units, 0.0
    shift = variant.d + np.outer(base.t, variant.v)
    for name in base.bodies:
        one, two = base.body(name), other.body(variant.name(name))
        differences = (
            (one.position @ variant.R.T + shift, two.position / u.length, 1.0),
            (variant.R @ one.rotation, two.rotation, 1.0),
            (one.velocity @ variant.R.T + variant.v, two.velocity * u.time / u.length, 1.0),
            (one.angular_velocity @ variant.R.T, two.angular_velocity * u.time, 1.0),
            (one.elastic, two.elastic, 1.0),
        )
        for x, y, least in differences:
            if np.size(x):
                size = max(
                    least,
                    float(np.abs(x - shift).max())
                    if np.shape(x) == shift.shape
                    else float(np.abs(x).max()),
                )
                worst = max(worst, float(np.abs(np.asarray(x) - y).max()) / size)
    return worst


def reactions_apart(base: fm.Solution, other: fm.Solution, variant: Variant) -> float:
    """Largest difference of unique wrenches of joints over the largest of all."""
    u = variant.units
    load = np.repeat([u.force, u.force * u.length], 3)
    joints = [name for name in base.joints if base.joint(name).unique]
    mass = sum(float(getattr(body, "mass", 1.0)) for body in base.model.bodies.values())
    size = max([mass * 9.8, *(float(np.abs(base.joint(name).wrench).max()) for name in joints)])
    # multipliers of moreau-jean are those of the middle of a step, of rows whose directions are
    # others in other units and turn until its end
    middle = np.ones(len(base.t), bool)
    if base.run.options["integrator"] == "moreau-jean":
        middle = np.abs(base.t / STEP % 1.0 - 0.5) < 0.25
    apart = [
        np.abs(base.joint(name).wrench - other.joint(variant.name(name)).wrench / load)[middle].max(
            initial=0.0
        )
        for name in joints
    ]
    return max(apart, default=0.0) / size


def round_off(pair: Pair, other: fm.Solution, variant: Variant) -> float:
    """Difference of the reactions of a run far away and of another one less far: what
    round-off of places causes, which constraints at the ends of steps divide by h², and no more.
    """
    base = Variant(other.model, d=BESIDE * variant.d)
    again = run(placed(other.model, np.eye(3), base.d), pair)
    return reactions_apart(other, again, base)


def _compare_checks(
    report: Report, what: str, base: fm.Solution, other: fm.Solution, variant: Variant
) -> None:
    """The status of every check, by its title."""
    ours, theirs = ({_title(check.title): check for check in each.audit} for each in (base, other))
    named = {_title(_renamed(title, base, variant)): check for title, check in ours.items()}
    for title in sorted({*named, *theirs}):
        one, two = (each[title].status if title in each else "PASS" for each in (named, theirs))
        if one != two and not (variant.v.any() and title in OF_MOTION):
            texts = " | ".join(str(each.get(title, "none")) for each in (named, theirs))
            report.failures.append(f"{what}: {title} is {one}, then {two}: {texts}")


def _title(title: str) -> str:
    return title.strip()


def _renamed(title: str, base: fm.Solution, variant: Variant) -> str:
    """Title of a check with the names of the variant; names may have blanks, as "force 3"."""
    names = sorted((*base.model.bodies, *base.model.forces), key=len, reverse=True)
    any_name = "|".join(map(re.escape, names))
    return re.sub(rf"(?<!\S)(?:{any_name})(?!\S)", lambda found: variant.name(found[0]), title)


def chosen(model: fm.Model, rng: np.random.Generator) -> Pair:
    """A formalism, coordinates and an integrator that run the model."""
    there = pairs()
    return there[int(rng.integers(len(there)))]


def assembled(model: fm.Model) -> fm.Model:
    """The model with the initial values that its assembly gives: declared ones that contradict are
    changed no further.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        joint, start = consistent_state(model)
    made = copy_of(model)
    for name, item in model.joints.items():
        if item.motions:
            q, v = joint_coordinates(joint, start, name)
            made.joints[name] = dataclasses.replace(item, q0=tuple(q), v0=tuple(v))
    for name, body in model.bodies.items():
        if isinstance(body, fm.FlexibleBody):
            tree, pieces = (
                joint.system.tree,
                [joint.bodies.index(piece) for piece in joint.pieces_of(name)],
            )
            q, s = (
                np.concatenate([values[at[i] :][: tree.nf[i]] for i in pieces])
                for values, at in ((start.q, tree.qf_at), (start.s, tree.sf_at))
            )
            made.bodies[name] = dataclasses.replace(body, qf0=tuple(q), qf_dot0=tuple(s))
    return made


def examine(model: fm.Model, seed: int, only: tuple[str, ...] = ()) -> Report:
    """All transformations of a model under one pair, a different one for each seed."""
    rng = np.random.default_rng((77, seed))
    report, model = Report(), assembled(model)
    for _ in range(20):  # pairs may refuse a model
        pair = chosen(model, rng)
        base: dict[int, fm.Solution] = {}
        with guarded(report, f"{pair}"):
            base[id(model)] = run(model, pair)
        if base:
            break
    else:
        return report
    report.runs[pair] += 1
    for title, without, variant in variants(model, rng):
        if only and title not in only:
            continue
        if title.startswith("µm") and pair.integrator not in ROUGH:
            continue
        what = f"{title}, {pair}"
        with guarded(report, what):
            if len(list(_items(without))) == len(list(_items(model))):
                first = base[id(model)]
            else:
                first = run(without, pair)
            other = run(variant.model, pair, variant.units)
            compare(report, what, pair, first, other, variant)
            report.runs[pair] += 1
            report.verdicts[f"{title} {first.verdict} {other.verdict}"] += 1
    if not only or "reversed" in only:
        with guarded(report, f"reversed, {pair}"):
            reversed_in_time(report, model, pair)
    return report


# Time


def reversible(model: fm.Model) -> fm.Model:
    """The model without losses, contacts and dependence on time."""

    def change(item: Any) -> Any:
        match item:
            case fm.FlexibleBody():
                pieces = getattr(item.data, "pieces", None)
                still = [
                    dataclasses.replace(
                        data, D_ff=0.0 * data.D_ff, damping_rows=np.zeros((0, data.nf))
                    )
                    for data in pieces or (item.data,)
                ]
                return dataclasses.replace(
                    item,
                    data=dataclasses.replace(item.data, pieces=tuple(still))
                    if pieces
                    else still[0],
                )
            case fm.PointSpring() if item.law is None:
                return dataclasses.replace(item, c=0.0)
            case fm.JointSpring():
                return dataclasses.replace(item, c=0.0)
            case ConstantCoupling() if item.offset is not None and not isinstance(
                item.offset, Constant
            ):
                return None
            case fm.Drive() | Contact():
                return None
            case _:
                if item.section == "forces" or getattr(item, "rheonomic", False):
                    return None
                return item

    return copy_of(model, change)


def turned_back(model: fm.Model) -> fm.Model:
    """The model with time in the other direction: the rates a₀ that rows of velocities demand have
    the other sign.
    """

    def change(item: Any) -> Any:
        if not isinstance(item, fm.VelocityRows) or item.covectors is None:
            return item
        return dataclasses.replace(
            item, covectors=[(*row[:6], *(-x for x in row[6:])) for row in item.covectors]
        )

    return copy_of(model, change)


def reversed_in_time(report: Report, model: fm.Model, pair: Pair) -> None:
    """Forward, and back from the last state with velocities of opposite sign: the motion and the
    reactions of the way there.
    """
    still = reversible(model)
    there = run(still, pair)
    last = fm.state_of(there, float(there.t[-1]))
    back = run(turned_back(still), pair, start=dataclasses.replace(last, s=-last.s))
    if len(back.t) != len(there.t):
        report.failures.append(
            f"reversed, {pair}: {len(back.t)} of {len(there.t)} outputs: {back.run.outcome}"
        )
        return
    worst = 0.0
    for name in there.bodies:
        one, two = there.body(name), back.body(name)
        for key, sign in (
            ("position", 1.0),
            ("rotation", 1.0),
            ("velocity", -1.0),
            ("angular_velocity", -1.0),
            ("elastic", 1.0),
        ):
            x, y = np.asarray(getattr(one, key)), sign * np.asarray(getattr(two, key))[::-1]
            if x.size:
                worst = max(worst, float(np.abs(x - y).max()) / max(1.0, float(np.abs(x).max())))
    symmetric = pair.integrator in ("rattle",)
    report.measure(
        f"reversed, {pair}: motion",
        worst,
        FIXED if symmetric else 1e-3 if there.run.options["step"] else CONTROLLED,
    )


def taken(seed: int) -> tuple[str, ...]:
    """Some of all transformations, in turn."""
    return tuple(TITLES[(TAKEN * seed + k) % len(TITLES)] for k in range(TAKEN))


def study(seeds: range, only: tuple[str, ...] = (), record: Path | None = None) -> Counter[str]:
    """Findings over models of many seeds, printed, and a line of ``record`` for each."""
    kinds, found = registered(), Counter[str]()
    for seed in seeds:
        wanted = kinds[seed % len(kinds)]
        model = any_model(5000 + seed, wanted).model
        report = examine(model, seed, only or taken(seed))
        print(
            f"seed {seed}: {report.runs.total()} runs, {len(report.failures)} failures", flush=True
        )
        found["models"] += 1
        found["runs"] += report.runs.total()
        found["failures"] += len(report.failures)
        for line in report.failures:
            print(seed, wanted, line[:700], flush=True)
        for line, count in report.refused.items():
            found[f"refused {line[:90]}"] += count
        for pair in report.runs:
            found[f"pair {pair}"] += 1
        for line, count in report.verdicts.items():
            found[f"verdict {line}"] += count
        for kind in contents(model):
            found[f"kind {kind}"] += 1
        if record is not None:
            line = {
                "seed": seed,
                "kind": wanted,
                "transformations": only or taken(seed),
                "runs": {str(pair): count for pair, count in report.runs.items()},
                "refused": dict(report.refused),
                "verdicts": dict(report.verdicts),
                "disagreements": report.failures,
            }
            with record.open("a") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return found


if __name__ == "__main__":
    import sys

    first, last = map(int, sys.argv[1:3])
    result = study(range(first, last), (), Path(sys.argv[3]) if sys.argv[3:] else None)
    for key, count in sorted(result.items()):
        if not key.startswith(("kind", "pair")):
            print(count, key)
    for word in ("kind", "pair"):
        print(sum(key.startswith(word) for key in result), f"{word}s")
