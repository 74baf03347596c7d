"""Audit of a run by independent equations.

`Solution.audit` lists its checks together with those of the results.
"""

from flexmbs.audit.audit import Audited, audited, audited_steps, report_findings

__all__ = ["Audited", "audited", "audited_steps", "report_findings"]
