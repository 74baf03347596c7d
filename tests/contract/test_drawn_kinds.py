"""Scenes of models that hold every kind: each item that acts between bodies has a form, and no form
fails.
"""

from __future__ import annotations

import pytest
from any_models import any_model, registered

from flexmbs.player.arrays import read
from flexmbs.report.model_at_start import start_of
from flexmbs.scene.scene import Extras, scene

ACTING = ("joints", "forces", "drives", "couplings", "contacts", "rotors")
# joints with symbols of their own or none; loads are arrows; wheels and balls are shapes of bodies
OTHERWISE = {
    *("fixed", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "free"),
    *("pose", "screw", "translation", "chain", "rolling-disc", "disc-on-plane", "rolling-sphere"),
    *("frame-force", "user-force", "sphere-plane", "sphere-sphere", "wheel-creep"),
}
SEEDS = 4  # models in which a kind is drawn at least once
# without an axis that is fixed in a body, or between joints of one place: they need not have a form
OF_COORDINATES = "an item on the coordinate of a ball joint or of a free body"


@pytest.mark.parametrize("wanted", [each for each in registered() if each.split()[0] in ACTING])
def test_every_kind_is_drawn(wanted: str) -> None:
    section, kind = wanted.split()
    drawn = False
    for seed in range(SEEDS):
        model = any_model(seed, wanted).model
        table = scene(start_of(model).solution, Extras(forces=False))
        assert [note for note in table["notes"] if "is not drawn" in note] == []
        for element in table["elements"]:
            for part in element["parts"]:
                assert abs(read(table["data"], part["vertices"])).max() < 1e6
        named = [name for name, item in getattr(model, section).items() if item.kind == kind]
        drawn = kind in OTHERWISE or any(each["name"] in named for each in table["elements"])
        if drawn:
            break
    assert drawn, OF_COORDINATES
