"""`fatigue`: damage of a body over a run, with its page in three dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexmbs.durability.fatigue import FatigueData, damage
from flexmbs.durability.sn_curve import SNCurve
from flexmbs.results.solution import SolutionData

if TYPE_CHECKING:
    from flexmbs.report.view import View


@dataclass(frozen=True, eq=False)
class Fatigue(FatigueData):
    __doc__ = FatigueData.__doc__

    def show(self, *, browser: bool | None = None) -> View:
        """The body in three dimensions with the damage as colours, by decades, and its worst nodes
        numbered, as a page that a notebook displays; elsewhere, or with ``browser``, it is opened
        in a browser. Raises InputError for a body without triangles."""
        from flexmbs.report.fatigue import fatigue_view
        from flexmbs.report.view import shown

        return shown(fatigue_view(self), browser)


def fatigue(
    solution: SolutionData,
    body: str,
    curve: SNCurve,
    *,
    nodes: Iterable[int] | None = None,
    hottest: int | None = None,
    measure: str = "signed von Mises",
) -> Fatigue:
    """Damage D = Σ n/N of the stress histories at the nodes of a body, cycles by rainflow, N by an
    S–N curve.

    curve: the S–N curve. nodes: numbers in the mesh; hottest: only so many, those of largest von
    Mises stress; by default all nodes with stress. measure: "signed von Mises", positive or
    negative as the stress is along or against its largest value, where it has the sign of the
    principal stress of largest magnitude, as it has where it is neither along nor against;
    "principal", the largest principal stress where that is positive and the least elsewhere, so
    that shear that reverses has its full range; or "critical plane", the largest damage by the
    normal stress on any plane across the surface, for stress that changes its axes. The result
    prints the worst nodes; ``.show()`` shows the damage as colours of the body in three dimensions,
    and ``solution.report(path, fatigue=…)`` has it as a section. Histories are those of the
    outputs; a `ModelWarning` tells if, at the worst node, four times as many change the damage.
    Raises `InputError`, and `MachineError` without the package `rainflow`. Sources: ASTM E1049-85;
    Miner, J. Appl. Mech. 12 (1945) 159; Dowling (2013), chapter 9.

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> steel, ends = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), {"root": pp.Rigid("x0"), "end": pp.Rigid("x1")}
    >>> data = pp.reduce(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), steel, interfaces=ends, reference="root")
    >>> model = fm.Model("bar", gravity=(0, 0, 0))
    >>> bar = model.add(fm.FlexibleBody("bar", data=data))
    >>> clamp = model.add(fm.Fixed("clamp", model.ground, bar["root"]))
    >>> load = model.add(fm.FrameForce("load", bar["end"], force=(0, 0, fm.Table((0, 1, 2), (400.0, -400.0, 400.0)))))
    >>> cycle = fm.quasi_static(model, [0.0, 1.0, 2.0])
    >>> life = fm.fatigue(cycle, "bar", fm.SNCurve(amplitude=100e6, cycles=1e6, slope=5.0))
    >>> worst = life.worst(1)[0]
    >>> round(1e6 * life.damage[worst].item() / (life.amplitude[worst].item() / 100e6) ** 5, 6)  # one cycle
    1.0
    """
    return Fatigue(**vars(damage(solution, body, curve, nodes, hottest, measure)))
