"""Reduction of a mesh to a flexible body by several processes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexmbs.console.memory import peak_memory
from flexmbs.errors import raise_problems
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.build import ReductionOptions, Steps, body_of
from preprocess.body.provenance import faces_of
from preprocess.distributed.decomposition import Decomposition, Share, WholePart
from preprocess.distributed.engine import PetscEngine
from preprocess.distributed.exchange import Exchange
from preprocess.distributed.merge import local_surface, merged_body
from preprocess.distributed.processes import Processes
from preprocess.distributed.slepc import SlepcEngine
from preprocess.fe.assembly import elements_model
from preprocess.fe.fe_model import FEModel
from preprocess.fe.shell_sections import LaminateSection
from preprocess.reduction import CraigBampton, CraigChang, Guyan, Rubin

ENGINES = {"petsc": PetscEngine, "slepc": SlepcEngine}
METHODS = (CraigBampton, Guyan, Rubin, CraigChang)


class Job(NamedTuple):
    """Input of a distributed reduction: part, options, and further provenance facts by name."""

    whole: WholePart
    how: ReductionOptions
    others: Sequence[str] = ()


def reduce_together(
    processes: Processes, job: Callable[[], Job], steps: Steps, engine_name: str = "petsc"
) -> FlexibleBodyData | None:
    """Reduced body on the first process; None on the others.

    job: reads mesh and options; called by the first process. engine_name: one of `ENGINES`. Raises
    InputError, also for anything that several processes do not support, SolverError, MachineError,
    in all processes.
    """
    steps("read and divide", 0.0)
    first = _RootInput(job, processes.size)
    how = processes.from_first(first.how)
    share: Share = processes.scattered(first.shares)
    steps("assemble", 0.0)
    exchange = Exchange(processes.comm, share.shared)
    engine = ENGINES[engine_name](processes, share.owner, exchange)
    fe = processes.together(lambda: _model(engine, share))
    local = how._replace(
        stress=None if how.stress is None else replace(how.stress, precision="double")
    )
    data = body_of(fe, share.interfaces, local, steps)
    steps("merge", 0.99)
    pieces = processes.comm.gather(local_surface(data, fe, share))
    facts = {
        "engine": f"{engine_name}, {processes.size} processes",
        **_facts(processes, data, fe, exchange),
        **engine.facts,
    }
    if first.whole is None:
        return None
    whole = first.whole
    body = merged_body(data, pieces, whole, how.stress)
    names: dict[str, str | float] = {
        "interfaces": faces_of(whole.interfaces),
        "elements": _elements(whole),
        "nodes": float(len(whole.layout.joints.nodes.ids)),
    }
    return replace(
        body, name=how.name or data.name, provenance={**data.provenance, **names, **facts}
    )


class _RootInput:
    """Input that only the first process has; empty elsewhere."""

    whole: WholePart | None = None
    shares: Iterator[Share] | None = None

    def __init__(self, job: Callable[[], Job], count: int) -> None:
        self._job, self._count = job, count

    def how(self) -> ReductionOptions:
        """Options of the reduction; reads and divides the part."""
        found = self._job()
        _check_supported(found)
        self.whole, self.shares = found.whole, Decomposition(found.whole, self._count).shares()
        return found.how


def _model(engine: PetscEngine, share: Share) -> FEModel:
    """Finite-element model of the elements of a share."""
    fe = elements_model(share.mesh, share.layout, share.structures)
    return replace(fe, engine=engine, triangles=share.triangles, boundary=share.boundary)


def _check_supported(job: Job) -> None:
    """Raise InputError naming everything that several processes do not support."""
    whole, how, others = job
    sections = whole.layout.sections
    given = list(sections.values()) if isinstance(sections, dict) else [sections]
    wrong = {
        "prestress": how.prestress is not None,
        "band (proved errors)": how.band is not None or how.tolerance is not None,
        "keep": how.keep is not None,
        f"method {type(how.method).__name__}": how.method is not None
        and not isinstance(how.method, METHODS),
        "point masses": bool(whole.mesh.declared.masses),
        **dict.fromkeys(others, True),
        "laminates": any(isinstance(each, LaminateSection) for each in given),
        f"reference {how.reference}": str(how.reference).startswith("node "),
    }
    problems = [
        f"engine: petsc does not support {name}; omit it, or reduce in one process"
        for name, yes in wrong.items()
        if yes
    ]
    raise_problems(problems)


def _facts(
    processes: Processes, data: FlexibleBodyData, fe: FEModel, exchange: Exchange
) -> dict[str, str | float]:
    """Provenance facts of all processes: digest, memory, shared nodes."""
    memory = processes.comm.gather(peak_memory() / 1e9)
    digests = processes.comm.gather(str(data.provenance["digest"]))
    here = processes.comm.gather(len(fe.nodes))
    sent = processes.comm.gather(exchange.sent / 1e6)
    dofs = fe.engine.count(~np.isin(np.arange(fe.freedoms.size), fe.constraints.dependent))
    if processes.rank:
        return {}
    return {
        "degrees of freedom": float(dofs),
        "memory of each process [GB]": ", ".join(f"{each:.3g}" for each in memory),
        "nodes of each process": ", ".join(map(str, here)),
        "messages": f"{exchange.times} exchanges, {max(sent):.3g} MB in total, "
        f"{processes.sums} sums, not counting the factor",
        "digest": hashlib.sha256(" ".join(digests).encode()).hexdigest(),
    }


def _elements(whole: WholePart) -> str:
    """Text with the number of elements by block."""
    return ", ".join(f"{len(block.ids)} {name}" for name, block in whole.mesh.blocks.items())
