"""Audit of a run by independent equations; `Solution.audit` lists its checks together with those of
the results.
"""

from flexmbs.audit.audit import Audited, audited, report_findings

__all__ = ["Audited", "audited", "report_findings"]
