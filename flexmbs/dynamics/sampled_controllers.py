"""Samples of discrete controllers.

At t_k = t_0 + k T a law gives the output, held from then on, and the memory of the controller,

    (u_k, m_k) = f(x(t_k − d), v(t_k − d), m_{k−1}),   u(t) = u_k for t_k + c ≤ t < t_{k+1} + c.

With the delay d = n T − φ, 0 ≤ φ < T, the coordinate is measured at t_k + φ and used n samples
later, so that each instant of a measurement, a sample or an output is the end of a step. Between
the instants all force states of a controller are constant except the time to the next sample, with
which a run can be continued from any state.

Theory: docs/theory.md, section 39. Åström and Wittenmark, Computer-Controlled Systems (1997),
sections 2.3 (zero-order hold) and 2.4 (systems with time delay).
"""

from flexmbs._jit import part
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.joint_forces import coordinate_at, joint_place
from flexmbs.dynamics.law_calls import call_law, given_values

MEASURED, COMPUTED, OUTPUT = range(3)  # events within a period
OUT, LEFT, STORED = range(3)  # force states: output, time to the next sample, first one stored


@part
def push(z, first, n, value):
    """Insert ``value`` first in the queue z[first : first + n]; the last value is dropped."""
    for i in range(n - 1):
        z[first + n - 1 - i] = z[first + n - 2 - i]
    z[first] = value


@part
def time_of(samplers, sampled, k, event):
    """The next instant of an event of controller k."""
    return sampled.first[k, event] + sampled.passed[k, event] * samplers.period[k]


@part
def measure(samplers, sampled, k, z, x, v):
    """Store the measured coordinate x and rate v of controller k."""
    n = samplers.n_measured[k]
    at = samplers.law.state[k] + STORED
    for _ in range(n if sampled.fresh[k] == 1 else 1):
        push(z, at, n, x)
        push(z, at + n, n, v)
    sampled.fresh[k] = 0


@part
def compute(system, work, sampled, k, z):
    """Evaluate controller k with its oldest measurement: new output and memory."""
    samplers, workspace = system.samplers, work.laws
    n, coming = samplers.n_measured[k], samplers.n_coming[k]
    at = samplers.law.state[k] + STORED
    memory = at + 2 * n + coming
    x = workspace.x
    x[0] = time_of(samplers, sampled, k, COMPUTED)
    x[1] = z[at + n - 1]
    x[2] = z[at + 2 * n - 1]
    for i in range(samplers.n_memory[k]):
        x[3 + i] = z[memory + i]
    given_values(samplers.law, k, system.laws, workspace, work.io, 3 + samplers.n_memory[k])
    call_law(
        samplers.law.kernel_index[k], samplers.value[k], workspace, 1 + samplers.n_memory[k], 0.0
    )
    push(z, at + 2 * n, coming, workspace.out[0])
    for i in range(samplers.n_memory[k]):
        z[memory + i] = workspace.out[1 + i]
    z[samplers.law.state[k] + LEFT] = samplers.period[k]


@part
def take_samples(system, work, sampled, t, here, near):
    """Execute all events of discrete controllers that are due at time t.

    They change the force states. near (s): events up to this time after t are due. sampled.due
    becomes the next instant (s).
    """
    samplers, z = system.samplers, here.z
    kinematics(system, work, t, here.q, here.s, work.zero)
    due = 1e300
    for k in range(samplers.force.shape[0]):
        x, v = coordinate_at(
            system, work, joint_place(system.forces.joint, samplers.force[k]), here
        )
        if time_of(samplers, sampled, k, MEASURED) <= t + near or sampled.fresh[k] == 1:
            count = 1.0 if time_of(samplers, sampled, k, MEASURED) <= t + near else 0.0
            measure(samplers, sampled, k, z, x, v)
            sampled.passed[k, MEASURED] += count
        if time_of(samplers, sampled, k, COMPUTED) <= t + near:
            compute(system, work, sampled, k, z)
            sampled.passed[k, COMPUTED] += 1.0
        if time_of(samplers, sampled, k, OUTPUT) <= t + near:
            at = samplers.law.state[k]
            z[at + OUT] = z[at + STORED + 2 * samplers.n_measured[k] + samplers.n_coming[k] - 1]
            sampled.passed[k, OUTPUT] += 1.0
        for event in range(3):
            due = min(due, time_of(samplers, sampled, k, event))
    sampled.due[0] = due
