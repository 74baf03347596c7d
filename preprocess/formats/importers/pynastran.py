"""Readers of pyNastran (extra ``nastran``), with errors in one line."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flexmbs.errors import MachineError
from preprocess.inputs.reader_guard import error_summary, guarded


def pynastran(module: str, name: str, what: str, otherwise: str = "") -> Callable[..., Any]:
    """Function of ``pyNastran.module.module``.

    what: item that it reads, otherwise: another remedy, for the MachineError if pyNastran is
    missing, or does not load with the other packages.
    """
    try:
        function: Callable[..., Any] = getattr(
            importlib.import_module(f"pyNastran.{module}.{module}"), name
        )
    except ImportError as error:
        raise MachineError(
            f"{what} is read by pyNastran, which is not installed; run pip install "
            f'"flexmbs[nastran]"{otherwise}'
        ) from error
    except Exception as error:  # version 1.4 uses functions that NumPy 2.4 has not
        raise MachineError(
            f"{what} is read by pyNastran, which does not load ({error_summary(error)}); install "
            f'a version that fits NumPy, or run pip install "numpy<2.4"{otherwise}'
        ) from error
    return function


def read_op2(path: Path, otherwise: str = "") -> Any:
    """Content of an OP2 file. Raises InputError, MachineError."""
    read = pynastran("op2", "read_op2", f"{path}: OP2", otherwise)
    with guarded(f"{path}: cannot be read by pyNastran"):
        return read(str(path), debug=None, mode="msc", build_dataframe=False)
