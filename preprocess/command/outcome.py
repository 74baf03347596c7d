"""Output of commands about a reduction: warnings, times, memory."""

import warnings
from collections.abc import Iterable, Mapping

from flexmbs.console.messages import note


def print_warnings(caught: Iterable[warnings.WarningMessage]) -> None:
    """Print the package's own warnings, each once, without those of the compiler."""
    from preprocess.inputs.warning import PreprocessWarning

    messages = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, PreprocessWarning)
    ]
    for line in dict.fromkeys(messages):
        note(f"warning: {line}")


def costs(provenance: Mapping[str, str | float], peak: float) -> str:
    """Wall time of each step and peak memory."""
    times = {
        key.removeprefix("time "): float(value)
        for key, value in provenance.items()
        if key.startswith("time ")
    }
    parts = [f"{step} {seconds:.3g} s" for step, seconds in times.items()]
    return f"{', '.join(parts)}; {sum(times.values()):.3g} s in total, {peak / 1e9:.2g} GB at most"
