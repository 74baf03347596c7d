"""Lecture notes 003, procedure with minimal coordinates, step 2: initial values of the elastic
coordinates by statics.
"""

import numpy as np
from matplotlib.figure import Figure
from models import Beam
from page import Study, difference

import flexmbs as fm

BEAM, SPIN, G = Beam(), 6.0, 9.81


def beam(driven: bool) -> fm.Model:
    """The beam clamped horizontally under its weight along −z, or on a hinge about z that is driven
    at a constant rate.
    """
    model = fm.Model("beam", gravity=(0, 0, -G))
    model.add(fm.FlexibleBody("beam", data=BEAM.data("beam")))
    if driven:
        model.add(fm.Revolute("hinge", model.ground, "beam"))
        model.add(fm.Drive("motor", "hinge", fm.Ramp(0.0, SPIN)))
    else:
        model.add(fm.Fixed("clamp", model.ground, "beam"))
    return model


def study() -> Study:
    options = {
        "t_end": 1.0,
        "output_step": 0.005,
        "integrator": fm.DormandPrince(rtol=1e-10, atol=1e-12),
    }
    weight = BEAM.m * np.einsum("nak,a->k", BEAM.phi, [0.0, 0.0, -G])
    rest = fm.statics(beam(driven=False))
    runs = {"from the declared shape": fm.simulate(beam(driven=False), **options)}
    runs["from the equilibrium"] = fm.simulate(beam(driven=False), start=rest, **options)
    steady = fm.statics(beam(driven=True), steady=True)
    turning = fm.simulate(beam(driven=True), start=steady, **options)
    centrifugal = BEAM.m * np.einsum("nak,na->k", BEAM.phi, SPIN**2 * BEAM.x * [1.0, 1.0, 0.0])
    mass = BEAM.m * np.einsum(
        "nak,nab,nbl->kl", BEAM.phi, np.array([np.diag([1.0, 1.0, 0.0])] * len(BEAM.x)), BEAM.phi
    )
    qf = {name: run.body("beam").elastic for name, run in runs.items()}
    static = np.linalg.solve(BEAM.K, weight)
    modal = np.sqrt(BEAM.K[2, 2] / (BEAM.m * np.sum(BEAM.phi[:, 2, 2] ** 2)))
    identities = {
        "K_ff q_f = Q_g": difference(rest.state.q, static),
        "a run from the equilibrium stays there": difference(qf["from the equilibrium"], static),
        "from the declared shape: q_f = static (1 − cos ωt)": difference(
            qf["from the declared shape"][:, 2],
            static[2] * (1.0 - np.cos(modal * runs["from the declared shape"].t)),
        ),
        "turning: (K_ff − ω² ∫φᵀPφ dm) q_f = Q_g + ω² ∫φᵀPx dm": difference(
            (BEAM.K - SPIN**2 * mass) @ turning.body("beam").elastic[0], weight + centrifugal
        ),
        "a turning run from its equilibrium keeps its shape": difference(
            turning.body("beam").elastic, turning.body("beam").elastic[0]
        ),
    }
    numbers = {
        "deflection of the tip at rest (m)": rest.state.q[2],
        "q_f in steady rotation": turning.body("beam").elastic[0],
        "natural frequency (rad/s)": modal,
    }

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, values in qf.items():
            axes.plot(runs[name].t, 1e3 * values[:, 2], label=f"clamped, {name}")
        axes.plot(
            turning.t,
            1e3 * turning.body("beam").elastic[:, 2],
            ":",
            label="turning at 6 rad/s, from its equilibrium",
        )
        axes.set(xlabel="time (s)", title="Deflection of the tip along z (mm)", ylim=(-52, 20))
        axes.legend(loc="upper right", ncol=2)

    return Study(identities, numbers, draw, 3.0)
