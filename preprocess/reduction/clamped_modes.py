"""Normal modes of the body clamped at one interface."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.interfaces import interface_index
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.normal_modes import NormalModeReduction


@checked_arguments
@dataclass(frozen=True)
class ClampedModes(NormalModeReduction):
    """Basis ``Φ`` of modes with interface ``at`` held and all others free.

    There are no static shapes for the other interfaces. Source: Shabana, Dynamics of Multibody
    Systems, section 6.1; Meirovitch and Hale, AIAA Journal 19 (1981) 1268.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(
    ...     mesh,
    ...     steel,
    ...     interfaces=ends,
    ...     method=pp.ClampedModes(modes=2, at="root"),
    ...     reference="root",
    ... )
    >>> bar.modes.frequency.round().tolist()  # 1.875² √(E I/(ρ A l⁴))/2π = 104 Hz; the clamp stiffens so coarse a mesh
    [106.0, 106.0]
    """

    _: KW_ONLY
    at: str

    kind = "clamped-modes"
    normal = "clamped"

    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        """No static shapes; checks the name of the interface."""
        self._held(statics)
        return {}

    def held(self, statics: InterfaceStatics) -> tuple[int, ...]:
        """The interface that is held in the modes."""
        return (self._held(statics),)

    def _held(self, statics: InterfaceStatics) -> int:
        """Index of the interface that is held. Raises `InputError`."""
        return interface_index(
            self.at, [interface.name for interface in statics.interfaces], "method.at"
        )
