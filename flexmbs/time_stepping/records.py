"""Records of a run and its statistics.

They are made for a model: facts for the method, contacts, controllers, outputs and samples.
"""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexmbs.dynamics.sampled_controllers import LEFT, STORED
from flexmbs.errors import MachineError
from flexmbs.integrators.integrator import Facts
from flexmbs.integrators.missed_contacts import RECENT
from flexmbs.integrators.run_context import (
    ContactData,
    OutputBuffers,
    RunContext,
    SampledControllers,
    Samples,
)
from flexmbs.integrators.step_samples import WORKS
from flexmbs.system.compile import Compiled
from flexmbs.system.records import OF_FRICTION, Samplers, System, Work, depends_on_reactions
from flexmbs.system.step_scales import displacement_sizes, position_sizes

ASIDE = 1e-11  # of 1 s or of the time: distance of the end of a stretch from a jump of a law
AUDITED = 16  # states that the audit examines, besides that of the largest accelerations
WORKS_SAMPLED = 100  # steps whose work the audit integrates again


def facts(compiled: Compiled) -> Facts:
    """Properties of a model that integrators need: sizes, scales, contacts."""
    system = compiled.system
    _, nq, ns, nc, nz = (int(n) for n in system.layout)
    free = bool((system.tree.parent < 0).all())
    rigid = not system.tree.nf.any() and compiled.topology.coordinates == "absolute"
    nonlinear = any(rows.law.strongly_nonlinear.any() for rows in system.forces) or bool(
        (system.contacts.law_kernel >= 0).any()
    )
    constant = free and rigid and not len(system.rotors.body)
    loaded = depends_on_reactions(system)
    return Facts(
        nq,
        ns,
        nz,
        nc,
        len(system.contacts.a),
        free,
        constant,
        nonlinear,
        loaded,
        displacement_sizes(compiled),
        position_sizes(compiled),
    )


def contact_data(system: System, work: Work) -> ContactData:
    """Record of the rigid contacts and their workspace.

    The arrays of the path variables are shared with the work records.
    """
    contacts, path = system.contacts, work.path
    n, ns, z = len(contacts.a), int(system.layout[2]), np.zeros
    dry, limits = contacts.geometry_kernel == OF_FRICTION, z((n, 3))
    if dry.any():
        limits[dry] = contacts.geometry[dry, :3]
    heavy = max(float(system.bodies.mass.max()), float(system.bodies.second.max()), 1e-300)
    return ContactData(
        rigid=(contacts.law_kernel < 0).astype(np.int64),
        poisson=contacts.poisson,
        e=contacts.e,
        e_t=contacts.et,
        mu=contacts.mu,
        size=np.ones(n),
        dry=dry.astype(np.int64),
        limits=limits,
        length=np.ones(n),
        weight=z(n),
        mass=np.array([heavy]),
        gap=z(n),
        rate=z((n, 3)),
        moving=z((n, 3)),
        outside=z(n),
        force=path.force,
        mode=path.mode,
        slip=path.slip,
        impulse=path.impulse,
        output=z((n, 3)),
        row=z(n, np.int64),
        rows=z((3 * n, ns)),
        recent=z((n, RECENT)),
        within=z((n, RECENT)),
        depth=z(n),
        struck=z(n),
        unseen=np.full(n, -1.0),
    )


def make_sampled(n: int) -> SampledControllers:
    """Sample times of n discrete controllers, infinite if there is none."""
    return SampledControllers(
        np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n, np.int64), np.full(1, math.inf)
    )


def begin_sampling(samplers: Samplers, sampled: SampledControllers, z: np.ndarray) -> None:
    """Set the next sample times at the start from the force states z.

    Their memory is initialized if nothing was sampled before.
    """
    for k in range(len(samplers.force)):
        at, period = int(samplers.law.state[k]), samplers.period[k]
        left, ahead = z[at + LEFT], z[at + LEFT] + samplers.phase[k]
        # events due now were executed before the state was written, except for the first sample
        sampled.first[k] = np.where(
            (samplers.phase[k] > 0.0) & (ahead - period > ASIDE), ahead - period, ahead
        )
        sampled.fresh[k] = left == 0.0
        if sampled.fresh[k]:
            memory = at + STORED + 2 * samplers.n_measured[k] + samplers.n_coming[k]
            z[memory : memory + samplers.n_memory[k]] = samplers.begin[k, : samplers.n_memory[k]]
    sampled.passed[:] = 0.0
    sampled.due[:] = sampled.first.min(initial=math.inf)


def corners_before(corners: Sequence[float], end: float) -> np.ndarray:
    """Times of corners within the run, and its end."""
    return np.array([*sorted(t for t in corners if 0.0 < t < end), end])


def make_outputs(times: np.ndarray, f: Facts, n_beta: int) -> OutputBuffers:
    """Allocate the arrays of the outputs."""
    n, z = len(times), np.zeros
    return OutputBuffers(
        times.copy(),
        z((n, f.nq)),
        z((n, f.ns)),
        z((n, f.ns)),
        z((n, f.nc)),
        z((n, f.nz)),
        z((n, 3)),
        z((n, 2)),
        z(n),
        z((n, f.contacts, 3)),
        z((n, n_beta)),
    )


def make_samples(f: Facts, n_beta: int) -> Samples:
    """Allocate the states that are stored for the audit."""
    n, z = AUDITED + 1, np.zeros
    return Samples(
        np.full(n, -1.0),
        z((n, f.nq)),
        z((n, f.ns)),
        z((n, f.ns)),
        z((n, f.nc)),
        z((n, f.nz)),
        z((n, n_beta)),
        z(n, np.int64),
        z(1),
        z((WORKS_SAMPLED, WORKS)),
    )


def check_memory(outputs: int, numbers: int) -> None:
    """Raise MachineError if the outputs do not fit in the machine's memory.

    numbers: values per output.
    """
    need, there = 8.0 * outputs * (numbers + 7), memory()
    if need > there:
        raise MachineError(
            f"output_step: {outputs} outputs of {numbers} numbers need {need / 1e9:.3g} GB, "
            f"the machine has {there / 1e9:.3g} GB; choose a longer output_step"
        )


def memory() -> float:
    """Bytes of memory of the machine; infinity if the system does not report it."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def statistics(context: RunContext, prepare: float, integrate: float) -> dict[str, Any]:
    """Counts of steps and evaluations, and wall times of a run."""
    names = ("steps", "rejected", "iterations", "factorizations", "evaluations", "dependent_rows")
    counts = {name: getattr(context.counts, name) for name in names}
    counts["unseen_contacts"] = int((context.contact.unseen >= 0.0).sum())
    return {**counts, "prepare_seconds": prepare, "solve_seconds": integrate}
