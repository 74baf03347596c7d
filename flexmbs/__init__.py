"""Flexible multibody dynamics in the floating frame of reference."""

import lazy_loader

__version__ = "0.1.0"

# The public names and their homes are in __init__.pyi; each is imported when first used: the command line starts without NumPy.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
