"""Whirl frequencies of rotors against the tables of Friswell, Penny, Garvey and Lees (2010), by the
models of reports/rotors.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np

STUDY = Path(__file__).resolve().parents[2] / "reports" / "rotors" / "study.py"


def test_the_book_and_the_printed_numbers() -> None:
    """Example 5.9.2 at 4000 rev/min: anisotropic bearings.

    The book prints four digits, and the polar moments of the shaft are lumped: 1e-3.
    """
    spec = importlib.util.spec_from_file_location("study_of_rotors", STUDY)
    assert spec is not None
    assert spec.loader is not None
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    rows = json.loads(STUDY.with_name("study.json").read_text(encoding="utf-8"))
    assert {row["example"] for row in rows} == set(study.BOOK)
    for row in rows:
        np.testing.assert_allclose(row["own"], row["book"], rtol=1e-3)
    printed = next(row for row in rows if (row["example"], row["rpm"]) == ("5.9.2", 4000))
    np.testing.assert_allclose(
        study.bending(study.shaft(), "5.9.2", study.SPIN), printed["own"], rtol=1e-5
    )
