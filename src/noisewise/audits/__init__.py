"""Test whether a release keeps its promise: lower bounds on epsilon from many draws of it, each with a confidence.

No confidential row is used. Tables are made up from public declarations, and real releases of them are drawn.

    audit         the public function, and the standard requests that it audits
    request       the arguments of `noisewise.release`, and how to audit each kind
    gram, model, moments, adassp, bounds, rows, partition
                  a file for each kind
    model_points  a search for the worst point of a model release's rounds
    canaries      a search for the worst neighbours, and two tables that differ in them
    laws          the noise that each mechanism promises
    trial         draws and counts; one_run needs only a single release
    lower_bounds  counts of right and wrong guesses -> lower bounds on epsilon
    report        the table of claims and measurements
"""

from noisewise.audits.report import AuditReport, Finding

__all__ = ["AuditReport", "Finding"]
