"""CPU seconds of reductions of a compact part with and without a kept factor.

python reports/reduction/reanalysis.py        -> reanalysis.json, table on stdout (a minute, 2 GB)
"""

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import preprocess as pp
from preprocess.fe.interfaces import Interface

HERE = Path(__file__).parent
SIZE, DIVISIONS = (0.4, 0.1, 0.1), (40, 10, 10)
ENDS: Mapping[str, Interface] = {"a": pp.Averaged("x0"), "b": pp.Averaged("x1")}
PINS: Mapping[str, Interface] = {
    f"pin {x:g}": pp.Rigid(pp.Point((x, 0.05, 0.05), 0.008)) for x in (0.0, 0.4)
}
CASES = (
    ("averaged ends, Craig–Bampton, 12 modes", ENDS, pp.CraigBampton(modes=12)),
    ("averaged ends, Rubin, 6 modes", ENDS, pp.Rubin(modes=6)),
    ("averaged ends, Guyan", ENDS, pp.Guyan()),
    (
        "averaged edge and end, Guyan",
        {"edge": pp.Averaged("y0"), "b": pp.Averaged("x1")},
        pp.Guyan(),
    ),
    ("rigid pins, Craig–Bampton, 12 modes", PINS, pp.CraigBampton(modes=12)),
)


def reduced(fe: pp.FEModel, case: int, keep: Path | None) -> tuple[float, np.ndarray, str]:
    """CPU seconds, frequencies, and where the factor was."""
    _, interfaces, method = CASES[case]
    options: dict[str, Any] = {
        "stiffening": False,
        "stress": None,
        "estimate": False,
        "reference": next(iter(interfaces)),
    }
    began = time.process_time()
    body = pp.reduce(fe, interfaces=interfaces, method=method, keep=keep, **options)
    return (
        time.process_time() - began,
        body.modes.frequency,
        str(body.provenance.get("factor", "")).partition(" ")[0],
    )


def main() -> None:
    fe = pp.assemble(pp.box_mesh(SIZE, DIVISIONS), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.factor"
        reduced(fe, 2, None)  # compiles
        first, _, written = reduced(fe, 0, path)
        assert written == "written"
        size = path.stat().st_size
        print(
            f"{fe.freedoms.size} degrees of freedom, file of {size / 1e9:.2f} GB, first "
            f"reduction {first:.1f} s"
        )
        for case, (name, _, _) in enumerate(CASES):
            (without, expected, _), (kept, found, source) = (
                reduced(fe, case, None),
                reduced(fe, case, path),
            )
            assert source == "read"
            difference = float(np.abs(found / expected - 1).max())
            rows.append({"case": name, "without": without, "kept": kept, "difference": difference})
            print(f"| {name} | {without:.1f} | {kept:.1f} | {difference:.0e} |")
    result = {"degrees_of_freedom": fe.freedoms.size, "bytes": size, "first": first, "rows": rows}
    (HERE / "reanalysis.json").write_text(json.dumps(result, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
