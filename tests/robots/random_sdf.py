"""Random SDF files: trees of links with poses of every form, frames, axes in other frames and a
nested model.
"""

import numpy as np

KINDS = ("revolute", "continuous", "prismatic", "fixed", "universal", "ball", "screw")
AXES = {"revolute", "continuous", "prismatic", "screw"}  # kinds with an axis in any direction


class RandomSdf:
    """``text`` of a file, of the numbers that follow from the seed."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.text = f'<sdf version="1.11">{self._model("robot", outer=True)}</sdf>'

    def _numbers(self, count: int = 3, largest: float = 0.5) -> str:
        return " ".join(f"{x:.9f}" for x in self._rng.uniform(-largest, largest, count))

    def _pose(self, frames: list[str]) -> str:
        relative = (
            f' relative_to="{self._rng.choice(frames)}"'
            if frames and self._rng.random() < 0.7
            else ""
        )
        kind = self._rng.choice(
            ("quaternion", "degrees", "radians", "none"), p=(0.25, 0.25, 0.4, 0.1)
        )
        if kind == "quaternion":
            turn = self._rng.normal(size=4)
            text = " ".join(f"{x:.12f}" for x in turn / np.linalg.norm(turn))
            return f'<pose rotation_format="quat_xyzw"{relative}>{self._numbers()} {text}</pose>'
        if kind == "degrees":
            return (
                f'<pose degrees="true"{relative}>{self._numbers()} {self._numbers(3, 90.0)}</pose>'
            )
        return (
            ""
            if kind == "none"
            else f"<pose{relative}>{self._numbers()} {self._numbers(3, 2.0)}</pose>"
        )

    def _inertial(self) -> str:
        masses = self._rng.uniform(0.1, 1.0, 6)
        points = self._rng.normal(size=(6, 3)) * 0.1
        J = np.einsum("k,kij->ij", masses, [x @ x * np.eye(3) - np.outer(x, x) for x in points])
        names = (
            ("ixx", 0, 0),
            ("iyy", 1, 1),
            ("izz", 2, 2),
            ("ixy", 0, 1),
            ("ixz", 0, 2),
            ("iyz", 1, 2),
        )
        inertia = "".join(f"<{name}>{J[i, j]:.12f}</{name}>" for name, i, j in names)
        return f"<inertial>{self._pose([])}<mass>{masses.sum():.9f}</mass><inertia>{inertia}</inertia></inertial>"

    def _axis(self, frames: list[str], kind: str) -> str:
        within = f' expressed_in="{self._rng.choice(frames)}"' if self._rng.random() < 0.5 else ""
        values = {"damping": 2.0, "spring_stiffness": 5.0, "spring_reference": 0.5}
        drawn = [name for name in values if self._rng.random() < 0.5]
        # Drake has no springs of screws
        drawn = [name for name in drawn if kind != "screw" or name == "damping"]
        dynamics = "".join(
            f"<{name}>{self._rng.uniform(0.0, values[name]):.9f}</{name}>" for name in drawn
        )
        return f"<axis><xyz{within}>{self._numbers()}</xyz><dynamics>{dynamics}</dynamics></axis>"

    def _joint(self, name: str, kind: str, parent: str, child: str, frames: list[str]) -> str:
        axes = (
            "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
            if kind == "universal"
            else ""
        )
        axes = self._axis(frames, kind) if kind in AXES else axes
        if kind == "screw":
            axes += f"<screw_thread_pitch>{self._rng.uniform(0.1, 1.0):.9f}</screw_thread_pitch>"
        ends = f"<parent>{parent}</parent><child>{child}</child>"
        return f'<joint name="{name}" type="{kind}">{self._pose(frames)}{ends}{axes}</joint>'

    def _model(self, name: str, *, outer: bool) -> str:
        frames: list[str] = []
        links: list[str] = []
        parts: list[str] = []
        for k in range(self._rng.integers(3)):
            parts.append(f'<frame name="frame{k}">{self._pose(frames)}</frame>')
            frames.append(f"frame{k}")
        for k in range(self._rng.integers(1, 5 if outer else 3)):
            link, joint = f"link{k}", f"joint{k}" if outer else f"inner{k}"
            parts.append(f'<link name="{link}">{self._pose(frames)}{self._inertial()}</link>')
            frames.append(link)
            if outer or links:
                parent = (
                    self._rng.choice(links)
                    if links and self._rng.random() < 0.8
                    else "world"
                    if outer
                    else links[0]
                )
                parts.append(
                    self._joint(
                        joint, self._rng.choice(KINDS), parent, link, [*frames, "__model__"]
                    )
                )
                frames.append(joint)
            links.append(link)
        if outer and self._rng.random() < 0.5:
            parts.append(self._model("hand", outer=False))
            kind = self._rng.choice(("revolute", "prismatic", "fixed"))
            parts.append(
                self._joint(
                    "wrist", kind, self._rng.choice(links), "hand::link0", [*frames, "hand"]
                )
            )
        pose = self._pose([]) if outer else f"<pose>{self._numbers()} {self._numbers()}</pose>"
        return f'<model name="{name}">{pose}{"".join(self._rng.permutation(parts))}</model>'
