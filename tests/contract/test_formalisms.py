"""Every registered formalism keeps the contract."""

from collections import Counter

import pytest
from formalism_contract import RECIPES, SEEDS, FormalismContract, made
from samples import JOINTS

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.formalisms import FORMALISMS
from flexmbs.model.bodies import Body
from flexmbs.model.forces import Force, LoadedFriction, UserFriction

for _name, _formalism in FORMALISMS.items():
    _class = f"Test{_name.title().replace('-', '')}"
    globals()[_class] = type(_class, (FormalismContract,), {"formalism": _formalism()})


def test_every_formalism_is_here() -> None:
    tested = {value.formalism.name for key, value in globals().items() if key.startswith("Test")}
    assert tested == set(FORMALISMS)


@pytest.mark.skipif(not COMPILED, reason="the models are those of compiled runs")
def test_the_random_models_have_everything() -> None:
    """Bodies, forces and joints of every kind, primary, cut and reversed; drives on both; dependent
    rows and none.
    """
    seen: Counter[str] = Counter()
    for recipe in RECIPES.values():
        for seed in SEEDS:
            model, found = made(recipe, seed)
            compiled = found["joint"].compiled
            shape, joints = compiled.topology, compiled.model.joints
            seen.update(f"{body.kind} body" for body in model.bodies.values())
            seen.update(["divided body"] * len(compiled.pieces))
            seen.update(["damping of all pieces"] * len(compiled.system.pieces_damping.size))
            seen.update(["full cut"] * (len(compiled.model.couplings) - len(model.couplings)))
            seen.update(force.kind for force in model.forces.values())
            seen.update(f"{joints[name].kind} cut" for name in shape.cuts)
            for primary in shape.tree:
                if primary.joint:
                    seen.update(
                        [f"{joints[primary.joint].kind} primary", f"reversed: {primary.reversed}"]
                    )
            seen.update(
                f"driven cut: {drive.joint in shape.cuts}" for drive in model.drives.values()
            )
            seen.update(
                [
                    "redundant: "
                    f"{bool(found['joint'].solution(found['joint'].nothing()).run.redundant)}"
                ]
            )
    kinds = {name.split()[0] for name in JOINTS}
    wanted = {f"{kind} {role}" for kind in kinds for role in ("primary", "cut")}
    # the tree keeps joints of few degrees of freedom
    wanted -= {f"{kind} cut" for kind in ("fixed", "prismatic", "revolute", "screw")}
    # the reference takes forces of a state alone; friction of reactions and bristles are in the
    # models of test_differential
    others = LoadedFriction | UserFriction | fm.LuGreFriction
    forces = {kind for kind, force in Force.kinds.items() if not issubclass(force, others)}
    wanted |= (
        {f"{kind} body" for kind in Body.kinds}
        | forces
        | {"divided body", "full cut", "damping of all pieces"}
    )
    wanted |= {
        f"{what}: {each}"
        for what in ("reversed", "driven cut", "redundant")
        for each in (True, False)
    }
    assert wanted <= set(seen), sorted(wanted - set(seen))
