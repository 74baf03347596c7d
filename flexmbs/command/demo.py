"""``flexmbs demo``"""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.command.examples import example
from flexmbs.console.messages import Report, progress_bar, put
from flexmbs.console.spawn_context import spawn_context
from flexmbs.errors import InputError, SolverError
from flexmbs.files.file_types import BODY, MODEL, PAGE, SOLUTION
from flexmbs.files.output import ensure_folder
from flexmbs.files.reserved_outputs import reserved

if TYPE_CHECKING:
    from flexmbs.api.model import Model
    from flexmbs.api.solution import Solution
    from flexmbs.results.state import State
    from flexmbs.system.check import Check

INTERFACES = {"hub": "hub_face", "tip": "tip_face"}
MODES, DAMPING = 12, 0.01


def demo(machine: str, folder: Path) -> int:
    """Mesh → flexible body → model → run → report of a machine in a folder.

    Return 0 if every check passes, else 3.
    """
    from flexmbs.command.run import simulated
    from flexmbs.system.check import FAIL

    started = time.perf_counter()
    file = example("link.msh")
    ensure_folder(folder, "choose another with -o")
    files = {
        "link.h5": BODY,
        f"{machine}.toml": MODEL,
        f"{machine}.h5": SOLUTION,
        f"{machine}.html": PAGE,
    }
    results = [(folder / name, kind) for name, kind in files.items()]
    with reserved(*results), progress_bar("reducing the link") as progress:
        with compiling_meanwhile():
            link = _reduced_link(
                file, folder, lambda fraction, text: progress(0.25 * fraction, text)
            )
        model, start, checks = _machine(machine, link)
        model.save(folder / f"{machine}.toml")
        if model.run is None:
            raise InputError("demo: its model has no [run] table; add one")
        solution = simulated(
            model,
            model.run,
            lambda fraction, text: progress(
                0.85 + 0.1 * fraction if text.startswith("audit") else 0.25 + 0.6 * fraction, text
            ),
            start=start,
        )
        progress(0.95, "writing the report")
        solution.save(folder / f"{machine}.h5")
        solution.report(folder / f"{machine}.html")
    found = [*solution.audit, *checks(solution)]
    put("\n".join(f"{check.status}  {check.title}: {check.found}" for check in found))
    passed = all(check.status != FAIL for check in found)
    verdict = "PASS" if passed else "FAIL"
    put(
        f"{verdict} in {time.perf_counter() - started:.0f} s; report: "
        f"{(folder / f'{machine}.html').resolve()}"
    )
    return 0 if passed else SolverError.exit_code


def _machine(
    name: str, link: Path
) -> "tuple[Model, State | None, Callable[[Solution], list[Check]]]":
    """Model of a demo, its start unless declared, and the checks of its solution."""
    if name == "robot":
        from flexmbs.command.demo_robot import robot_checks, robot_model
        from flexmbs.studies.equilibrium.statics import statics

        urdf = example("six_axis.urdf")
        model = robot_model(urdf, link)
        rest = statics(model, audit=False).state  # the link has sagged
        return model, rest, lambda solution: robot_checks(solution, urdf, link)
    from flexmbs.studies.run.demo import demo_checks, demo_model

    return demo_model(link), None, demo_checks


@contextlib.contextmanager
def compiling_meanwhile() -> Iterator[None]:
    """Compile the kernels of the run in a second process, last one first, unless cached."""
    from flexmbs._jit import CACHE

    cold = CACHE is not None and not any(Path(CACHE).rglob("*.nbi"))
    compiler = spawn_context().Process(target=_warm_up) if cold else None
    if compiler is None:
        yield
        return
    compiler.start()
    try:
        yield
    except BaseException:
        compiler.terminate()
        raise
    from flexmbs.studies.run.warmup import DEMO, compile_backwards

    compile_backwards(*DEMO)


def _warm_up() -> None:
    """Compile the kernels of the demo."""
    from flexmbs.studies.run.warmup import warm_up_demo

    warm_up_demo()


def _reduced_link(file: Path, folder: Path, progress: Report) -> Path:
    """Flexible body reduced from the mesh file, saved in the folder."""
    import preprocess as pp

    mesh = pp.read_mesh(file, unit="mm")
    link = pp.reduce(
        mesh,
        pp.Isotropic(E=70e9, nu=0.33, rho=2700.0),
        interfaces={name: pp.Rigid(face) for name, face in INTERFACES.items()},
        method=pp.CraigBampton(modes=MODES),
        reference="hub",
        damping=DAMPING,
        progress=lambda step, fraction: progress(fraction, f"link: {step}"),
    )
    link.save(folder / "link.h5")
    return folder / "link.h5"
