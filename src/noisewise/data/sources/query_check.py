"""Queries that treat each row of one table separately.

The guarantee protects rows of a table, but the sums are over rows of a query's result. The two are equivalent if the query is a
function of one row: each row of the table gives one row of the result or none, computed from its own cells. Then neighbouring
tables give neighbouring results (D1 of database.md). So a query is checked against a list of allowed constructs, and everything
else is refused by name. A construct that is forgotten here is refused, never let through.

Nothing allowed can fail because of a cell: no arithmetic (overflow, division by zero), no casts, no functions. A database casts
implicitly where types differ, and fails if a cell does not fit. So a column can be compared only with columns of its own type and
constants that are known to fit.

The query that runs is not the original text but generated from the checked tree, with all parentheses. So a text that the
database would read differently from the parser (which of NOT, < and IN binds first?) cannot slip through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Literal, NoReturn

from noisewise.data.sources.base import needed
from noisewise.errors import DataError, PrivacyError
from noisewise.words import option

if find_spec("sqlglot"):  # without it, `parse` refuses every query
    from sqlglot import exp

Family = Literal["integer", "fraction", "text", "truth", "other"]
"""The constants a column can be compared with: whole numbers, any numbers, text, true and false, or only text tried first."""

LARGEST_INTEGER: Final = 2**63 - 1

CLAUSES: Final = {
    "joins": "JOIN", "group": "GROUP BY", "having": "HAVING", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET",
    "distinct": "DISTINCT", "with_": "WITH", "windows": "WINDOW", "qualify": "QUALIFY", "sample": "sampling",
    "laterals": "LATERAL", "locks": "FOR UPDATE", "into": "INTO", "pivots": "PIVOT", "match": "MATCH_RECOGNIZE",
    "when": "a version of the table (AT)", "ordinality": "WITH ORDINALITY",
}
REMEDY: Final = ("select columns of one table (with aliases, CASE or COALESCE) and filter with WHERE; or, if you vouch that each "
                 "person has no more rows in the result than the schema says and that they depend on nobody else's, use "
                 "trust=True (--trust-query)")


@dataclass(frozen=True)
class CellType:
    """The type of a column or, without a name, of a constant."""

    family: Family
    name: str = ""


@dataclass(frozen=True)
class CheckedQuery:
    """A query that treats each row separately."""

    sql: str
    filtered: bool
    """True if a row's cells decide whether it is in the result."""
    constants: tuple[str, ...]
    """Expressions of constants only, to try before a row is read: whether they fail must not depend on rows."""


def check_query(sql: str, dialect: str, columns_of: Callable[[str], Mapping[str, CellType]]) -> CheckedQuery:
    """Refuse a query that does more than look at rows one by one. ``columns_of`` checks a table and returns its columns."""
    tree = parse(sql, dialect)
    if isinstance(tree, exp.SetOperation):
        refuse(type(tree).__name__.upper())
    if not isinstance(tree, exp.Select):
        refuse(f"a statement other than SELECT ({type(tree).__name__.upper()})")
    _only(tree, ("expressions", "from_", "where"))
    if dialect == "postgres":
        _fold_names(tree)
    table = _table(tree)
    checker = _Checker(dialect, dict(columns_of(_name_of(table, dialect))), table.alias_or_name)
    for projection in tree.expressions:
        checker.projection(projection)
    where = tree.args.get("where")
    if where is not None:
        checker.truth(where.this)
    _add_parentheses(tree)
    return CheckedQuery(tree.sql(dialect=dialect, identify=True, comments=False), where is not None, tuple(checker.constants))


def parse(sql: str, dialect: str) -> exp.Expression:
    """Parse the only statement of a text."""
    sqlglot = needed("sqlglot", "sqlglot", "noisewise[postgres] or noisewise[duckdb]", "checking queries")
    trees = None
    try:
        trees = [tree for tree in sqlglot.parse(sql, dialect=dialect) if tree is not None]
    except (sqlglot.errors.SqlglotError, RecursionError):
        pass
    if trees is None or len(trees) != 1:
        raise DataError("a query must be one valid SELECT statement",
                        found="a statement that cannot be parsed" if trees is None else f"{len(trees)} statements",
                        remedy='for example "SELECT age, stay FROM patients WHERE age >= 18"; a query that the checker cannot '
                        "parse needs " + option("trust", True))
    tree: exp.Expression = trees[0]
    return tree


def refuse(construct: str) -> NoReturn:
    """Refuse a construct."""
    raise PrivacyError("a query must treat each row of one table separately; otherwise one person could change many rows of its "
                       "result, or the query could fail because of someone's value", found=construct, remedy=REMEDY)


def _only(node: exp.Expression, allowed: Sequence[str]) -> None:
    for key, value in node.args.items():
        if value and key not in allowed:
            refuse(CLAUSES.get(key, key.rstrip("_").replace("_", " ").upper()))


def _fold_names(tree: exp.Expression) -> None:
    """Make unquoted names lower-case, as PostgreSQL does. It would not do so once they are quoted, as all are from here on."""
    for name in tree.find_all(exp.Identifier):
        if not name.quoted:
            name.set("this", "".join(letter.lower() if letter.isascii() else letter for letter in name.this))
            name.set("quoted", True)


def _add_parentheses(tree: exp.Expression) -> None:
    """Add parentheses around all operands that are themselves operators, except those that AND and OR connect."""
    operators = (exp.Binary, exp.Not, exp.Between, exp.In)
    for node in list(tree.find_all(*operators)):
        connected = isinstance(node.parent, exp.Connector) and (not isinstance(node, exp.Connector)
                                                                or type(node) is type(node.parent))
        if isinstance(node.parent, operators) and not connected:
            around = exp.Paren()
            node.replace(around)
            around.set("this", node)


def _table(tree: exp.Select) -> exp.Table:
    source = tree.args.get("from_")
    if source is None:
        refuse("no FROM")
    table = source.this
    if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier):
        _only(table, ("this", "db", "catalog", "alias", "only"))
        if table.args.get("alias") is not None:
            _only(table.args["alias"], ("this",))
        return table
    if isinstance(table, exp.Table):
        refuse(f"a function in FROM ({table.this.key.upper()})")
    refuse("a sub-select in FROM" if isinstance(table, exp.Subquery) else f"{type(table).__name__.upper()} in FROM")


def _name_of(table: exp.Table, dialect: str) -> str:
    return ".".join(part.sql(dialect=dialect, identify=True) for part in table.parts)


@dataclass
class _Checker:
    """Finds the type of each expression, or refuses it."""

    dialect: str
    columns: dict[str, CellType]
    table: str
    constants: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.dialect == "duckdb":  # where names are not case-sensitive
            self.columns = {name.lower(): kind for name, kind in self.columns.items()}

    def projection(self, node: exp.Expression) -> None:
        if isinstance(node, exp.Alias):
            self.value(node.this)
        elif isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            _only(node if isinstance(node, exp.Star) else node.this, ())
            self._drop_qualifier(node)
        else:
            self.value(node)

    def value(self, node: exp.Expression) -> CellType | None:
        """The type of a value, or None for NULL."""
        if isinstance(node, exp.Paren):
            return self.value(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Null):
            return None
        if _is_constant(node):
            return _constant_type(node)
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.Coalesce):
            _only(node, ("this", "expressions", "is_nvl"))
            return self._same([node.this, *node.expressions], "COALESCE")
        self.truth(node)
        return CellType("truth")

    def truth(self, node: exp.Expression) -> None:
        """Check a condition."""
        if isinstance(node, (exp.Paren, exp.Not)):
            self.truth(node.this)
        elif isinstance(node, (exp.And, exp.Or)):
            self.truth(node.this)
            self.truth(node.expression)
        elif isinstance(node, (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)):
            self._same([node.this, node.expression], "a comparison", comparing=True)
        elif isinstance(node, exp.Between):
            _only(node, ("this", "low", "high"))
            self._same([node.this, node.args["low"], node.args["high"]], "BETWEEN", comparing=True)
        elif isinstance(node, exp.In):
            if node.args.get("query") is not None:
                refuse("a sub-select in IN")
            _only(node, ("this", "expressions"))
            self._same([node.this, *node.expressions], "IN", comparing=True)
        elif isinstance(node, exp.Is):
            kind = self.value(node.this)
            if not isinstance(node.expression, (exp.Null, exp.Boolean)):
                refuse("IS with something other than NULL, TRUE or FALSE")
            if isinstance(node.expression, exp.Boolean) and kind is not None and kind.family != "truth":
                refuse("IS TRUE or IS FALSE of something that is not boolean")  # DuckDB would cast each cell
        elif isinstance(node, (exp.Column, exp.Boolean)):
            kind = self.value(node)
            if kind is None or kind.family != "truth":
                refuse("a condition that is not boolean")
        else:
            refuse(_name_of_construct(node))

    def _column(self, node: exp.Column) -> CellType:
        if not isinstance(node.this, exp.Identifier):
            refuse("* within an expression")
        _only(node, ("this", "table"))
        self._drop_qualifier(node)
        name = node.name.lower() if self.dialect == "duckdb" else node.name
        kind = self.columns.get(name)
        if kind is None:  # includes ctid and rowid, which depend on the places of other rows
            raise DataError(f"the table of the query has no column '{node.name}'", found=node.name, known=self.columns)
        return kind

    def _drop_qualifier(self, node: exp.Expression) -> None:
        """Turn ``t.a`` into ``a``. In DuckDB, ``t`` could also be a column, and ``a`` a field of it with another type."""
        qualifier = node.text("table")
        same = qualifier.lower() == self.table.lower() if self.dialect == "duckdb" else qualifier == self.table
        if qualifier and not same:
            raise DataError("a query can name only columns of its table", found=f"'{qualifier}', which is not the table",
                            remedy=f"leave it out, or write {self.table} there")
        node.set("table", None)

    def _case(self, node: exp.Case) -> CellType | None:
        _only(node, ("this", "ifs", "default"))
        results = [branch.args["true"] for branch in node.args["ifs"]]
        if node.this is not None:
            self._same([node.this, *(branch.this for branch in node.args["ifs"])], "CASE", comparing=True)
        else:
            for branch in node.args["ifs"]:
                self.truth(branch.this)
        default = node.args.get("default")
        return self._same([*results, *([] if default is None else [default])], "CASE")

    def _same(self, nodes: Sequence[exp.Expression], where: str, *, comparing: bool = False) -> CellType | None:
        """The common type of values that are combined. No column may need a cast."""
        kinds = [self.value(node) for node in nodes]
        known = [kind for kind in kinds if kind is not None]
        names = sorted({kind.name for kind in known if kind.name})
        if len(names) > 1:
            refuse(f"{where} of columns of different types ({', '.join(names)})")
        column = next((kind for kind in known if kind.name), None)
        met = column or next((kind for kind in known if kind.family == "fraction"), None) or next(iter(known), None)
        for node, kind in zip(nodes, kinds, strict=True):
            if met is not None and kind is not None and not kind.name:
                self._fit(node, kind, met, where, comparing=comparing)
        return met

    def _fit(self, node: exp.Expression, constant: CellType, column: CellType, where: str, *, comparing: bool) -> None:
        """Refuse a constant for which the database would cast a column, or that could fail once a row reaches it."""
        numbers = ("integer", "fraction")
        if constant.family in numbers and column.family in numbers:
            if self.dialect == "duckdb":
                _as_double(node, column)
        elif constant.family == "text" and column.family not in ("text", "truth", *numbers) and comparing and _is_constant(node):
            if self.dialect == "duckdb":  # PostgreSQL checks it when it parses the query
                self.constants.append(f"CAST({node.sql(dialect=self.dialect)} AS {column.name})")
        elif constant.family != column.family:
            words = {"text": "a text", "truth": "true or false", "other": "another type"}
            met = column.name or words.get(column.family, "a number")
            refuse(f"{where} of {words.get(constant.family, 'a number')} with {met}")


def _as_double(node: exp.Expression, column: CellType) -> None:
    """Write a constant as a double. For a decimal constant DuckDB would cast the column, or another constant, to a decimal that
    may not hold it."""
    for literal in node.find_all(exp.Literal):
        text = literal.this
        if text.isdigit() and column.family == "integer":
            if int(text) > LARGEST_INTEGER:
                refuse("a whole number with more than 64 bits")
        elif not literal.is_string and "e" not in text.lower():
            literal.set("this", text + "e0")


def _is_constant(node: exp.Expression) -> bool:
    return isinstance(node, (exp.Literal, exp.Boolean)) or (
        isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string)


def _constant_type(node: exp.Expression) -> CellType:
    if isinstance(node, exp.Boolean):
        return CellType("truth")
    literal = node.this if isinstance(node, exp.Neg) else node
    return CellType("text" if literal.is_string else "integer" if literal.this.isdigit() else "fraction")


def _name_of_construct(node: exp.Expression) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        (exp.Window, "a window function"),
        (exp.AggFunc, "an aggregate ({})"),
        ((exp.Query, exp.Exists), "a sub-select"),
        (exp.Cast, "a cast"),
        (exp.Anonymous, "the function {}"),
        ((exp.Binary, exp.Neg), "the operator {}"),
        (exp.Func, "the function {}"),
    )
    name = node.name if isinstance(node, exp.Anonymous) else node.key
    return next((words.format(name.upper()) for kind, words in kinds if isinstance(node, kind)), name.upper())
