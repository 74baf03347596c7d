"""What a mesh file says of sections, connections and masses."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Declared:
    """Declarations of a file by name, as in part files: the kind and the arguments of its class."""

    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    connections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def scaled(self, unit: float) -> "Declared":
        """The same with sections in metres, from lengths in a unit [m]."""
        powers = {"area": 2, "Iy": 4, "Iz": 4, "J": 4, "shear": 0, "orientation": 0, "kind": 0}

        def metres(given: dict[str, Any]) -> dict[str, Any]:
            return {key: value if not powers.get(key, 1) else value * unit ** powers.get(key, 1) for key, value in given.items()}

        return Declared({name: metres(given) for name, given in self.sections.items()}, self.connections)
