"""Results of a run: solution, storage, plots, report, export."""

from flexmbs.results.solution import Solution

__all__ = ["Solution"]
