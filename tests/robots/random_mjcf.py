"""Random MJCF files: bodies, frames, joints, inertia, default classes, compiler options, tendons,
actuators, equalities.
"""

import random

import numpy as np

ACTUATORS = ("motor", "position", "velocity", "general", "damper")
SHAPES = ("sphere", "box", "capsule", "cylinder", "ellipsoid")


class RandomMjcf:
    """The text of a file, and the names of its actuators; ``closed``: with equality constraints,
    and without actuators.
    """

    def __init__(self, seed: int, *, closed: bool = False) -> None:
        self.rng, self.closed = random.Random(seed), closed
        self.degrees = self.rng.random() < 0.6
        self.bodies = 0
        self.classes, self.sites, self.tendons, self.actuators = ["main"], [], [], []
        self.joints: dict[str, str] = {}
        self.text = self._file()

    def maybe(self, share: float, text: str) -> str:
        return text if self.rng.random() < share else ""

    def numbers(self, count: int, size: float = 1.0) -> str:
        return " ".join(f"{self.rng.gauss(0.0, size):.4g}" for _ in range(count))

    def positive(self, low: float, high: float) -> str:
        return f"{self.rng.uniform(low, high):.4g}"

    def turned(self) -> str:
        unit = 57.3 if self.degrees else 1.0
        return self.rng.choice(
            [
                "",
                f'quat="{self.numbers(4)}"',
                f'axisangle="{self.numbers(3)} {self.numbers(1, unit)}"',
                f'euler="{self.numbers(3, unit)}"',
                f'xyaxes="{self.numbers(6)}"',
                f'zaxis="{self.numbers(3)}"',
            ]
        )

    def of_joint(self) -> str:
        found = "".join(
            self.maybe(0.35, f' {key}="{self.positive(0.0, 2.0)}"')
            for key in ("damping", "stiffness", "armature", "springref")
        )
        return (
            found
            + self.maybe(0.3, f' ref="{self.numbers(1)}"')
            + self.maybe(
                0.4, f' range="{self.rng.choice(("-3e3 3e3", "-3e3 3e3", "0 0", "1 -1"))}"'
            )
        )

    def geom(self) -> str:
        shape = self.rng.choice(SHAPES)
        if shape != "sphere" and self.rng.random() < 0.3:
            place = f'size="{self.positive(0.05, 0.15)}" fromto="{self.numbers(6)}"'
        else:
            size = " ".join(self.positive(0.05, 0.25) for _ in range(3))
            place = f'size="{size}" pos="{self.numbers(3, 0.3)}" {self.turned()}'
        mass = self.rng.choice(
            [
                "",
                f'mass="{self.rng.choice((0, 1.5, 2))}"',
                f'density="{self.rng.choice((0, 500, 2000))}"',
            ]
        )
        more = self.maybe(0.3, f' group="{self.rng.randint(0, 4)}"') + self.maybe(
            0.3, f' class="{self.rng.choice(self.classes)}"'
        )
        return f'<geom type="{shape}" {place} {mass}{more}/>'

    def default(self, name: str, depth: int) -> str:
        actuators = [
            f'<motor gear="{self.positive(0.5, 2.0)}"/>',
            f'<position kp="{self.positive(0.5, 9.0)}"/>',
            f'<general biastype="affine" biasprm="{self.numbers(3)}" gainprm="2"/>',
            '<velocity kv="2" ctrlrange="-1 1"/>',
            f'<general gainprm="{self.numbers(3)}" dyntype="filterexact" dynprm="0.2"/>',
            '<position kp="3" timeconst="0.1"/>',
        ]
        text = self.maybe(0.7, f"<joint{self.of_joint()}/>")
        text += self.maybe(
            0.5, f'<geom density="{self.rng.choice((300, 900))}" group="{self.rng.randint(0, 3)}"/>'
        )
        text += "".join(self.maybe(0.4, self.rng.choice(actuators)) for _ in range(2))
        for _ in range(self.rng.randint(0, 2) if depth < 2 else 0):
            self.classes.append(f"class {len(self.classes)}")
            text += self.default(self.classes[-1], depth + 1)
        return f'<default class="{name}">{text}</default>'

    def content(self) -> str:
        text = "".join(self.geom() for _ in range(self.rng.randint(0, 2)))
        if self.rng.random() < 0.3:
            self.sites.append(f"site {len(self.sites)}")
            text += f'<site name="{self.sites[-1]}" pos="{self.numbers(3)}" {self.turned()}/>'
        return text

    def joint(self, kind: str, more: str = "") -> str:
        name = f"joint {len(self.joints)}"
        self.joints[name] = kind
        if kind == "free":
            return self.rng.choice(
                [
                    f'<freejoint name="{name}"/>',
                    f'<joint name="{name}" type="free" stiffness="1.5" class="bare"/>',
                ]
            )
        own = self.maybe(0.3, f' class="{self.rng.choice(self.classes)}"')
        if kind == "ball":
            return (
                f'<joint name="{name}" type="ball" pos="{self.numbers(3, 0.2)}" '
                f'class="bare"{more}/>'
            )
        return (
            f'<joint name="{name}" type="{kind}" axis="{self.numbers(3)}" '
            f'pos="{self.numbers(3, 0.2)}"{self.of_joint()}{own}/>'
        )

    def joints_of(self, depth: int) -> str:
        if depth == 0 and self.rng.random() < 0.25:
            return self.joint("free")
        count, text, ball = self.rng.choice((0, 1, 1, 1, 2, 3)), "", False
        for _ in range(count):
            kind = "slide" if ball else self.rng.choice(("hinge", "slide", "hinge", "ball"))
            ball |= kind == "ball"
            text += self.joint(kind, ' stiffness="0.7" damping="0.2"' if count == 1 else "")
        return text

    def inertial(self) -> str:
        rng = np.random.default_rng(self.rng.getrandbits(32))
        P = rng.normal(size=(3, 3))
        J = np.trace(P @ P.T) * np.eye(3) - P @ P.T + 1e-3 * np.eye(3)
        full = " ".join(
            f"{J[i, k]:.9g}" for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        principal = (
            f'diaginertia="{" ".join(f"{each:.9g}" for each in np.linalg.eigvalsh(J))}" '
            f"{self.turned()}"
        )
        of = self.rng.choice([f'fullinertia="{full}"', principal])
        return f'<inertial pos="{self.numbers(3, 0.2)}" mass="{self.positive(0.1, 3.0)}" {of}/>'

    def body(self, depth: int = 0) -> str:
        self.bodies += 1
        name = f"body {self.bodies}"
        around = self.maybe(0.3, f' childclass="{self.rng.choice(self.classes)}"')
        text = (
            self.joints_of(depth)
            + self.maybe(0.4, self.inertial())
            + self.maybe(0.95, self.geom())
            + self.content()
        )
        if self.rng.random() < 0.3:
            inner = self.content() + (
                self.body(depth + 1) if depth < 3 and self.rng.random() < 0.5 else ""
            )
            own = self.maybe(0.4, f' childclass="{self.rng.choice(self.classes)}"')
            text += f'<frame pos="{self.numbers(3)}" {self.turned()}{own}>{inner}</frame>'
        for _ in range(self.rng.choice((0, 1, 1, 2)) if depth < 3 and self.bodies < 7 else 0):
            text += self.body(depth + 1)
        lifted = self.maybe(0.2, f' gravcomp="{self.positive(0.0, 1.5)}"')
        return (
            f'<body name="{name}" pos="{self.numbers(3)}" '
            f"{self.turned()}{around}{lifted}>{text}</body>"
        )

    def actuator(self, single: list[str]) -> str:
        kind = self.rng.choice(ACTUATORS)
        self.actuators.append(f"actuator {len(self.actuators)}")
        aims = [f'joint="{self.rng.choice(single)}"'] * 4 + [
            f'tendon="{each}"' for each in self.tendons
        ]
        aims += [f'site="{each}"' for each in self.sites[:1]]
        text = f'name="{self.actuators[-1]}" {self.rng.choice(aims)}'
        text += self.maybe(0.5, f' gear="{self.numbers(self.rng.choice((1, 6)))}"')
        text += self.maybe(
            0.3, f' forcerange="-{self.positive(0.1, 3.0)} {self.positive(0.1, 3.0)}"'
        )
        low = "0" if kind == "damper" else f"-{self.positive(0.1, 1.0)}"
        text += self.maybe(
            1.0 if kind == "damper" else 0.4, f' ctrlrange="{low} {self.positive(0.1, 1.0)}"'
        )
        if "range" not in text:
            text += self.maybe(
                0.3,
                " "
                f'{self.rng.choice(("ctrl", "force"))}range="{self.rng.choice(("0 0", "0.3 -0.3"))}"',
            )
        if kind == "position":
            text += self.maybe(0.6, f' kp="{self.positive(1.0, 9.0)}"') + self.maybe(
                0.6, f' kv="{self.positive(0.0, 2.0)}"'
            )
        elif kind == "general":
            text += (
                f' gaintype="{self.rng.choice(("fixed", "affine"))}" '
                f'biastype="{self.rng.choice(("none", "affine"))}"'
            )
            text += (
                f' gainprm="{self.numbers(3)}" biasprm="{self.numbers(self.rng.choice((1, 2, 3)))}"'
            )
        elif kind != "motor":
            text += self.maybe(0.7, f' kv="{self.positive(0.0, 2.0)}"')
        return (
            f"<{kind} "
            f"{text}{self.maybe(0.4, f' class={chr(34)}{self.rng.choice(self.classes)}{chr(34)}')}/>"
        )

    def equality(self, single: list[str]) -> str:
        bodies = self.rng.sample([f"body {k + 1}" for k in range(self.bodies)], min(2, self.bodies))
        ends = " ".join(
            f'body{k + 1}="{name}"' for k, name in enumerate(bodies[: self.rng.choice((1, 2, 2))])
        )
        kinds = [
            "connect",
            "weld",
            "weld",
            *["joint"] * (len(single) > 1),
            *["tendon"] * bool(self.tendons),
        ]
        match self.rng.choice(kinds):
            case "connect":
                return f'<connect {ends} anchor="{self.numbers(3, 0.3)}"/>'
            case "weld":
                place, point = (
                    f' relpose="{self.numbers(3, 0.05)} 1 {self.numbers(3, 0.05)}"',
                    ' torquescale="0"',
                )
                more = self.maybe(0.6, f' anchor="{self.numbers(3, 0.3)}"') + self.maybe(0.4, place)
                return f"<weld {ends}{more + self.maybe(0.5, point)}/>"
            case "joint":
                one, other = self.rng.sample(single, 2)
                second = self.maybe(0.8, f' joint2="{other}"')
                return (
                    f'<joint joint1="{one}"{second} '
                    f'polycoef="{self.numbers(self.rng.randint(2, 4), 0.3)} 0"/>'
                )
            case _:
                return f'<tendon tendon1="pair" polycoef="{self.numbers(1, 0.2)} 0"/>'

    def compiler(self) -> str:
        first = self.rng.randint(0, 1)
        return "".join(
            (
                "" if self.degrees else ' angle="radian"',
                self.maybe(
                    0.5, f' eulerseq="{"".join(self.rng.choice("xyzXYZ") for _ in range(3))}"'
                ),
                self.maybe(0.3, f' inertiafromgeom="{self.rng.choice(("true", "false", "auto"))}"'),
                self.maybe(0.2, ' balanceinertia="true"'),
                self.maybe(0.3, ' boundmass="0.01" boundinertia="0.02"'),
                self.maybe(0.2, f' inertiagrouprange="{first} {self.rng.randint(2, 5)}"'),
            )
        )

    def _file(self) -> str:
        compiler = self.compiler()
        defaults = (
            '<default><default class="bare"/></default>'
            + self.default("main", 0)
            + self.maybe(0.3, self.default("main", 2))
        )
        flags = "".join(
            self.maybe(0.08, f' {key}="disable"')
            for key in ("gravity", "spring", "damper", "clampctrl", "actuation")
        )
        option = self.maybe(
            0.7, f'<option gravity="{self.numbers(3, 5.0)}"><flag{flags}/></option>'
        )
        world = self.content() + "".join(self.body() for _ in range(self.rng.randint(1, 2)))
        single = [name for name, kind in self.joints.items() if kind in ("hinge", "slide")]
        tendon = actuators = ""
        if len(single) > 1 and self.rng.random() < 0.5:
            parts = [
                f'<joint joint="{name}" coef="{self.numbers(1)}"/>'
                for name in self.rng.sample(single, 2)
            ]
            keys = ("stiffness", "damping", "springlength")
            springs = "".join(
                self.maybe(0.4, f' {key}="{self.positive(0.0, 2.0)}"') for key in keys
            )
            self.tendons, tendon = (
                ["pair"],
                f'<tendon><fixed name="pair"{springs}>{"".join(parts)}</fixed></tendon>',
            )
        for _ in range(self.rng.randint(0, 4) if single and not self.closed else 0):
            actuators += self.actuator(single)
        equalities = "".join(
            self.equality(single) for _ in range(self.rng.randint(1, 2) if self.closed else 0)
        )
        rest = f"{tendon}<actuator>{actuators}</actuator><equality>{equalities}</equality>"
        return f"<mujoco><compiler{compiler}/>{option}{defaults}<worldbody>{world}</worldbody>{rest}</mujoco>"
