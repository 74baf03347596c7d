"""The audit of a run by what did not produce it; `Solution.audit` holds its checks beside those of the results."""

from flexmbs.audit.audit import audited, report_findings

__all__ = ["audited", "report_findings"]
