"""Random SDF files: mass matrix and accelerations as in Drake, where it is installed."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_sdf import RandomSdf

import flexmbs as fm
from flexmbs.system.names import velocity_names

pytestmark = pytest.mark.filterwarnings("ignore:.*left out:flexmbs.ModelWarning")


def written(folder: Path, seed: int) -> Path:
    file = folder / "robot.sdf"
    file.write_text(RandomSdf(seed).text)
    return file


@pytest.mark.parametrize("seed", range(20))
def test_random_files_are_read(tmp_path: Path, seed: int) -> None:
    found = fm.from_sdf(written(tmp_path, seed))
    assert not found.notes
    assert np.isfinite(fm.state(found.model).sd).all()


class Both:
    """A file in Drake and here, at the same random state."""

    def __init__(self, file: Path, rng: np.random.Generator) -> None:
        plants, parsing = (
            pytest.importorskip(f"pydrake.multibody.{name}") for name in ("plant", "parsing")
        )
        logging.getLogger("drake").setLevel(logging.ERROR)
        self.plant = plants.MultibodyPlant(0.0)
        parsing.Parser(self.plant).AddModels(str(file))
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        self.found = fm.from_sdf(file, gravity=self.plant.gravity_field().gravity_vector())
        self.order: list[tuple[str, int]] = []  # names of velocities here, their numbers in Drake
        q, v = (
            self.plant.GetPositions(self.context),
            rng.uniform(-1.0, 1.0, self.plant.num_velocities()),
        )
        position: dict[str, list[float]] = {}
        velocity: dict[str, list[float]] = {}
        for joint in map(self.plant.get_joint, self.plant.GetJointIndices()):
            n = joint.num_velocities()
            path = f"hand::{joint.name()}" if joint.name().startswith("inner") else joint.name()
            name = self.found.joints[path].joint if n else ""
            own, begin = (
                slice(joint.velocity_start(), joint.velocity_start() + n),
                joint.position_start(),
            )
            if n == 3:  # a ball joint at its origin, where velocities are those of both conventions
                position[name] = [1.0, 0.0, 0.0, 0.0]
            elif n:
                q[begin : begin + n] = rng.uniform(-1.0, 1.0, n)
                position[name] = q[begin : begin + n].tolist()
            if n:
                velocity[name] = v[own].tolist()
                self.order += [(f"{name}.{k}", joint.velocity_start() + k) for k in range(n)]
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, v)
        self.state = fm.state(self.found.model, position=position, velocity=velocity)

    def compared(self) -> tuple[Any, Any, Any, Any]:
        """M and ṡ here, and in Drake."""
        names = [
            name.split(" ")[0].removeprefix("joint ")
            for name in velocity_names(self.state.compiled)
        ]
        mine, theirs = [names.index(name) for name, _ in self.order], [k for _, k in self.order]
        M = fm.matrices(self.found.model, start=self.state).M
        acceleration = self.plant.get_generalized_acceleration_output_port().Eval(self.context)
        their_M = self.plant.CalcMassMatrix(self.context)
        return (
            M[np.ix_(mine, mine)],
            self.state.sd[mine],
            their_M[np.ix_(theirs, theirs)],
            acceleration[theirs],
        )


@pytest.mark.parametrize("seed", range(40))
def test_random_files_move_as_in_drake(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("pydrake")
    both = Both(written(tmp_path, seed), np.random.default_rng(seed))
    if not both.order:
        return
    M, sd, their_M, their_sd = both.compared()
    np.testing.assert_allclose(M, their_M, atol=1e-9 * np.abs(their_M).max())
    np.testing.assert_allclose(sd, their_sd, rtol=0.0, atol=1e-7 * np.abs(their_sd).max())
