"""``flexmbs warmup``"""

import time

from flexmbs.console.messages import progress_bar, put


def warmup() -> None:
    """Compile the kernels of every run and view, in several processes."""
    from flexmbs.studies.run.warmup import warm_up

    start = time.perf_counter()
    with progress_bar("compiling (once per version)") as progress:
        warm_up(progress)
    put(f"compiled in {time.perf_counter() - start:.1f} s")
