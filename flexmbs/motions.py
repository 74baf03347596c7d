"""Elementary motions that compose the chain of a joint.

``Chain(..., motions=(Rotate("z"), Slide("x")))``.

Examples
--------
>>> import flexmbs as fm
>>> turn_and_slide = (fm.motions.Rotate("z"), fm.motions.Slide("x"))
>>> fm.Chain("arm", "ground", "tool", motions=turn_and_slide).nq  # an angle and a distance
2
"""

from flexmbs.model.motions import (
    Ball,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Rotate,
    ScrewMotion,
    Slide,
)

__all__ = [
    "Ball",
    "FixedRotation",
    "FixedTranslation",
    "FreeMotion",
    "Rotate",
    "ScrewMotion",
    "Slide",
]
