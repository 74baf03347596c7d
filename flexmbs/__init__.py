"""Flexible multibody dynamics in the floating frame of reference."""

import lazy_loader

__version__ = "0.1.0"

# The public names and their modules are in __init__.pyi; each is imported on first use: the command
# line starts without NumPy.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
