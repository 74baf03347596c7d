"""``flexmbs warmup``"""

import time

from flexmbs.console.messages import messages, put


def warmup() -> None:
    """Compile the kernels of every run and view by running a pendulum."""
    from flexmbs.analysis.simulate import simulate
    from flexmbs.model.bodies import RigidBody
    from flexmbs.model.joints import Revolute
    from flexmbs.model.model import Model

    start = time.perf_counter()
    with messages.status("compiling (once per version) …"):
        model = Model("warm-up")
        rod = model.add(RigidBody("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0.0, 0.0)))
        model.add(Revolute("pivot", model.ground, rod, axis="y"))
        for integrator in ("generalized-alpha", "dormand-prince"):
            solution = simulate(model, t_end=0.01, step=0.005, integrator=integrator)
        solution.joint("pivot")
        assert solution.energy.total.size
    put(f"compiled in {time.perf_counter() - start:.1f} s")
