"""Reference numbers of ``flexmbs demo robot``: a finer mesh, twice the modes, error control.

python reports/demo/reference_robot.py      (about a minute; copy the output to flexmbs/command/demo_robot.py)
"""

import tempfile
from pathlib import Path

from reference import MESHES, finer_link

import flexmbs as fm
from flexmbs.command.demo_robot import T_END, robot_model, robot_numbers


def main() -> None:
    """Refine, reduce, simulate, print."""
    urdf = MESHES / "six_axis.urdf"
    with tempfile.TemporaryDirectory() as folder:
        link = finer_link(Path(folder))
        model = robot_model(urdf, link)
        solution = fm.simulate(
            model, start=fm.statics(model), t_end=T_END, output_step=5e-3, integrator="esdirk",
            rtol=1e-9, atol=1e-11,
        )  # fmt: skip
        deviation, torque = robot_numbers(solution, urdf, link)
    print("REFERENCE_DEVIATION", deviation.tolist())
    print("REFERENCE_TORQUE", torque)
    print(solution.verdict, solution.statistics)


if __name__ == "__main__":
    main()
