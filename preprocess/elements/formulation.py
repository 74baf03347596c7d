"""Choice between formulations of the same element."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace

from flexmbs.errors import InputError
from preprocess.elements.element import Element
from preprocess.elements.hex8 import HEX8_FULL
from preprocess.elements.hex20 import HEX20_REDUCED
from preprocess.inputs.argument_checks import checked_arguments

HEX8 = ("incompatible modes", "full")
HEX20 = ("full", "reduced")
MASS_RULES = ("own", "stiffness")


@checked_arguments
@dataclass(frozen=True)
class Formulation:
    """Element formulation and mass integration.

    hex8: "incompatible modes" avoid shear locking; "full" integration of trilinear displacements
    locks in bending. hex20: "full" integration of the stiffness at 27 points, or "reduced" at 8, as
    in C3D20R, which is softer; a single element then has six zero-energy modes. mass_rule: "own"
    integrates m of straight elements exactly; "stiffness" uses the points of K in second-order
    elements, as CalculiX does; with the eight points of reduced hex20 m is singular. Raises
    InputError for any other name.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1), "hex8"),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> first = []
    >>> for formulation in (pp.Formulation(), pp.Formulation(hex8="full")):
    ...     fe = pp.assemble(mesh, steel, formulation=formulation)
    ...     bar = pp.reduce(fe, interfaces={"root": pp.Rigid("x0")}, reference="root")
    ...     first.append(round(bar.modes.frequency.min().item()))
    >>> first  # a beam has 104 Hz; full integration locks in bending
    [105, 197]
    """

    _: KW_ONLY
    hex8: str = "incompatible modes"
    hex20: str = "full"
    mass_rule: str = "own"

    def __post_init__(self) -> None:
        given = (
            ("hex8", self.hex8, HEX8),
            ("hex20", self.hex20, HEX20),
            ("mass_rule", self.mass_rule, MASS_RULES),
        )
        for option, value, names in given:
            if not isinstance(value, str) or value not in names:
                raise InputError(
                    f"formulation.{option}: is {value!r}; give one of {', '.join(map(repr, names))}"
                )

    def chosen(self, elements: Mapping[str, Element]) -> dict[str, Element]:
        """Elements by type in the chosen formulation."""
        result = dict(elements) | ({"hex8": HEX8_FULL} if self.hex8 == "full" else {})
        result |= {"hex20": HEX20_REDUCED} if self.hex20 == "reduced" else {}
        if self.mass_rule == "stiffness":
            second = {name: each for name, each in result.items() if len(each.nodes) > each.corners}
            result |= {
                name: replace(each, mass_rule=each.stiffness_rule) for name, each in second.items()
            }
        return result
