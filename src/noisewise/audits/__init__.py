"""Does a release keep its promise? Lower bounds on epsilon from many draws of it, each with its confidence.

No confidential row is used: tables are made up from public declarations, and real releases of them are drawn.

    audit         the public function, and the requests that it audits by itself
    request       what would be asked of `noisewise.release`, and which kind is audited how
    gram, moments, adassp, bounds, rows, partition
                  a file for each kind
    canaries      a search for the worst neighbours, and two tables that differ in them
    laws          the noise that each mechanism promises
    trial         draws and counts; one_run needs a single release
    lower_bounds  counts of right and wrong guesses -> lower bounds on epsilon
    report        the table of what was claimed and what was measured
"""

from noisewise.audits.report import AuditReport, Finding

__all__ = ["AuditReport", "Finding"]
