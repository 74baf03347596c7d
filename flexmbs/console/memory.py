"""Memory of this process and of the machine."""

import os
import sys


def used_memory() -> float:
    """Current resident memory in bytes; the peak if the system does not provide it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_memory()
    import resource

    return float(pages * resource.getpagesize())


def peak_memory() -> float:
    """Peak resident memory in bytes; zero if the system does not provide it."""
    if sys.platform == "win32":
        return 0.0
    import resource

    largest = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return largest if sys.platform == "darwin" else 1024.0 * largest


def free_memory() -> float:
    """Available memory in bytes without swapping.

    The total, or infinity, if the system does not provide it.
    """
    return _available() or _installed() or float("inf")


def _available() -> float | None:
    """Bytes of memory available according to /proc/meminfo; None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            values = dict(line.split(":", 1) for line in file)
        return 1024.0 * float(values["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None


def _installed() -> float | None:
    """Bytes of installed memory; None if unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None
