"""The audit of a run by what did not produce it; `Solution.audit` holds its checks beside those of the results."""

from flexmbs.analysis.audit.audit import audited

__all__ = ["audited"]
