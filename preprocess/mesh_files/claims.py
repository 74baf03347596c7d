"""Limit of what the few characters of ranges and copies in a mesh file stand for."""

from flexmbs.errors import InputError

MOST = 10**7  # about 0.5 GB of memory
NODE, CARD = 10, 20  # memory of a node and of a card, in members of a set


class Claims:
    """Numbers that are not listed one by one in the files of a deck, and the size of these files.

    In large files there may be as many as these have bytes.
    """

    def __init__(self, size: int = 0) -> None:
        self.size, self.count = size, 0

    def add(self, where: str, count: int, what: str = "members of sets", weight: int = 1) -> None:
        """Add numbers. Raises InputError with the location if they are too many in all."""
        self.count += weight * count
        most = max(MOST, self.size)
        if self.count > most:
            raise InputError(
                f"{where}: claims {count} {what}, with which ranges and copies make more than "
                f"{most // weight}; list those that exist"
            )

    def range(self, where: str, first: int, last: int, step: int = 1) -> range:
        """Numbers from the first to the last, which counts. Raises InputError."""
        self.add(where, max(0, (last - first) // step + 1))
        return range(first, last + 1, step)
