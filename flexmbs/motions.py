"""Elementary motions, of which the chain of a joint is composed: ``Chain(..., motions=(Rotate("z"), Slide("x")))``."""

from flexmbs.model.motions import Ball, FixedRotation, FixedTranslation, FreeMotion, Rotate, ScrewMotion, Slide

__all__ = ["Ball", "FixedRotation", "FixedTranslation", "FreeMotion", "Rotate", "ScrewMotion", "Slide"]
