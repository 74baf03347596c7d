"""Calls of force laws: force along one coordinate, slopes, states, readings and rates.

Theory: docs/theory.md, section 39.
"""

from flexmbs._jit import part
from flexmbs.algebra.small import ZERO3, load3_at, mul
from flexmbs.dynamics.frames import frame_pose, world_pose
from flexmbs.dynamics.law_calls import call_law, given_values

SLOPE_STEP = 1e-6  # times 1 + |x| in m, rad or their rates: about the cube root of round-off
LOADED_ARGUMENTS = 7  # t, x, v and the four loads of the joint


@part
def scalar_law(system, work, rows, f, given):
    """(force, dissipative part) by the law of force f.

    given: (t, x, v), coordinate x with rate v. The force states are in the workspace, and their
    rates stay there.
    """
    workspace = work.laws
    for a in range(3):
        workspace.x[a] = given[a]
    given_values(rows.law, f, system.laws, workspace, work.io, LOADED_ARGUMENTS)
    call_law(rows.law.kernel_index[f], rows.value[f], workspace, 2 + rows.law.n_states[f], 0.0)
    return workspace.out[0], workspace.out[1]


@part
def scalar_slopes(system, work, rows, f, given, sign):
    """``sign`` · (∂F/∂x, ∂F/∂v), from the law (with its sign) or by central differences.

    given: (t, x, v).
    """
    if rows.law.has_slopes[f] == 1:
        call_law(rows.law.kernel_index[f], rows.value[f], work.laws, 2, 1.0)
        return work.laws.out[0], work.laws.out[1]
    t, x, v = given
    h = SLOPE_STEP * (1.0 + abs(x))
    hv = SLOPE_STEP * (1.0 + abs(v))
    a, _ = scalar_law(system, work, rows, f, (t, x + h, v))
    b, _ = scalar_law(system, work, rows, f, (t, x - h, v))
    c, _ = scalar_law(system, work, rows, f, (t, x, v + hv))
    d, _ = scalar_law(system, work, rows, f, (t, x, v - hv))
    return sign * (a - b) / (2.0 * h), sign * (c - d) / (2.0 * hv)


@part
def give_states(law, f, z, stage, x, n):
    """Write force states z of force f, bases c and weight a to the arguments x from n on.

    z = c + a ż in an implicit stage; else a = 0.
    """
    count = law.n_states[f]
    for i in range(count):
        x[n + i] = z[law.state[f] + i]
        x[n + count + i] = stage[1 + law.state[f] + i]
    x[n + 2 * count] = stage[0]


@part
def give_readings(system, work, q, rows, f, x, n):
    """Write the constraint wrenches that force f reads to x from n on; returns the end.

    Unknown wrenches are zero.
    """
    read = work.loads.read
    for i in range(rows.n_readings[f]):
        r, at = rows.reading[f] + i, n + 6 * i
        force, moment = load3_at(read, r, 0), load3_at(read, r, 3)
        if read[r, 0] != read[r, 0]:
            force, moment = ZERO3, ZERO3
        if rows.world_axes[f] == 1:
            m = system.readings.frame[r]
            R, xm = frame_pose(work.frames, m, q)
            A, _ = world_pose(work.frames, work.motion, m, R, xm)
            force, moment = mul(A, force), mul(A, moment)
        for a in range(3):
            x[at + a], x[at + 3 + a] = force[a], moment[a]
    return n + 6 * rows.n_readings[f]


@part
def reads_unknown(rows, f, read):
    """True if force f reads a reaction that is not known yet."""
    for i in range(rows.n_readings[f]):
        r = rows.reading[f] + i
        if read[r, 0] != read[r, 0]:
            return True
    return False


@part
def take_rates(law, f, out, n, rate):
    """Read rates of the force states of force f from the law's results ``out``."""
    for i in range(law.n_states[f]):
        rate[law.state[f] + i] = out[n + i]
    for i in range(law.n_states[f], law.n_states[f] + law.n_held[f]):
        rate[law.state[f] + i] = 0.0


@part
def take_no_rates(law, f, rate):
    """Zero the rates of the force states of force f."""
    for i in range(law.n_states[f]):
        rate[law.state[f] + i] = 0.0
