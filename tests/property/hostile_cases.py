"""Tables for attacks on release files: what is special to one of them."""

from __future__ import annotations

from typing import Any

from tests.property.hostile_files import DOCUMENTS, Place

# Fields that may be missing ------------------------------------------------------------------------------------------------

SPARED = ("norm_bound", "missing", "other", "stratum", "year", "site")
"""What a schema may leave out."""
OPTIONAL: dict[str, str] = {
    "gram": "kind.mechanism",
    "gram-laplace": "kind.mechanism",
    "gram-wishart": "kind.mechanism",
    "gram-averaged": "kind.mechanism kind.average",
    "gram-holders": "contributions.0 contributions.1",
    "moments": "kind.blocks schema.columns.Größe_(cm) contributions.0 contributions.1",
    "adassp": "schema.columns.Größe_(cm) schema.columns.grade schema.columns.grade.levels.0 schema.columns.grade.levels.2 "
              "contributions.0 contributions.1",
    "partition": "kind.prior kind.mechanism",
    "partition-k-norm": "kind.mechanism schema.columns.Größe_(cm) schema.columns.ward schema.columns.ward.levels.0 "
                        "schema.columns.ward.levels.1 schema.columns.smoker",
    "rows": "kind.shares.Größe_(cm) kind.shares.grade kind.shares.smoker kind.shares.ward kind.mechanism "
            "schema.columns.ward.levels.0 schema.columns.ward.levels.1 schema.columns.grade.levels.0 "
            "schema.columns.grade.levels.1 schema.columns.grade.levels.2",
    "bounds": "schema.columns.age schema.columns.ward schema.columns.ward.levels.0 schema.columns.ward.levels.1 "
              "schema.columns.smoker",
    "binary": "schema.columns.age schema.columns.Größe_(cm) schema.columns.ward schema.columns.ward.levels.0 "
              "schema.columns.ward.levels.1 schema.columns.grade schema.columns.grade.levels.0 schema.columns.grade.levels.2",
}
"""Beside words that follow from others: options with a default, one of two contributions, and columns that no number is of."""


# Hostile texts -------------------------------------------------------------------------------------------------------------

TEXTS = [
    "[" * 100_000,
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 100_000 + "1" + "}" * 100_000,
    "[" * 40 + "]" * 40,
    '{"a":[' * 20 + "]}" * 20,
    "1e400",
    "-1e99999999999",
    "1" + "0" * 400,
    "9" * 100_000,
    "-" + "9" * 20,
    "0." + "0" * 100_000 + "e",
    "NaN",
    "Infinity",
    "-Infinity",
    "'single'",
    "0x10",
    "01",
    "+1",
    "1_000",
    '"\\ud800"',
    '"\\u0000"',
    '"\\u001b[31m"',
    '"tab\there"',
    '"\x7f"',
    "nul",
    "{1: 2}",
    '{"a": 1, "a": 2}',
    "// comment",
    "",
]

FORMULAS = {
    "brackets": "(" * 5000 + "age" + ")" * 5000,
    "powers": "(age + smoker + ward)**40",
    "many terms": " + ".join(f"I(age**{power})" for power in range(2, 400)),
    "degree": "I(age**99999999)",
    "long": "age + " * 100_000 + "age",
    "python": "__import__('os').system('true')",
}


# What contradicts itself ---------------------------------------------------------------------------------------------------

HOLDER: Place = ("contributions", 0)
PRIVACY: Place = (*HOLDER, "privacy")
CONTENTS: Place = (*HOLDER, "contents")
NOISE: Place = (*CONTENTS, "noise")
EIGENVALUE: Place = (*CONTENTS, "smallest_eigenvalue")
BLOCKS: Place = (*CONTENTS, "blocks")
NUMBERS: Place = (*CONTENTS, "numbers")
ASK: Place = ("kind", "ask")
Case = tuple[Place, Any, str]

EVERYWHERE: list[Case] = [
    (("format",), "noisewise-bounds", "must say \"format\""),
    (("version",), "2.0", "version 1 of the release format"),
    (("version",), "0.9", "version 1 of the release format"),
    (("version",), "1", "must be text such as"),
    (("version",), 1.0, "must be text such as"),
    (("kind",), {"name": "histogram"}, "reads releases of kind"),
    (("kind",), {}, "reads releases of kind"),
    (("kind",), None, "reads releases of kind"),
    (("kind", "name"), ["gram"], "reads releases of kind"),
    (("schema", "adjacency"), "none", "adjacency must be declared"),
    (("schema", "adjacency"), [], "schema.adjacency"),
    (("schema", "unit"), "person", "schema.unit"),
    (("schema", "stratum"), [], "schema.stratum"),
    (("schema", "stratum"), {"year": 3}, "schema.stratum.year"),
    (("schema", "columns"), {}, "needs columns"),
    (("contributions",), [], "at least one contribution"),
    ((*HOLDER, "rows"), -1, "rows"),
    ((*HOLDER, "rows"), 1.5, "contributions.0.rows"),
    ((*HOLDER, "rows"), 10**18, "rows"),
    ((*HOLDER, "created"), "yesterday", "created must be a date"),
    ((*HOLDER, "created"), "2026-02-30", "created must be a date"),
    ((*HOLDER, "library"), [], "contributions.0.library"),
    ((*HOLDER, "library"), " ", "library must be non-empty text"),
    ((*PRIVACY, "statement"), "", "statement must be non-empty text"),
    ((*PRIVACY, "statement"), 7, "contributions.0.privacy.statement"),
    ((*PRIVACY, "mechanism"), "", "mechanism must be non-empty text"),
    ((*PRIVACY, "epsilon"), -1.0, "epsilon must be positive"),
    ((*PRIVACY, "epsilon"), 0, "epsilon must be positive"),
    ((*PRIVACY, "epsilon"), None, "contributions.0.privacy.epsilon"),
    ((*PRIVACY, "epsilon"), "1", "contributions.0.privacy.epsilon"),
    ((*PRIVACY, "delta"), -1e-9, "delta must be at least 0"),
    ((*PRIVACY, "delta"), 1.0, "delta must be at least 0 and below 1"),
    ((*PRIVACY, "sensitivity"), 0.0, "sensitivity must be positive"),
    ((*PRIVACY, "sensitivity"), -1.0, "sensitivity must be positive"),
]
"""Of every kind."""

BLOCK = {"weight": 1.0, "noise": 1.0, "sums": [1.0]}
GRAM = {"name": "gram", "terms": "age:ward + I(age**2)"}

SPECIAL: dict[str, list[Case]] = {
    "gram": [
        ((*PRIVACY, "delta"), 0.0, "requires delta > 0"),
        ((*PRIVACY, "mechanism"), "laplace", "of its mechanism|mechanism must be the one that the kind asks for"),
        ((*PRIVACY, "mechanism"), "other", "mechanism must be the one that the kind asks for"),
        ((*NOISE, "distribution"), "laplace", "distribution of its mechanism"),
        ((*NOISE, "distribution"), "wishart", "degrees of freedom"),
        ((*NOISE, "degrees_of_freedom"), 65, "only valid for wishart noise"),
        ((*NOISE, "scale"), 4.0, "only valid for wishart noise"),
        ((*NOISE, "corner"), 1.0, "has no noise"),
        ((*CONTENTS, "average"), 0, "contents.average"),
        ((*CONTENTS, "average"), 1, "contents.average"),
        ((*CONTENTS, "average"), 10**18, "average must be a whole number"),
        (("kind", "average"), 10, "averaged as the kind asks for"),
        (("kind", "average"), 1, "not in the form required in a file"),
        (("kind", "terms"), "", "non-empty string"),
        (("kind", "terms"), " age:ward", "not in the form required in a file"),
        (("kind",), {"name": "gram"}, "without terms"),
        (("kind",), {"name": "adassp", "formula": "smoker ~ age"}, "contributions.0.contents.moments"),
        (("kind", "formula"), "age ~ ward", "unknown option"),
        ((*HOLDER, "rows"), 1201, "public number of rows"),
        (("schema", "adjacency"), "add-remove", "number of rows"),
    ],
    "gram-laplace": [((*PRIVACY, "mechanism"), "gaussian", "of its mechanism|mechanism must be the one that the kind asks for"),
                     ((*NOISE, "distribution"), "gaussian", "requires delta > 0")],
    "gram-wishart": [
        ((*NOISE, "degrees_of_freedom"), 10, "standard deviations of wishart noise"),
        ((*NOISE, "degrees_of_freedom"), 64, "standard deviations of wishart noise"),
        ((*NOISE, "degrees_of_freedom"), 65.0, "degrees_of_freedom"),
        ((*NOISE, "degrees_of_freedom"), 10**30, "64 bits"),
        ((*NOISE, "scale"), 4.07, "standard deviations of wishart noise"),
        ((*NOISE, "scale"), 0.0, "standard deviations of wishart noise"),
        ((*NOISE, "scale"), 1e308, "standard deviations of wishart noise"),
        ((*NOISE, "distribution"), "gaussian", "only valid for wishart noise"),
        ((*CONTENTS, "average"), 10, "averaging rows requires"),
        ((*PRIVACY, "delta"), 0.0, "requires delta > 0"),
        (("schema", "unit"), {"column": "patient", "max_rows": 7}, "one row of each unit|number of rows"),
    ],
    "gram-averaged": [
        ((*CONTENTS, "average"), 11, "averaged as the kind asks for"),
        ((*CONTENTS, "average"), None, "averaged as the kind asks for"),
    ],
    "gram-holders": [
        (("contributions", 1, "contents", "noise", "distribution"), "wishart", "contribution|degrees of freedom"),
        (("contributions", 1, "contents", "noise", "degrees_of_freedom"), 74, "only valid for wishart noise"),
        (("contributions", 1), DOCUMENTS["gram-holders"]["contributions"][0], "fake precision"),
        (("contributions", 1, "rows"), 3, "has no noise"),
        (("schema", "unit", "max_rows"), 0, "max_rows"),
        (("schema", "unit", "column"), "age", "cannot be analysed"),
    ],
    "adassp": [
        (("kind",), GRAM, "upper triangle for 8 columns"),
        (("kind", "formula"), "", "non-empty string"),
        (("kind", "formula"), None, "non-empty string"),
        (("kind",), {"name": "adassp", "formula": "smoker ~ age * ward + I(age**2)"}, "without terms"),
        ((*CONTENTS, "moments"), [1.0], "list of 7 numbers"),
        ((*CONTENTS, "moments", 2), 1e200, "2\\*\\*100"),
        ((*CONTENTS, "moments", 2), "1", "contents.moments.2"),
        ((*EIGENVALUE, "noise"), 0.0, "noise must be positive"),
        ((*EIGENVALUE, "value"), 1e300, "must be between -"),
        ((*EIGENVALUE, "epsilon"), 1.0, "below the totals"),
        ((*EIGENVALUE, "delta"), 0.0, "positive"),
        ((*NOISE, "distribution"), "laplace", "gaussian"),
        ((*CONTENTS, "average"), 3, "average"),
        ((*PRIVACY, "mechanism"), "laplace", "distribution of its mechanism"),
    ],
    "moments": [
        (("kind",), GRAM, "contents.noise"),
        (("kind",), {"name": "adassp", "formula": "visits ~ age"}, "contents.noise"),
        (("kind", "formula"), "", "non-empty string"),
        (("kind", "formula"), None, "non-empty string"),
        (("kind",), {"name": "moments", "formula": "visits ~ age * smoker + I(age**2) + ward"}, "without terms"),
        (("kind", "blocks", "xx"), 2.0, "those that the kind asks for"),
        (("kind", "blocks", "xxxx"), 1.0, "those that the kind asks for"),
        (BLOCKS, {}, "a block beside"),
        ((*BLOCKS, "z"), BLOCK, "a block of moments is"),
        ((*BLOCKS, "n"), BLOCK, "not both"),
        ((*BLOCKS, "xxxx"), {"weight": 1.0, "noise": 1e6, "sums": [0.0] * 126}, "those that the kind asks for"),
        ((*BLOCKS, "xx", "sums"), [1.0], "6 columns have 21 monomials"),
        ((*BLOCKS, "xx", "sums", 2), 1e200, "2\\*\\*100"),
        ((*BLOCKS, "xx", "sums", 2), "1", "blocks.xx.sums.2"),
        ((*BLOCKS, "xx", "noise"), 0.0, "noise must be positive"),
        ((*BLOCKS, "xx", "weight"), -1.0, "weight must be positive"),
        ((*HOLDER, "rows"), None, "not both"),
        ((*PRIVACY, "delta"), 0.0, "requires delta > 0"),
        ((*PRIVACY, "mechanism"), "laplace", "distribution of its mechanism"),
        (("columns",), [{"name": "1", "factors": []}], "without predictors"),
    ],
    "partition": [
        (("kind",), GRAM, "contents.noise|must state its columns"),
        (("kind", "formula"), "", "non-empty string"),
        (("kind", "formula"), "income ~ height", "not declared"),
        (("kind", "formula"), "income ~ age", "coefficients of the formula"),
        (("kind", "prior"), {"name": "cauchy"}, "prior"),
        (("kind", "prior", "scale"), -1.0, "between 1e-12 and 1e15"),
        (("kind", "prior", "g"), 3.0, "scale, shape, rate"),
        (("kind", "parts"), 1, "whole number from 2"),
        (("kind", "parts"), 10**9, "whole number from 2"),
        (("kind", "parts"), 8.5, "parts"),
        (("kind", "mechanism"), "k-norm", "mechanism must be the one that the kind asks for"),
        ((*CONTENTS, "balanced"), "yes", "contents.balanced"),
        ((*HOLDER, "rows"), None, "number of rows"),
        (("schema", "adjacency"), "add-remove", "number of rows"),
        (NOISE, 0.0, "noise must be positive"),
        (NOISE, 1e300, "noise must be positive"),
        (NOISE, "1", "contents.noise"),
        ((*CONTENTS, "noise_epsilon"), 1.0, "noise_epsilon"),
        ((*CONTENTS, "noise_epsilon"), 2.0, "must be at most epsilon"),
        ((*PRIVACY, "delta"), 0.0, "delta must be > 0 for gaussian"),
        ((*PRIVACY, "mechanism"), "k-norm", "0 for k-norm"),
        ((*PRIVACY, "mechanism"), "laplace", "mechanism of a partition release"),
        (ASK, [], "at least one"),
        ((*ASK, 0, "ask"), "mean", "must state what it asks"),
        ((*ASK, 0, "at"), [], "different finite numbers"),
        ((*ASK, 0, "at"), [0.0, 0.0, 1.0], "different finite numbers"),
        ((*ASK, 0, "at"), [0.0, 1.0, 2.0], "must be those that the questions ask for"),
        ((*ASK, 0, "of"), {"height": 1.0}, "coefficients of the formula"),
        ((*ASK, 0, "of"), {}, "about a coefficient"),
        ((*ASK, 0, "of"), {"age": 0.0}, "about a coefficient"),
        ((*ASK, 0, "limit"), 3.0, "limits of its question"),
        ((*ASK, 0, "limits"), [0.0, 1.0], "wrong fields"),
        ((*ASK, 5, "of"), [{"ward[T.B]": 1.0}, {"ward[T.B]": 2.0}], "linearly independent"),
        ((*ASK, 5, "of"), [{"Intercept": 1.0}], "slopes, not about the intercept"),
        ((*ASK, 3, "centre_share"), 0.3, "epsilon minus what the selection of limits used"),
        # Short forms are for callers, not for files.
        ((*ASK, 2, "at"), 1e-7, "not in the form required in a file"),
        ((*ASK, 0, "of"), "age", "not in the form required in a file"),
        ((*ASK, 0, "of"), [["age", 1.0]], "not in the form required in a file"),
        ((*ASK, 6, "of"), {"ward[T.B]": 1.0, "ward[T.C]": -1.0}, "not in the form required in a file"),
        ((*ASK, 0, "limit"), None, "not in the form required in a file"),
        (("kind", "prior"), "flat", "not in the form required in a file"),
        (NUMBERS, [], "1 to 1000 numbers"),
        ((*NUMBERS, 0, "name"), "P(age <= 7)", "must be those that the questions ask for"),
        ((*NUMBERS, 0, "lower"), 3.0, "below the upper"),
        ((*NUMBERS, 0, "lower"), -1.0, "limits of its question"),
        ((*NUMBERS, 5, "upper"), 1e200, "must be between -"),
        ((*NUMBERS, 0, "sum"), 1e200, "must be between -"),
        ((*NUMBERS, 0, "sum"), None, "numbers.0.sum"),
    ],
    "partition-k-norm": [((*CONTENTS, "balanced"), True, "balanced parts require"), ((*PRIVACY, "delta"), 1e-7, "0 for k-norm")],
    "rows": [
        ((*CONTENTS, "rows_file", "name"), "../../etc/passwd.parquet", "plain name"),
        ((*CONTENTS, "rows_file", "name"), "/etc/passwd.parquet", "plain name"),
        ((*CONTENTS, "rows_file", "sha256"), "z", "64 hexadecimal digits"),
        ((*CONTENTS, "rows_file", "bytes"), "1399", "rows_file.bytes"),
        ((*CONTENTS, "rows_file", "bytes"), -1, "rows_file: bytes"),
        ((*CONTENTS, "rows_file", "bytes"), 95, "at least 96 bytes"),
        ((*CONTENTS, "columns", "age"), {"share": 1 / 3, "distribution": "laplace"}, "either distribution and scale, or keep"),
        ((*CONTENTS, "columns", "age", "keep"), 0.5, "either distribution and scale, or keep"),
        ((*CONTENTS, "columns", "age", "scale"), 0.0, "must be positive"),
        ((*CONTENTS, "columns", "age", "distribution"), "gaussian", "that of the mechanism"),
        ((*CONTENTS, "columns", "age"), "much", "contents.columns.age"),
        ((*CONTENTS, "columns", "age", "share"), 0.2, "add up to 1"),
        ((*CONTENTS, "columns", "ward", "keep"), 0.2, "at least 1/3"),
        ((*CONTENTS, "columns", "ward", "keep"), 1.0, "and below 1"),
        (("kind", "shares", "age"), 3.0, "shares that the kind asks for"),
        (("kind", "copies"), 3, "too small"),
        ((*PRIVACY, "mechanism"), "gaussian", "that of the mechanism"),
        ((*PRIVACY, "delta"), 1e-7, "if and only if the noise is Gaussian"),
        (("schema", "adjacency"), "add-remove", "number of rows|replace-one"),
        (("schema", "unit"), {"column": "patient", "max_rows": 2}, "number of rows|replace-one"),
        ((*HOLDER, "rows"), 10**6, "at least 32000000 bytes"),
    ],
    "bounds": [
        ((*CONTENTS, "probability"), 1.0, "between 0 and 1"),
        ((*CONTENTS, "columns"), [1], "contents.columns.0"),
        ((*CONTENTS, "columns"), [], "bounds must be those of the requested columns"),
        ((*CONTENTS, "columns", 0, "name"), "age", "bounds must be those of the requested columns"),
        ((*CONTENTS, "columns", 0, "asked"), ["lower"], "known bounds must be unchanged"),
        ((*CONTENTS, "columns", 0, "asked"), [], "which of lower and upper"),
        ((*CONTENTS, "columns", 0, "asked"), ["upper", "middle"], "which of lower and upper"),
        ((*CONTENTS, "columns", 0, "lower"), 1.0, "known bounds must be unchanged"),
        ((*CONTENTS, "columns", 0, "upper"), 1e300, "must be between -"),
        ((*CONTENTS, "columns", 0, "outside"), -1, "outside must be a whole number"),
        ((*CONTENTS, "columns", 0, "error"), 1.5, "columns.0.error"),
        ((*PRIVACY, "delta"), 1e-7, "delta must be 0"),
        (("kind", "of"), "income", "not in the form required in a file"),
        (("kind", "of", "income"), [1.0, None], "known bounds must be unchanged"),
        (("kind", "tail"), 0.7, "tail|share"),
        (("kind", "digits"), 0, "digits"),
        (("schema", "columns", "income"), {"levels": ["a", "b"]}, "only numeric columns have bounds"),
        (("schema", "columns"), {"age": {"bounds": [18, 98]}}, "does not declare this column"),
    ],
    "binary": [
        ((*CONTENTS, "counts"), [201, 0], "a count must be a whole number from 0 to 200"),
        ((*CONTENTS, "counts"), [-1, 0], "a count must be"),
        ((*CONTENTS, "counts"), [], "copies"),
        ((*CONTENTS, "counts"), [1], "numbers of copies and rows must match"),
        ((*CONTENTS, "counts", 0), True, "counts.0"),
        ((*CONTENTS, "counts", 0), 1.5, "counts.0"),
        ((*CONTENTS, "counts", 0), None, "counts.0"),
        ((*CONTENTS, "counts"), "80", "contents.counts"),
        ((*CONTENTS, "alpha"), 0, "alpha must be a whole number"),
        ((*CONTENTS, "alpha"), 1e9, "contents.alpha"),
        (("kind", "column"), "", "one column"),
        (("kind", "column"), 3, "one column"),
        (("kind", "column"), "height", "does not declare this column"),
        (("kind", "column"), "ward", "column with two levels"),
        (("kind", "column"), "a\x1b[31m", "control characters"),
        (("kind", "rows"), 0, "whole number from 1"),
        (("kind", "rows"), 10**30, "64 bits"),
        (("kind", "copies"), 3, "numbers of copies and rows must match"),
        (("schema", "columns", "smoker", "levels"), ["no"], "at least two|levels"),
        (("schema", "columns", "smoker", "levels"), ["no", "no"], "different|once|levels"),
        (("schema", "columns", "smoker", "levels"), ["no", []], "levels.1"),
        (("schema", "columns", "smoker", "levels"), None, "smoker.levels"),
        (("schema", "columns", "smoker", "levels"), ["a", "b", "c"], "column with two levels"),
        (("schema", "adjacency"), "replace-one", "number of rows"),
        (("schema", "unit"), {"column": "patient", "max_rows": 2}, "protect single rows"),
        ((*PRIVACY, "delta"), 1e-7, "delta must be 0"),
    ],
}
"""Of one file."""


# What a file may not promise -----------------------------------------------------------------------------------------------

EPSILON, DELTA, MORE = ("privacy.epsilon", 0.99), ("privacy.delta", 0.9), ("privacy.sensitivity", 1.01)
CLAIMS: dict[str, list[tuple[str, float]]] = {
    "gram": [EPSILON, DELTA, MORE, ("contents.noise.diagonal", 0.99), ("contents.noise.off_diagonal", 0.99)],
    "gram-laplace": [EPSILON, MORE, ("contents.noise.diagonal", 0.99), ("contents.noise.off_diagonal", 0.99)],
    # A file tells what an added row does to Wishart noise, and the noise is for one that is replaced.
    "gram-wishart": [("privacy.epsilon", 0.7), ("privacy.delta", 0.001), MORE],
    "gram-averaged": [EPSILON, DELTA, MORE, ("contents.noise.diagonal", 0.99), ("contents.noise.off_diagonal", 0.99)],
    "gram-holders": [EPSILON, MORE, *((f"contents.noise.{place}", 0.99) for place in ("diagonal", "off_diagonal", "corner"))],
    "moments": [EPSILON, DELTA, MORE, *((f"contents.blocks.{name}.noise", 0.99) for name in ("x", "xx", "xxx", "y", "yx", "yxx")),
                ("contents.blocks.xx.weight", 0.98)],
    # A third and two thirds of a budget are not used as well as the whole: only what the eigenvalue states is tight.
    "adassp": [("privacy.epsilon", 0.7), ("privacy.delta", 0.001), ("privacy.sensitivity", 1.5), ("contents.noise.diagonal", 0.7),
               ("contents.noise.off_diagonal", 0.7), *((f"contents.smallest_eigenvalue.{name}", factor) for name, factor in (
                   ("noise", 0.99), ("epsilon", 0.99), ("delta", 0.9), ("sensitivity", 1.01)))],
    "partition": [EPSILON, DELTA, MORE, ("privacy.sensitivity", 0.99), ("contents.noise", 0.99),
                  ("contents.noise_epsilon", 0.99)],
    "partition-k-norm": [EPSILON, MORE, ("contents.noise", 0.99), ("contents.noise_epsilon", 0.99)],
    "rows": [EPSILON, MORE, ("contents.columns.age.scale", 0.99), ("contents.columns.Größe (cm).scale", 0.99),
             *((f"contents.columns.{name}.keep", 1.01) for name in ("ward", "smoker", "grade"))],
    "bounds": [MORE],  # a selection has no noise to state
    "binary": [EPSILON, MORE, ("contents.alpha", 0.99)],
}
"""What a file may not state less of, or more, by which factor."""
TOO_LITTLE = ("too small|at least the sensitivity|sensitivity of this release must be|the kind asks for|below the totals|"
              "must be at most epsilon|must be epsilon minus")
