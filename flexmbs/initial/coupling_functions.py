"""Verification of couplings by user functions.

Declared gradients and dependence on time are compared with the functions themselves.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.initial.row_sizes import LATER, unsuitable_size
from flexmbs.model.contacts import UnilateralCoupling
from flexmbs.model.general_couplings import CoordinateEquation, GeneralCoupling, VelocityCoupling
from flexmbs.system.compile import Compiled
from flexmbs.system.coordinate_functions import by_differences, comparable_changes, row
from flexmbs.system.records import CouplerTerms, Work
from flexmbs.system.step_scales import model_size

WRONG = 1e-5  # of the derivatives, above the error of differences
ASIDE = 0.03  # of the size of the model, or rad: distance of more general coordinates


def coupling_function_problems(
    compiled: Compiled, work: Work, t: float, q: np.ndarray
) -> list[str]:
    """One line for each coupling with a wrong gradient or an undeclared dependence on time."""
    found: list[Problem] = []
    couplers = compiled.system.couplers
    contacts = compiled.system.contacts
    of_contacts = [
        (name, first, end)
        for name, first, end in zip(compiled.contacts, contacts.first, contacts.end)
        if end > first
    ]
    named: list[tuple[Any, CouplerTerms, int, int]] = [
        *(
            (each, couplers.terms, *span)
            for each, *span in zip(compiled.model.couplings.values(), couplers.first, couplers.end)
        ),
        *((compiled.model.contacts[name], contacts.terms, *span) for name, *span in of_contacts),
    ]
    for coupling, terms, first, end in named:
        if isinstance(coupling, (GeneralCoupling, UnilateralCoupling)):
            x = np.concatenate([[t], _coordinates(compiled, work, q, terms)[first:end]])
            sizes = comparable_changes(coupling, compiled.model.joints, model_size(compiled))
            aside = x + np.concatenate([[0.0], ASIDE * sizes * np.cos(np.arange(1.0, len(x)))])
            found += [
                problem
                for each in (
                    _problems(coupling, x, sizes),
                    _problems(coupling, aside, sizes),
                    _of_unsuitable_size(coupling, sizes, x, aside),
                )
                for problem in each
            ][:1]
    return [str(problem) for problem in found]


def _coordinates(compiled: Compiled, work: Work, q: np.ndarray, terms: CouplerTerms) -> np.ndarray:
    """Values of the coordinates of all terms."""
    system, primary = compiled.system, terms.body >= 0
    x = np.empty(len(primary))
    x[primary] = q[system.tree.q_at[terms.body[primary]] + terms.q[primary]]
    x[~primary] = work.beta[system.cuts.beta_at[terms.cut[~primary]] + terms.q[~primary]]
    return x


def _problems(coupling: CoordinateEquation, x: np.ndarray, sizes: np.ndarray) -> Iterator[Problem]:
    """Problems of the function of a coupling: wrong gradient, undeclared dependence on time."""
    function: Any = coupling.function
    path, plain = (coupling.section, coupling.name), getattr(function, "py_func", function)
    late = [x + np.concatenate([[h], np.zeros(len(x) - 1)]) for h in LATER]
    try:
        if isinstance(coupling, VelocityCoupling):
            now, then = np.array(row(plain, x)), np.array([row(plain, each) for each in late])
            if not coupling.rheonomic and np.abs(then - now).max() > WRONG * (
                1.0 + np.abs(now).max()
            ):
                yield Problem(
                    (*path, "rheonomic"), "the function depends on time; set rheonomic=True"
                )
            return
        true = np.array(by_differences(plain, x, True, sizes))
        given_by: Any = coupling.gradient  # type: ignore[attr-defined]
        gradient = getattr(given_by, "py_func", given_by)
        given = true if gradient is None else np.array(row(gradient, x))
        later = np.array([by_differences(plain, each, True, sizes) for each in late])
    except Exception:  # not defined there; reported by a run that reaches it
        return
    if not (np.isfinite(true).all() and np.isfinite(given).all()):
        return
    limit = WRONG * (1.0 + np.abs(true).max())
    if not coupling.rheonomic and (
        max(abs(true[-1]), np.abs(later[:, -1]).max()) > limit or np.abs(later - true).max() > limit
    ):
        yield Problem((*path, "rheonomic"), "the function depends on time; set rheonomic=True")
    if not coupling.rheonomic:
        given[-1] = true[-1] = 0.0
    if np.abs(given - true).max() > limit:
        k = int(np.abs(given - true).argmax())
        what = "t" if k == len(true) - 1 else coupling.of[k]
        text = (
            f"∂g/∂({what}) is given as {given[k]:.6g}, but the function changes by "
            f"{true[k]:.6g}; correct the gradient"
        )
        yield Problem((*path, "gradient"), text)


def _of_unsuitable_size(
    coupling: CoordinateEquation, displacements: np.ndarray, *places: np.ndarray
) -> Iterator[Problem]:
    """Problems of couplings whose rows are far larger or smaller than 1."""
    function: Any = coupling.function
    plain, holonomic = (
        getattr(function, "py_func", function),
        not isinstance(coupling, VelocityCoupling),
    )
    try:
        sizes = [
            np.abs(
                np.multiply(
                    (
                        by_differences(plain, x, False, displacements)
                        if holonomic
                        else row(plain, x)
                    )[:-1],
                    displacements,
                )
            ).max()
            for x in places
        ]
    except Exception:  # not defined there; reported by a run that reaches it
        return
    if text := unsuitable_size(float(min(sizes)), float(max(sizes))):
        what = "g changes by" if holonomic else "its row has the size"
        yield Problem((coupling.section, coupling.name, "function"), f"{what} {text}")
