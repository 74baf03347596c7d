"""Memory of this process, for progress displays."""

import sys


def used_memory() -> float:
    """Bytes resident now; the largest so far where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_memory()
    import resource

    return float(pages * resource.getpagesize())


def peak_memory() -> float:
    """Largest number of bytes resident so far; zero where the system does not tell."""
    if sys.platform == "win32":
        return 0.0
    import resource

    largest = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return largest if sys.platform == "darwin" else 1024.0 * largest
