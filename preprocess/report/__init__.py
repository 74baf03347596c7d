"""HTML report of a flexible body."""

from preprocess.report.page import write_report

__all__ = ["write_report"]
