"""Couplers: linear equations and user-defined equations between joint coordinates.

    g = Σ a β − b(t):                     ġ = Σ a η − ḃ,  g̈ = Σ a η̇ − b̈
    g(t, x) = 0 or a(t, x) · ẋ + a₀ = 0:  ġ = a · ẋ + a₀,  g̈ = a · ẍ + d/dτ (a · ẋ + a₀) along x + τ ẋ, t + τ

Their multipliers give the forces a λ along the coordinates.

Theory: docs/theory.md, sections 14 and 15. Shabana, Computational Dynamics (2010), chapter 3;
Fornberg (1988), Math. Comput. 51, 699, for the weights of the differences.
"""

import math

from flexmbs.algebra.differences import STENCIL
from flexmbs._jit import call_address, called, part
from flexmbs._jit.address import entry
from flexmbs.dynamics.constraints import coordinate, drive_values
from flexmbs.dynamics.laws import law_of_time
from flexmbs.dynamics.shared_calls import call_shared

ALONG = 1e-3  # displacement for d/dτ, in comparable changes of the coordinates


@part
def coordinates_along(system, work, here, k, tau):
    """work.io ← coordinates x + τ ẋ of coupler k; their speed, and a · ẋ.

    Returns |ẋ| over comparable changes, and a · ẋ with the factors in work.io[1].
    """
    couplers, terms = system.couplers, system.couplers.terms
    speed = along = 0.0
    for i in range(couplers.first[k], couplers.end[k]):
        x, v, _ = coordinate(
            system, work, here, terms.body[i], terms.cut[i], (terms.v[i], terms.q[i])
        )
        place = i - couplers.first[k]
        work.io[0, 1 + place] = x + tau * v
        speed += (v / terms.size[i]) ** 2
        along += work.io[1, place] * v
    return math.sqrt(speed), along


@called
def function_row(system, work, t, here, k):
    """Row of coupler k by its user functions, and its factors a.

    g, ġ = a · ẋ + a₀, g̈ = a · ẍ + d/dτ (a · ẋ + a₀) along x + τ ẋ, t + τ, the last term by central
    differences of fourth order, as in `flexmbs.dynamics.user_rows` (theory, section 15).
    """
    couplers, terms, gs, io = system.couplers, system.couplers.terms, work.gs, work.io
    row, first, n = couplers.row[k], couplers.first[k], couplers.end[k] - couplers.first[k]
    address = system.laws.address[couplers.row_function[k]]
    speed, _ = coordinates_along(system, work, here, k, 0.0)
    h = ALONG / (1.0 + speed)
    gs.acceleration[row] = 0.0
    for factor, weight in STENCIL:
        coordinates_along(system, work, here, k, factor * h)
        io[0, 0] = t + factor * h
        call_address(address, io[0], io[1])
        _, along = coordinates_along(system, work, here, k, 0.0)
        gs.acceleration[row] += weight / h * (along + io[1, n])
    io[0, 0] = t
    call_address(address, io[0], io[1])
    _, along = coordinates_along(system, work, here, k, 0.0)
    gs.velocity[row] = along + io[1, n]
    work.drive_rate[row] = -io[1, n]
    for i in range(first, couplers.end[k]):
        work.factor[i] = io[1, i - first]
        _, _, a = coordinate(
            system, work, here, terms.body[i], terms.cut[i], (terms.v[i], terms.q[i])
        )
        gs.acceleration[row] += work.factor[i] * a
    gs.position[row] = 0.0
    if couplers.function[k] >= 0:
        call_address(system.laws.address[couplers.function[k]], io[0], io[1])
        gs.position[row] = io[1, 0]


@called
def coupler_values(system, work, t, here):
    """Rows g = Σ a β − b(t), ġ = Σ a η − ḃ, g̈ = Σ a η̇ − b̈ of the couplers, and the rates ḃ.

    Theory, section 14.
    """
    couplers, terms, gs = system.couplers, system.couplers.terms, work.gs
    for k in range(couplers.row.shape[0]):
        row = couplers.row[k]
        if couplers.row_function[k] >= 0:
            function_row(system, work, t, here, k)
            continue
        f, fd, fdd = law_of_time(system.laws, couplers.law[k], t, work.io)
        work.drive_rate[row] = fd
        gs.position[row] = -f - couplers.constant[k]
        gs.velocity[row] = -fd
        gs.acceleration[row] = -fdd
        for i in range(couplers.first[k], couplers.end[k]):
            x, v, a = coordinate(
                system, work, here, terms.body[i], terms.cut[i], (terms.v[i], terms.q[i])
            )
            work.factor[i] = terms.factor[i]
            gs.position[row] += terms.factor[i] * x
            gs.velocity[row] += terms.factor[i] * v
            gs.acceleration[row] += terms.factor[i] * a


@entry
def joint_rows_at(model, here, /, t):
    """Kernel that evaluates the rows of drives and couplers."""
    drive_values(model.system, model.work, t, here)
    coupler_values(model.system, model.work, t, here)
    return 0


@part
def joint_rows(system, work, t, here):
    """Call `joint_rows_at` if there are drives or couplers; otherwise zero rates."""
    for r in range(work.drive_rate.shape[0]):
        work.drive_rate[r] = 0.0
    if work.calls.joint_rows >= 0:
        call_shared(system, work, work.calls.joint_rows, here, t, 0.0, 0.0)
