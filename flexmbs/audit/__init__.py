"""Audit of a run by independent equations; `Solution.audit` lists its checks together with those of the results."""

from flexmbs.audit.audit import audited, report_findings

__all__ = ["audited", "report_findings"]
