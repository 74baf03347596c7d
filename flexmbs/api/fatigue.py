"""`fatigue`: damage of a body over a run, with a three-dimensional page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexmbs.checked_arguments import checked_arguments
from flexmbs.durability.fatigue import FatigueData, damage
from flexmbs.durability.sn_curve import SNCurve
from flexmbs.results.solution import SolutionData

if TYPE_CHECKING:
    from flexmbs.report.view import View


@dataclass(frozen=True, eq=False)
class Fatigue(FatigueData):
    __doc__ = FatigueData.__doc__

    def show(self, *, browser: bool | None = None) -> View:
        """Show the body in three dimensions, coloured by damage per decade.

        Its worst nodes are numbered. A notebook displays the page; elsewhere, or with ``browser``,
        it opens in a browser. Raises InputError for a body without triangles.
        """
        from flexmbs.report.fatigue import fatigue_view
        from flexmbs.report.view import shown

        return shown(fatigue_view(self), browser)


@checked_arguments
def fatigue(
    solution: SolutionData,
    body: str,
    curve: SNCurve,
    *,
    nodes: Iterable[int] | None = None,
    hottest: int | None = None,
    measure: str = "signed von Mises",
) -> Fatigue:
    """Fatigue damage D = Σ n/N of the stress histories at the nodes of a body.

    n are rainflow cycles, N the cycles to failure of an S–N curve.

    curve: the S–N curve. nodes: node numbers of the mesh; by default all nodes with stress.
    hottest: evaluate only this number of nodes, those with the largest von Mises stress. measure:
    "signed von Mises", whose sign is positive or negative as the stress is along or against its
    largest value, where it has the sign of the principal stress of largest magnitude (also
    used where the stress is neither along nor against); "principal", the largest principal stress
    where it is positive and the smallest elsewhere, so that reversed shear has its full range; or
    "critical plane", the largest damage by the normal stress on any plane perpendicular to the
    surface, for stress with changing principal axes. The result prints the worst nodes;
    ``.show()`` colours the body by damage in three dimensions, and ``solution.report(path,
    fatigue=…)`` adds a section. Histories are taken at the outputs; a `ModelWarning` is issued if
    four times as many change the damage at the worst node. Raises `InputError`, and
    `MachineError` without the package `rainflow`. Sources: ASTM E1049-85;
    Miner, J. Appl. Mech. 12 (1945) 159; Dowling (2013), chapter 9.

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> steel, ends = (
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     {"root": pp.Rigid("x0"), "end": pp.Rigid("x1")},
    ... )
    >>> data = pp.reduce(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), steel, interfaces=ends, reference="root"
    ... )
    >>> model = fm.Model("bar", gravity=(0, 0, 0))
    >>> bar = model.add(fm.FlexibleBody("bar", data=data))
    >>> clamp = model.add(fm.Fixed("clamp", model.ground, bar["root"]))
    >>> load = model.add(
    ...     fm.FrameForce(
    ...         "load", bar["end"], force=(0, 0, fm.Table((0, 1, 2), (400.0, -400.0, 400.0)))
    ...     )
    ... )
    >>> cycle = fm.quasi_static(model, [0.0, 1.0, 2.0])
    >>> life = fm.fatigue(cycle, "bar", fm.SNCurve(amplitude=100e6, cycles=1e6, slope=5.0))
    >>> worst = life.worst(1)[0]
    >>> round(
    ...     1e6 * life.damage[worst].item() / (life.amplitude[worst].item() / 100e6) ** 5, 6
    ... )  # one cycle
    1.0
    """
    return Fatigue(**vars(damage(solution, body, curve, nodes, hottest, measure)))
