"""Hydraulic cylinder with a proportional valve."""

import math
from collections.abc import Sequence

from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawPart, Row, StateName, nonlinear_law
from flexmbs.model.fields import Nonnegative, Positive
from flexmbs.model.forces.force import AlongLine
from flexmbs.model.laws import LawOfTime

EMPTY = 0.01  # of a chamber's volume: its oil is a hundred times as stiff, and steps shrink
VACUUM = -101325.0  # Pa, gauge pressure: oil cannot be pulled further, it evaporates
# indices in p
(
    AREA_A,
    AREA_B,
    VOLUME_A,
    VOLUME_B,
    BULK,
    VALVE,
    SUPPLY,
    TANK,
    LEAK,
    FRICTION,
    SMOOTHING,
    FIRST_A,
    FIRST_B,
) = range(13)


@LawPart
def root(x, width):
    """Signed square root ±√|x|, smoothed for |x| below the width: x/(x² + width²)^¼."""
    return x / math.sqrt(math.sqrt(x * x + width * width))


@nonlinear_law
def cylinder(p, u, x, out):
    """Kernel of a double-acting cylinder, F = A_B p_B − A_A p_A + c ė, with its oil pressures.

    ṗ_A = β/V_A (Q_A − A_A ė − G (p_A − p_B)), ṗ_B = β/V_B (Q_B + A_B ė + G (p_A − p_B)).

    V_A = V_A0 + A_A e, V_B = V_B0 − A_B e; with opening u: Q_A = K (u⁺ r(p_S − p_A) − u⁻ r(p_A −
    p_T)), Q_B = K (u⁻ r(p_S − p_B) − u⁺ r(p_B − p_T)), where r is the smooth root. The states z are
    the pressure changes since the start divided by p_S.

    """
    unit = p[SUPPLY]
    a = p[FIRST_A] + unit * x[3]
    b = p[FIRST_B] + unit * x[4]
    opened = max(u[0], 0.0)
    reversed_by = max(-u[0], 0.0)
    flow_a = p[VALVE] * (
        opened * root(p[SUPPLY] - a, p[SMOOTHING]) - reversed_by * root(a - p[TANK], p[SMOOTHING])
    )
    flow_b = p[VALVE] * (
        reversed_by * root(p[SUPPLY] - b, p[SMOOTHING]) - opened * root(b - p[TANK], p[SMOOTHING])
    )
    leak = p[LEAK] * (a - b)
    volume_a = p[VOLUME_A] + p[AREA_A] * x[1]
    volume_b = p[VOLUME_B] - p[AREA_B] * x[1]
    out[1] = p[FRICTION] * x[2]
    out[0] = p[AREA_B] * b - p[AREA_A] * a + out[1]
    if volume_a > 0.0 and volume_b > 0.0:
        out[2] = p[BULK] / (volume_a * unit) * (flow_a - p[AREA_A] * x[2] - leak)
        out[3] = p[BULK] / (volume_b * unit) * (flow_b + p[AREA_B] * x[2] + leak)
    else:
        # beyond the end of the stroke
        out[2] = out[3] = math.nan


@cylinder.slopes
def cylinder_slopes(p, u, x, out):
    """Kernel of the stiffness of the enclosed oil and of the damping c."""
    volume_a = p[VOLUME_A] + p[AREA_A] * x[1]
    volume_b = p[VOLUME_B] - p[AREA_B] * x[1]
    if volume_a > 0.0 and volume_b > 0.0:
        out[0] = p[BULK] * (p[AREA_A] * p[AREA_A] / volume_a + p[AREA_B] * p[AREA_B] / volume_b)
    out[1] = p[FRICTION]


class HydraulicCylinder(AlongLine, kind="hydraulic-cylinder"):
    """Double-acting cylinder along the line between two frames, with a valve to supply and tank:

    F = A_B·p_B − A_A·p_A + c·ė, dp_A/dt = β/V_A·(Q_A − A_A·ė − G·(p_A − p_B)), dp_B/dt = β/V_B·(Q_B
    + A_B·ė + G·(p_A − p_B)).

    F is the tension, e the elongation beyond ``length``, V_A = volume_a + A_A·e, V_B = volume_b −
    A_B·e. For an opening u(t) > 0 the supply feeds A with Q_A = K·u·√(p_S − p_A), and B drains to
    the tank with Q_B = −K·u·√(p_B − p_T); u < 0 reverses both. The root is x/(x² + δ²)^(1/4) with
    smoothing δ. Pressures are gauge pressures. A run stops when a chamber is empty. Closed valve:
    stiffness β·(A_A²/V_A + A_B²/V_B). Steady speed against the load P: K·u·√((p_S·A_A − p_T·A_B −
    P)/(A_A³ + A_B³)). Source: Jelali and Kroll, Hydraulic Servo-systems (2003), chapter 4.

    Parameters
    ----------
    length : float [m]
        Distance of the frames at which the volumes are given.
    area_a : float [m²]
        Area A_A of the piston on the side whose pressure extends the cylinder.
    area_b : float [m²]
        Area A_B of the other side, without the rod.
    volume_a : float [m³]
        Volume of chamber A at ``length``, with its line.
    volume_b : float [m³]
        Volume of chamber B at ``length``, with its line.
    bulk_modulus : float [Pa]
        Bulk modulus β of the oil.
    supply : float [Pa]
        Pressure p_S of the supply.
    valve : float [m³/(s √Pa)]
        Flow K of the open valve divided by the square root of its pressure drop.
    opening : law of time or float
        Opening u(t) of the valve, usually −1 … 1.
    tank : float [Pa]
        Pressure p_T of the tank.
    pressure_a : float [Pa]
        Pressure of chamber A at the start.
    pressure_b : float [Pa]
        Pressure of chamber B at the start.
    leakage : float [m³/(s Pa)]
        Leakage G past the piston.
    friction : float [N s/m]
        Viscous friction c of the piston.
    smoothing : float [Pa]
        Pressure drop δ below which the flow of the valve is proportional to it.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("press", gravity=(0, 0, 0), frames={"foot": (0, 0, -1.0)})
    >>> ram = model.add(fm.RigidBody("ram", mass=100.0, inertia=(1.0, 1.0, 1.0)))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, ram, axis="z"))
    >>> press = model.add(
    ...     fm.HydraulicCylinder(
    ...         "press",
    ...         model.ground["foot"],
    ...         ram,
    ...         length=1.0,
    ...         area_a=2e-3,
    ...         area_b=1e-3,
    ...         volume_a=1e-3,
    ...         volume_b=1e-3,
    ...         bulk_modulus=1.6e9,
    ...         supply=2e7,
    ...         valve=1e-7,
    ...         pressure_a=5e6,
    ...         pressure_b=2e6,
    ...     )
    ... )
    >>> fm.state(model).sd.round(6).tolist()  # (A_A p_A − A_B p_B)/m
    [80.0]
    """

    length: Positive
    area_a: Positive
    area_b: Positive
    volume_a: Positive
    volume_b: Positive
    bulk_modulus: Positive
    supply: Positive
    valve: Positive
    opening: LawOfTime = 0.0
    tank: Nonnegative = 0.0
    pressure_a: Nonnegative = 0.0
    pressure_b: Nonnegative = 0.0
    leakage: Nonnegative = 0.0
    friction: Nonnegative = 0.0
    smoothing: Positive = 1e4

    @model_validator(mode="after")
    def _drop(self) -> "HydraulicCylinder":
        """Raise `NestedError` unless tank pressure < supply pressure."""
        if not self.tank < self.supply:
            raise NestedError.at(
                ("tank",), f"must be below supply = {self.supply:g}, not {self.tank:g}"
            )
        return self

    def unloaded_length(self) -> float:
        """Length of the cylinder at zero stroke, m."""
        return self.length

    def end_of_validity(self, elongation: float, states: Sequence[float]) -> str:
        """Reason why a chamber is empty or its oil would evaporate, with the remedy, or ""."""
        for chamber, sign, change in (("a", 1.0, states[0]), ("b", -1.0, states[1])):
            volume = getattr(self, f"volume_{chamber}")
            left = volume + sign * getattr(self, f"area_{chamber}") * elongation
            pressure = getattr(self, f"pressure_{chamber}") + self.supply * change
            name = f"chamber {chamber.upper()} of hydraulic cylinder '{self.name}'"
            if left < EMPTY * volume:
                return (
                    f"{name} is empty, {max(left, 0.0):.3g} of {volume:g} m³, at the end of the "
                    f"stroke; end the motion before it, raise volume_{chamber}, or add a JointLimit"
                )
            if pressure < VACUUM:
                return (
                    f"the pressure in {name} fell to {pressure:.4g} Pa, below vacuum "
                    f"({VACUUM:g} Pa); raise valve, tank or pressure_{chamber}, or lower the load"
                )
        return ""

    def row(self) -> Row:
        """Kernel, parameters and valve law; the chamber pressures are states."""
        parameters = (
            self.area_a,
            self.area_b,
            self.volume_a,
            self.volume_b,
            self.bulk_modulus,
            self.valve,
            self.supply,
            self.tank,
            self.leakage,
            self.friction,
            self.smoothing,
            self.pressure_a,
            self.pressure_b,
        )
        names = (
            StateName("pressure A", "Pa", self.supply, self.pressure_a),
            StateName("pressure B", "Pa", self.supply, self.pressure_b),
        )
        return Row(cylinder, parameters, (self.opening,), keys=("opening",), states=2, names=names)
