"""Compilation of all kernels ahead of time, in several processes."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

from flexmbs._jit.address import Entry, layouts_only
from flexmbs.api.model import Model
from flexmbs.console.spawn_context import spawn_context
from flexmbs.dynamics.contacts import contact_forces_at
from flexmbs.dynamics.couplers import joint_rows_at
from flexmbs.dynamics.cut_rows import cut_rows_at
from flexmbs.dynamics.dense import dense_terms
from flexmbs.dynamics.equations import kinematics_at, residual_at
from flexmbs.dynamics.force_blocks import force_blocks_at
from flexmbs.dynamics.forces import frame_forces_at
from flexmbs.dynamics.joint_forces import joint_forces_at
from flexmbs.dynamics.kkt import kkt_at
from flexmbs.dynamics.law_calls import compile_laws
from flexmbs.dynamics.work import unconnected
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.multiplier import consistent
from flexmbs.initial.initial_state import declared_state
from flexmbs.integrators import INTEGRATORS
from flexmbs.integrators.contact_calls import make_problem, solved_at
from flexmbs.integrators.redundant_contacts import redundant_at
from flexmbs.integrators.stepper import integrate
from flexmbs.model.bodies import RigidBody
from flexmbs.model.contacts import JointLimit, SpherePlane
from flexmbs.model.forces import FrameForce, PointSpring
from flexmbs.model.joints import Revolute
from flexmbs.results.histories import (
    MotionHistory,
    StateHistory,
    energy_history,
    frames_history,
    joint_history,
)
from flexmbs.results.joints import JointHistories, history_shapes
from flexmbs.studies.run.simulate import simulate
from flexmbs.studies.run.stepper import Stepper
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.records import Equations, Evaluation, Work
from flexmbs.time_stepping.run import Run

SHARED = {
    "kinematics": kinematics_at,
    "residual": residual_at,
    "equations with multipliers": kkt_at,
}
OPTIONAL = {
    "forces on joints": joint_forces_at,
    "forces on frames": frame_forces_at,
    "contacts": contact_forces_at,
    "drives and couplers": joint_rows_at,
    "relations and user rows": cut_rows_at,
    "stiffness of forces": force_blocks_at,
}
LAWS = "laws of forces and contacts"
# the pair used by the demo, and what else its model needs
DEMO = ("multiplier", "generalized-alpha", joint_forces_at)
Progress = Callable[[float, str], None]


def pendulum(*, contacts: bool = False, spring: bool = False, push: bool = False) -> Model:
    """Small test model: a rod on a hinge, with contacts, spring or other options.

    With a spring to the ground or a force it is not eligible for the rigid-tree recursion.
    """
    model = Model("warm-up")
    rod = model.add(
        RigidBody(
            "rod",
            mass=1.0,
            inertia=(0.1, 0.1, 0.1),
            com=(0.5, 0.0, 0.0),
            frames={"tip": (1.0, 0.0, 0.0)},
        )
    )
    model.add(Revolute("pivot", model.ground, rod, axis="y"))
    if contacts:
        model.add(SpherePlane("floor", model.ground, rod["tip"], normal="x", radius=0.1))
        model.add(JointLimit("stop", "pivot", lower=-1.0))
    if spring:
        model.add(PointSpring("spring", model.ground, rod["tip"], k=1.0, length=1.0))
    if push:
        model.add(FrameForce("push", rod["tip"], force=(0.0, 0.0, 1.0)))
    return model


def compile_shared(name: str) -> str:
    """Compile a shared kernel, or the laws, ahead of time."""
    if name == LAWS:
        compile_laws()
        return name
    compiled = compile_model(pendulum())
    work = unconnected(compiled.system, declared_state(compiled).beta)
    one = Evaluation(*[np.zeros(1)] * 6)
    (SHARED | OPTIONAL)[name].address(Equations(compiled.system, work), one, one)
    return name


def compile_pair(formalism: str, integrator: str) -> str:
    """Compile the kernels of a formalism with an integrator, and of its results."""
    method = INTEGRATORS[integrator]
    step = 0.005 if method.needs == "residual" else None
    for spring in (True, False):
        model = pendulum(contacts=method.contacts, spring=spring)
        solution = simulate(
            model,
            t_end=0.01,
            formalism=formalism,
            integrator=integrator,
            output_step=0.005,
            step=step,
        )
    stepper = Stepper(
        model,
        t_end=0.01,
        formalism=formalism,
        integrator=integrator,
        step=step,
        inputs=[("effort", "pivot")],
        outputs=[("position", "rod/tip", "x")],
    )
    stepper.step()
    solution.joint("pivot")
    assert stepper.observations.size
    assert solution.energy.total.size
    assert len(solution.frame("rod/tip").position)
    return f"{formalism} with {integrator}"


def pairs() -> Iterator[tuple[str, str]]:
    """Compatible pairs of formalisms and integrators, ordered so that each appears early."""
    fitting = [
        (f, i)
        for i, method in INTEGRATORS.items()
        for f, form in FORMALISMS.items()
        if method.needs in form.provides
    ]
    first = [next(pair for pair in fitting if pair[0] == name) for name in FORMALISMS]
    return iter(dict.fromkeys((*first, *fitting)))


def kernels(formalism: str, integrator: str, *more: Entry) -> list[tuple[Any, Any]]:
    """Kernels of a pair, with ``more`` shared ones, in the order of use.

    Each with representative records.
    """
    method = INTEGRATORS[integrator]()
    compiled = compile_model(pendulum(push=True))
    work = unconnected(compiled.system, declared_state(compiled).beta)
    one = Evaluation(*[np.zeros(1)] * 6)
    shared: list[tuple[Any, Any]] = [
        (kernel, (Equations(compiled.system, work), one, one))
        for kernel in (*SHARED.values(), *more)
    ]
    if method.contacts:
        problem = make_problem(1)
        shared += [(solved_at, (problem,) * 3), (redundant_at, (problem.workspace,) * 3)]
    # those of the formalism's workspace, which accelerations of rigid trees do without
    with layouts_only() as own:
        run = Run(compiled, method, FORMALISMS[formalism](), np.array([0.0, 1.0]), work)
    calls = [(kernel, records) for _, kernel, records in run.calls() if isinstance(kernel, Entry)]
    begin, end = _of_start_and_results(compiled, work)
    return [
        *shared,
        *begin,
        *(own if method.needs == "residual" else ()),
        *calls,
        (integrate, (run.context,) * 3),
        *end,
    ]


def _of_start_and_results(
    compiled: Compiled, work: Work
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """Kernels that Python calls before and after a run."""
    system, row, rows, three = compiled.system, np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1, 1))
    one, states = (
        Evaluation(*[row] * 6),
        StateHistory(row, rows, rows, rows, rows, rows, three, rows),
    )
    sizes = history_shapes(compiled, 1)
    histories = JointHistories(
        **{
            name: np.zeros(size, np.int64 if name == "unique" else float)
            for name, size in sizes.items()
        }
    )
    begin = [
        (dense_terms, (system, work, 0.0, one, rows, rows)),
        (consistent, (system, work, 0.0, one, 0.0, 1, row)),
    ]
    energy, joints = (
        (energy_history, (system, work, states, rows)),
        (joint_history, (system, work, states, histories)),
    )
    return begin, [
        energy,
        joints,
        (
            frames_history,
            (system, work, np.zeros(1, np.int64), MotionHistory(row, rows, rows, rows), rows[None]),
        ),
    ]


def compile_backwards(formalism: str, integrator: str, *more: Entry) -> None:
    """Compile the kernels of a pair, starting from the last one.

    Except those being compiled by another process.
    """
    with layouts_only():  # it does not wait for a kernel that the other process compiles
        wanted = kernels(formalism, integrator, *more)
    for kernel, records in reversed(wanted):
        kernel.compile_ahead(*records)


def warm_up_demo() -> None:
    """Compile the kernels of the demo in this process.

    Shared parts of kernels are compiled once.
    """
    for kernel, records in kernels(*DEMO):
        kernel.compile_ahead(*records)


def warm_up(progress: Progress) -> None:
    """Compile the kernels of every run, in one process per processor."""
    wanted = list(pairs())
    shared = [*SHARED, *OPTIONAL, LAWS]
    count = len(shared) + len(wanted)
    done = 0
    with ProcessPoolExecutor(os.cpu_count() or 1, mp_context=spawn_context()) as pool:
        for batch in ([pool.submit(compile_shared, name) for name in shared], None):
            futures = batch or [pool.submit(compile_pair, *pair) for pair in wanted]
            for future in as_completed(futures):
                done += 1
                progress(done / count, future.result())
