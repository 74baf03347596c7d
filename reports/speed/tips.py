"""Difference of the tips of chains in flexmbs and Exudyn: the moment of gravity on the deformed
body.

    python reports/speed/tips.py          prints the tables, and PASS or FAIL for the limits (about four minutes)

First the generalized force of gravity at one deformed state: Exudyn's against minus the derivative
of the potential energy, a sum over all nodes with the consistent mass matrix. Then the tips of the
chains of `multibody.py` after 1 s, Newton's method to round-off, at h and h/4: with Exudyn
unchanged, with the missing moment added by a user function, and without gravity but with initially
rotating beams. Differences of the integrators decrease with the square of the step, by a factor of
16.
"""

import exudyn
import multibody
import numpy as np
from exudyn.rigidBodyUtilities import EulerParameters2GLocal, EulerParameters2RotationMatrix

# Euler parameters of the reference; Exudyn's coordinates are differences from it
STILL = np.array([1.0, 0.0, 0.0, 0.0])
GRAVITY, MODES = np.array(multibody.GRAVITY), 4
CHAINS = [(2, 2.1e11), (6, 2.1e11), (10, 2.1e11), (6, 2.1e9)]  # bodies, modulus of elasticity
RATE = 5.0  # rad/s
LIMITS = {"force": 1e-5, "ratio": 12.0}  # N and N m; tips apart at h over those at h/4


def potential(fe, phi, state):
    """Potential energy of gravity; ``state``: position, Euler parameters and modal coordinates."""
    turn = EulerParameters2RotationMatrix(state[3:7])
    points = state[:3] + (fe.nodes + phi @ state[7:]) @ turn.T
    return -np.tile(GRAVITY, len(points)) @ (fe.M @ points.ravel())


def potential_force(fe, phi, state, h=1e-4):
    """Minus the derivative of the potential energy, exact: the energy is quadratic along every
    coordinate.
    """
    around = [
        potential(fe, phi, state + h * side) - potential(fe, phi, state - h * side)
        for side in np.eye(len(state))
    ]
    return -np.array(around) / (2.0 * h)


def peer_force(fe, body, state):
    """Exudyn's generalized force of gravity: its right-hand
    side with gravity minus that without.
    """
    sides = []
    for gravity in (GRAVITY, np.zeros(3)):
        system = exudyn.SystemContainer().AddSystem()
        link = multibody.peer_beams(fe, body, MODES).AddObjectFFRFreducedOrder(
            system, gravity=list(gravity)
        )
        system.SetNodeParameter(
            link["nRigidBody"], "initialCoordinates", list(state[:7] - np.r_[np.zeros(3), STILL])
        )
        system.SetNodeParameter(link["nGenericODE2"], "initialCoordinates", list(state[7:]))
        system.Assemble()
        settings, run = exudyn.SimulationSettings(), exudyn.MainSolverImplicitSecondOrder()
        settings.solution.file.write = False
        run.InitializeSolver(system, settings)
        run.ComputeODE2RHS(system)
        sides.append(np.array(run.GetSystemResidual())[: len(state)])
    return sides[0] - sides[1]


def missing_moment(S):
    """User function of gravity's moment on the displaced mass; ``S`` (3, modes): integrals of the
    shapes over the mass.
    """

    def force(system, t, item, q, q_t):
        q = np.array(q)
        parameters = q[3:7] + STILL
        moment = np.cross(S @ q[7:], EulerParameters2RotationMatrix(parameters).T @ GRAVITY)
        return np.r_[
            np.zeros(3), EulerParameters2GLocal(parameters).T @ moment, np.zeros(len(q) - 7)
        ]

    return force


def force_errors(fe, body, phi, missing):
    """Table of the force at a deformed state; the largest error with the missing moment added."""
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=4)
    state = np.r_[
        np.zeros(3), parameters / np.linalg.norm(parameters), 1e-3 * rng.normal(size=MODES)
    ]
    exact, theirs = potential_force(fe, phi, state), peer_force(fe, body, state)
    added = missing(None, 0.0, 0, state - np.r_[np.zeros(3), STILL, np.zeros(MODES)], None)
    # Euler parameters move on the unit sphere; the force across it does no work
    sphere = np.eye(len(state))
    sphere[3:7, 3:7] -= np.outer(state[3:7], state[3:7])
    rows = [abs(sphere @ force) for force in (exact, theirs - exact, theirs + added - exact)]
    print("gravity at a deformed state |    size | Exudyn's error | with the moment added")
    for what, part in (
        ("force (N)", slice(0, 3)),
        ("moment (N m)", slice(3, 7)),
        ("modal forces (N)", slice(7, None)),
    ):
        size, as_is, corrected = (row[part].max() for row in rows)
        print(f"{what:27s} | {size:7.1e} | {as_is:14.1e} | {corrected:.1e}")
    return rows[-1].max()


def tips_apart(fe, body, n, finer, force, **motion):
    """Distance of the tips with the step divided by ``finer``, m."""
    run = {"steps": 1000 * finer, "step": multibody.STEP / finer, "tolerance": 1e-11, **motion}
    solver = exudyn.LinearSolverType.EXUdense if n == 2 else exudyn.LinearSolverType.EigenSparse
    ours = multibody.our_run(multibody.truncated(body, MODES), n, "absolute", **run)[1]
    return multibody.distance(
        ours, multibody.peer_run(fe, body, n, MODES, solver, force=force, **run)[1]
    )


def chain_rows(fe, body, n, modulus, missing):
    """Table of the tips of one chain; smallest ratio of the cases in which only the integrators
    differ.
    """
    turning, ratios = {"gravity": (0.0, 0.0, 0.0), "rates": RATE * (-1.0) ** np.arange(n)}, []
    for what, force, motion in (
        ("as is", 0, {}),
        ("moment added", missing, {}),
        ("no gravity", 0, turning),
    ):
        coarse, fine = (tips_apart(fe, body, n, finer, force, **motion) for finer in (1, 4))
        ratios.append(coarse / fine)
        print(
            f"{n:2d} bodies, {modulus:.1e} Pa, {what:12s} | {coarse:.1e} | {fine:.1e} | "
            f"{coarse / fine:5.1f}",
            flush=True,
        )
    return min(ratios[1:])


def main():
    exudyn.config.suppressWarnings = True  # garbage of the user function
    print(f"Exudyn {exudyn.__version__}, {MODES} modes")
    error, ratios = 0.0, []
    for n, modulus in CHAINS:
        fe, body = multibody.beam(modulus)
        phi = np.asarray(body.surface.phi[:, :, :MODES])
        missing = missing_moment((fe.M @ phi.reshape(-1, MODES)).reshape(phi.shape).sum(axis=0))
        if not ratios:
            error = force_errors(fe, body, phi, missing)
            print("distance of tips (m)                  | step h  | h / 4   | ratio")
        ratios.append(chain_rows(fe, body, n, modulus, missing))
    exact, converging = error <= LIMITS["force"], min(ratios) >= LIMITS["ratio"]
    print(
        f"{'PASS' if exact else 'FAIL'}  error of gravity with the moment added: "
        f"{error:.1e} (at most {LIMITS['force']:.0e})"
    )
    print(
        f"{'PASS' if converging else 'FAIL'}  smallest ratio except for unchanged Exudyn: "
        f"{min(ratios):.3g} (at least {LIMITS['ratio']:.3g})"
    )
    return int(not (exact and converging))


if __name__ == "__main__":
    raise SystemExit(main())
