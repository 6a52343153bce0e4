"""Does a release keep its promise? Lower bounds on epsilon from many draws of it, each with its confidence.

`bounds` turns counts of right and wrong guesses into bounds, `laws` knows the noise that each mechanism promises, `canaries`
searches for the pair of neighbours that is told apart most easily, `trial` draws and counts, `one_run` needs a single release,
`report` is the table of what was claimed and what was measured. No confidential row is used: tables are made up.
"""

from noisewise.privacy.audit.report import AuditReport, Finding

__all__ = ["AuditReport", "Finding"]
