"""Second-order displacements on a quadratic manifold: mass matrices of many parts, swinging beams
against the elastica, fields.

    python reports/manifold/study.py [parts] [beams] [fields]        -> study.json, parts.png (about three minutes)

Parts: 50 random solid beams and blocks × 3 body frames × 9 to 46 modes, with random deflections:
smallest eigenvalue of M(q) in units of M(0), with second-order displacements on the manifold, and
with terms up to the second order in q only. Beams: a slender beam swings on a hinge, as one
flexible body or divided into 2 and 4, for three moduli, against an inextensible beam. Fields: the
same and a spin-up of `reports/stiffening` with finer fields than the affine ones, from the
responses to unit loads.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from matplotlib.figure import Figure

import flexmbs as fm
import preprocess as pp
from flexmbs.page.style import house_style
from flexmbs.system import compile_bodies
from flexmbs.system.second_order_fields import SecondOrderFields, second_order_fields
from preprocess.body.shape_integrals import shape_integrals
from preprocess.body.unit_loads import BodyLoads
from preprocess.fe.assembly import assemble
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.interface_statics import InterfaceStatics

HERE = Path(__file__).parent
FRAMES, MODES, AMOUNTS, DRAWS = (
    ("hub", "mean axes", "chord"),
    (3, 20, 40),
    (0.01, 0.02, 0.04, 0.08, 0.16),
    6,
)
LENGTH, SIDE, RHO, G = 1.0, 0.01, 2700.0, 9.81


def load(name: str, path: Path) -> Any:
    """A module from its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rigid_rows(
    c: np.ndarray, P: np.ndarray, U: np.ndarray, S: np.ndarray, mass: float, m_ff: np.ndarray
) -> np.ndarray:
    """[[m 1, −c̃, S], [c̃, tr(P) 1 − P, Īf], [Sᵀ, Īfᵀ, m_ff]] with Īf from U[a, b, k] = ∫u_a φ_bk
    dm.
    """
    I = np.array([U[1, 2] - U[2, 1], U[2, 0] - U[0, 2], U[0, 1] - U[1, 0]])
    skew = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    return np.block(
        [[mass * np.eye(3), -skew, S], [skew, np.trace(P) * np.eye(3) - P, I], [S.T, I.T, m_ff]]
    )


def on_the_manifold(d: fm.FlexibleBodyData, q: np.ndarray, fields: SecondOrderFields) -> np.ndarray:
    """M(q) = Jᵀ M(η) J of the modes [φ ψ]."""
    S, xS, SS = fields.with_modes(d)
    eta, _, _ = fields.coordinates(q, q, q)
    J = np.vstack([np.eye(len(q)), fields.C @ q])
    P = d.second_moment + (xS @ eta) + (xS @ eta).T + np.einsum("k,abkl,l->ab", eta, SS, eta)
    U = (xS + np.einsum("abkl,k->abl", SS, eta)) @ J
    return rigid_rows(
        d.first_moment + S @ eta, P, U, S @ J, d.mass, J.T @ np.einsum("aakl->kl", SS) @ J
    )


def to_second_order(d: fm.FlexibleBodyData, q: np.ndarray) -> np.ndarray:
    """M(q) of u = x + φ q + ½ γ(q, q) without the terms of third order in q, which are not
    determined by the moments of γ.
    """
    K0 = d.geometric
    assert K0 is not None
    D, A = K0.second_moments, K0.acceleration
    half = 0.5 * np.einsum("k,abkl,l->ab", q, D, q)
    P = (
        d.second_moment
        + (d.xS @ q + half)
        + (d.xS @ q + half).T
        + np.einsum("k,abkl,l->ab", q, d.SS, q)
    )
    U = d.xS + np.einsum("abkl,k->abl", d.SS + D, q)
    c = d.first_moment + d.S_bar @ q + 0.5 * np.einsum("k,akl,l->a", q, A, q)
    return rigid_rows(c, P, U, d.S_bar + A @ q, d.mass, d.m_ff)


def parts() -> dict[str, Any]:
    """Smallest eigenvalue of M(q) in M(0) over random parts, body frames, modes and deflections."""
    rng, found = np.random.default_rng(0), []
    for number in range(50):
        L = rng.uniform(0.2, 2.0)
        h = L / np.exp(rng.uniform(np.log(3.0), np.log(60.0)))
        b = h * rng.uniform(0.5, 2.0)
        mesh = pp.box_mesh((L, h, b), (24, 2, 2), "hex8", origin=(0.0, -h / 2, -b / 2))
        ends = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
        for frame in FRAMES:
            for modes in MODES:
                d = pp.reduce(
                    mesh,
                    pp.Isotropic(E=7e10, nu=0.3, rho=RHO),
                    interfaces=ends,
                    method=pp.CraigBampton(modes=modes),
                    reference=frame,
                    stress=None,
                    estimate=False,
                )
                assert d.surface is not None
                fields, zero = second_order_fields(d), np.zeros(d.nf)
                M0 = on_the_manifold(d, zero, fields)
                row = {
                    "part": number,
                    "L/h": L / h,
                    "frame": frame,
                    "nf": d.nf,
                    "manifold": [],
                    "second order": [],
                }
                draws = rng.normal(size=(DRAWS, d.nf)) / np.sqrt(np.diag(d.K_ff))
                draws /= np.linalg.norm(d.surface.phi @ draws.T, axis=1).max(axis=0)[:, None]
                for amount in AMOUNTS:
                    here = amount * L * draws
                    for name, mass in (
                        ("manifold", lambda q, d=d, f=fields: on_the_manifold(d, q, f)),
                        ("second order", lambda q, d=d: to_second_order(d, q)),
                    ):
                        row[name].append(
                            min(
                                float(scipy.linalg.eigh(mass(q), M0, eigvals_only=True)[0])
                                for q in here
                            )
                        )
                found.append(row)
        print(number, found[-1]["manifold"], found[-1]["second order"], flush=True)
    values = {name: np.array([row[name] for row in found]) for name in ("manifold", "second order")}
    lost = {name: (each <= 0.0).sum(axis=0).tolist() for name, each in values.items()}
    least = {name: each.min(axis=0).tolist() for name, each in values.items()}
    return {
        "bodies": len(found),
        "deflection": AMOUNTS,
        "indefinite": lost,
        "least": least,
        "rows": found,
    }


def beam(E: float, pieces: int, frame: str = "hub") -> fm.FlexibleBodyData:
    """A piece of the beam of 40 hexahedra and 14 modes."""
    size = LENGTH / pieces
    mesh = pp.box_mesh(
        (size, SIDE, SIDE), (40 // pieces, 1, 1), "hex20", origin=(0.0, -SIDE / 2, -SIDE / 2)
    )
    ends, method = (
        {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        pp.CraigBampton(modes=max(14 // pieces, 4)),
    )
    material = pp.Isotropic(E=E, nu=0.0, rho=RHO)
    return pp.reduce(
        mesh, material, interfaces=ends, method=method, reference=frame, stress=None, estimate=False
    )


def swing(E: float, pieces: int, frame: str, times: np.ndarray) -> fm.Solution:
    """The beam from the horizontal at rest under its weight."""
    model, data = fm.Model("pendulum", gravity=(0.0, -G, 0.0)), beam(E, pieces, frame)
    end = model.ground
    for k in range(pieces):
        body = model.add(fm.FlexibleBody(f"beam {k}", data=data))
        model.add(
            fm.Revolute("hinge", end, body["hub"], axis="z")
            if k == 0
            else fm.Fixed(f"joint {k}", end, body["hub"])
        )
        end = body["tip"]
    return fm.simulate(
        model, t_end=times[-1], output_step=times[1], integrator=fm.GeneralizedAlpha(step=2e-4)
    )


def beams() -> list[dict[str, Any]]:
    """Largest distance of the tip from that of the elastica, in lengths, by body frame and number
    of bodies.
    """
    theory = load("elastica", HERE.parents[1] / "tests" / "references" / "test_hinged_elastica.py")
    found = []
    for E in (1.5e9, 5e8, 2e8):
        theory.E = E
        tip, deflection = theory.elastica()
        row: dict[str, Any] = {"E": E, "deflection": deflection / LENGTH}
        for pieces, frame in ((1, "hub"), (1, "mean axes"), (2, "hub"), (4, "hub")):
            run = swing(E, pieces, frame, theory.TIMES)
            error = np.abs(run.frame(f"beam {pieces - 1}/tip").position[:, :2] - tip).max() / LENGTH
            row[f"{pieces} {frame}"] = {"error": float(error), "verdict": run.verdict}
        found.append(row)
        print(row, flush=True)
    return found


def finer_fields(
    d: fm.FlexibleBodyData, mesh: pp.Mesh, material: pp.Isotropic, share: float
) -> SecondOrderFields:
    """Affine fields and the largest principal fields of Galerkin's solution in the span of the
    static responses u_p.

    γ = −Σ u_p E⁻¹ K0_r with E_pr = u_pᵀ K u_r has the displacements conjugate to all unit loads,
    −K0; its non-affine part has no moments. The frame of the body is that of the mesh. ``share``:
    of the largest field, at modes of one strain energy.
    """
    K0, own = d.geometric, second_order_fields(d)
    assert K0 is not None
    assert d.surface is not None
    x, phi, fe = d.surface.nodes, d.surface.phi, assemble(mesh, material)
    bound = bind_interfaces(
        {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}, fe.nodes, fe.node_sets, fe.triangles
    )
    cases = BodyLoads(InterfaceStatics(fe, bound), np.zeros(3), np.eye(3)).under("mean axes")
    loads = np.concatenate(
        [K0.acceleration, K0.angular_acceleration, K0.rotation, K0.frames["hub"], K0.frames["tip"]]
    )
    held = np.abs(cases.displacements).max(axis=0) > 0.0
    E = cases.displacements[:, held].T @ cases.loads[:, held]
    u = cases.displacements[:, held].reshape(len(x), 3, -1)
    # of the u_p
    gamma = -np.tensordot(np.linalg.pinv(E, rcond=1e-10, hermitian=True), loads[held], axes=1)
    w = np.column_stack([np.ones(len(x)), x])
    G = w.T @ (fe.m @ w)
    rest = u - (w @ np.linalg.solve(G, w.T @ (fe.m @ u.reshape(len(x), -1)))).reshape(u.shape)
    gram = np.einsum("nbk,nbl->kl", rest, (fe.m @ rest.reshape(len(x), -1)).reshape(rest.shape))
    values, turn = np.linalg.eigh(gram)
    root = np.sqrt(values[values > 1e-10 * values[-1]])
    turn = turn[:, -len(root) :]
    nu, scale = np.tensordot(root[:, None] * turn.T, gamma, axes=1), np.diag(d.K_ff) ** -0.5
    mixing, sizes, _ = np.linalg.svd(
        (scale[:, None] * nu * scale).reshape(len(nu), -1), full_matrices=False
    )
    largest = np.linalg.norm(scale[:, None] * own.C * scale, axis=(1, 2)).max()
    mixing = mixing[:, sizes > share * largest]
    psi = rest @ (turn / root @ mixing)
    affine = (
        w @ np.linalg.solve(G, np.concatenate([own.S_bar[None], own.xS]).reshape(4, -1))
    ).reshape(len(x), 3, -1)
    psi = np.concatenate([affine, psi], axis=2)
    _, _, _, S_bar, xS, SS = shape_integrals(fe.m, x, np.concatenate([phi, psi], axis=2))
    return SecondOrderFields(
        np.concatenate([own.C, np.tensordot(mixing.T, nu, axes=1)]),
        S_bar[:, d.nf :],
        xS[:, :, d.nf :],
        SS[:, :, :, d.nf :],
    )


def solid(
    length: float, side: float, divisions: int, E: float, rho: float
) -> tuple[pp.Mesh, pp.Isotropic]:
    """Mesh and material of a beam."""
    mesh = pp.box_mesh(
        (length, side, side), (divisions, 1, 1), "hex20", origin=(0.0, -side / 2, -side / 2)
    )
    return mesh, pp.Isotropic(E=E, nu=0.0, rho=rho)


def fields() -> list[dict[str, Any]]:
    """Swinging beam and spin-up with an increasing number of fields."""
    theory = load("elastica", HERE.parents[1] / "tests" / "references" / "test_hinged_elastica.py")
    stiffening = load("stiffening", HERE.parent / "stiffening" / "study.py")
    spinning, speed = stiffening.SPIN_UPS["wuhaug6"]
    made = {spinning.L: solid(spinning.L, spinning.height, 30, spinning.E, spinning.rho)}
    found, affine = [], compile_bodies.second_order_fields
    for share in (np.inf, 0.3, 0.1, 0.01):
        count: list[int] = []

        def of(
            d: fm.FlexibleBodyData, share: float = share, count: list[int] = count
        ) -> SecondOrderFields:
            part = made[round(float(d.frames["tip"].x[0]), 9)]
            result = affine(d) if share == np.inf else finer_fields(d, *part, share)
            count.append(len(result.C))
            return result

        compile_bodies.second_order_fields = of
        row: dict[str, Any] = {"share": share if share < np.inf else "affine"}
        for E in (1.5e9, 5e8):
            theory.E, made[LENGTH] = E, solid(LENGTH, SIDE, 40, E, RHO)
            tip, deflection = theory.elastica()
            run = swing(E, 1, "hub", theory.TIMES)
            row[f"swing {deflection / LENGTH:.2f}"] = float(
                np.abs(run.frame("beam 0/tip").position[:, :2] - tip).max() / LENGTH
            )
        row["fields of the swing"] = count[-1]
        run, _ = stiffening.run(
            stiffening.body(spinning, divisions=30, modes=8), speed, stiffening=True
        )
        row |= {
            "spin-up": float(stiffening.tip_deflection(run)[:, 1].min()),
            "fields of the spin-up": count[-1],
        }
        compile_bodies.second_order_fields = affine
        found.append(row)
        print(row, flush=True)
    return found


def draw(found: dict[str, Any]) -> Figure:
    """Smallest eigenvalues over the deflection."""
    figure = Figure(figsize=(8.6, 4.2))
    axes = figure.subplots(1, 2, sharey=True)
    for ax, name in zip(axes, ("second order", "manifold")):
        for row in found["rows"]:
            ax.plot(
                100.0 * np.array(AMOUNTS), row[name], color="#1f5a94", alpha=0.15, linewidth=0.8
            )
        ax.axhline(0.0, color="#d07a36")
        ax.set_xscale("log")
        ax.set_xticks([], minor=True)
        ax.set_xticks([100.0 * each for each in AMOUNTS], [f"{100.0 * each:g}" for each in AMOUNTS])
        ax.set_ylim(-1.5, 1.1)
        ax.set_title(
            {"second order": "terms up to second order only", "manifold": "on the manifold"}[name]
        )
        ax.set_xlabel("deflection (% of the length)")
    axes[0].set_ylabel("smallest eigenvalue of M(q) in M(0)")
    return figure


def main() -> None:
    chosen = sys.argv[1:] or ["parts", "beams", "fields"]
    target = HERE / "study.json"
    table = json.loads(target.read_text()) if target.exists() else {}
    if "parts" in chosen:
        table["parts"] = parts()
        with house_style():
            draw(table["parts"]).savefig(HERE / "parts.png", dpi=120)
        del table["parts"]["rows"]
    if "beams" in chosen:
        table["beams"] = beams()
    if "fields" in chosen:
        table["fields"] = fields()
    target.write_text(json.dumps(table, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
