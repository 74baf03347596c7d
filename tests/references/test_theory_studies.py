"""The pages of reports/theory: the two sides of every equation agree, and the printed numbers are
those of the scripts.
"""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pytest

THEORY = Path(__file__).resolve().parents[2] / "reports" / "theory"
sys.path.insert(0, str(THEORY))
from page import Study  # noqa: E402
from write import folders, gallery, study_module  # noqa: E402

ROUND_OFF = 1e-11
BOUNDS = {  # of identities that are not of round-off: differences, errors of integration
    "03_one_loop": {"γ̿^ℓ = Ġ^ℓη + γ̄̇^ℓ (by differences)": 1e-9},
    "04_explicit_singularity": {
        "g = 0 along the run": 1e-9,
        "crank angle with the new choice, against multipliers": 1e-8,
    },
    "05_implicit_singularity": {
        "5/3 m l² φ̈ = −2 m g l cos φ of the parallelogram, through the line": 1e-8,
        "energy of both runs": 1e-8,
    },
    "06_overdetermined_loop": {
        "Bricard: σ₅(G) = 0 along the run": 1e-9,
        "Bricard: motion in absolute coordinates": 1e-7,
    },
    "09_robot": dict.fromkeys(
        (
            "Christoffel: C of ∂D/∂q (by differences)",
            "g = ∂U/∂q (by differences)",
            "D q̈ + C q̇ + g = τ",
        ),
        1e-10,
    ),
    "10_shopping_cart": {"wheel force: μl of the first kind = μ of Routh–Voss": 1e-9},
    "11_steady_motions": {"λ² + (v/l)λ + 2μω² = 0": 1e-7},
    "12_normal_form": {
        "orbits close after the period of ẍ = −μω²(e²ˣ − 1)": 1e-9,
        "frequency / √(2μ)ω = 1 − a²/6 + …, extrapolated to a = 0": 1e-4,
    },
    "14_floating_frame": {"(6): Q_v = −Ṁq̇ + ∂(½q̇ᵀMq̇)/∂q (by differences)": 1e-9},
    "18_coordinates": {"relative angles against x₁, x₂: motion": 1e-9},
    "19_classes": {
        "block: sticks up to kx = μmg, then swings": 1e-6,
        "rod: φ̇² = 12g/l (cos φ₀ − cos φ)/(1 + 3 sin²φ)": 1e-8,
        "rod: g = z − ½ l cos φ = 0": 1e-9,
    },
    "20_directions": {
        "γ̿ = Ġv + γ̄̇": 1e-8,
        "ā = J̇q̇ + v̄̇": 1e-8,
        "v̇ = Jq̈ + ā with JᵀMJ q̈ = Jᵀ(F^t − Mā)": 1e-8,
    },
    "21_static_start": {"from the declared shape: q_f = static (1 − cos ωt)": 1e-8},
}


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_identities_and_printed_numbers(folder: Path) -> None:
    study: Study = study_module(folder).study()
    bounds, printed = (
        BOUNDS.get(folder.name, {}),
        json.loads((folder / "study.json").read_text(encoding="utf-8")),
    )
    assert bounds.keys() <= study.identities.keys()
    wrong = {
        name: found
        for name, found in study.identities.items()
        if not found <= bounds.get(name, ROUND_OFF)
    }
    assert not wrong
    assert printed["identities"].keys() == study.identities.keys()
    assert printed["numbers"].keys() == study.numbers.keys()
    for name, values in study.numbers.items():
        values = np.asarray(values, float)
        np.testing.assert_allclose(
            printed["numbers"][name],
            values,
            rtol=1e-4,
            atol=1e-6 * np.abs(values).max() + 1e-12,
            err_msg=name,
        )


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_a_page_states_its_equations_and_shows_its_picture(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert f"    python reports/theory/write.py {folder.name}\n" in text
    assert "Lecture notes 00" in text
    assert "](picture.png)" in text
    assert "$$" in text
    assert (folder / "picture.png").stat().st_size < 60_000
    tree = ast.parse((folder / "study.py").read_text(encoding="utf-8"))
    assert sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) <= 64


def test_the_gallery_is_up_to_date() -> None:
    assert (THEORY / "README.md").read_text(encoding="utf-8") == gallery()
