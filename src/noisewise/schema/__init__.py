"""Public declarations: what everyone may know about a table before anyone looks at it.

Columns with their bounds or levels, who counts as one person, what "neighbouring" means, and the arithmetic that turns a
formula into columns with known bounds. Nothing in this room reads a row or learns anything from one. The arithmetic of columns
and other pure formulas are defined here so that both sides of the wall compute the same numbers.
"""

from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import Categorical, Column, Numeric
from noisewise.schema.design import Design
from noisewise.schema.polynomial import Factor
from noisewise.schema.schema import Schema, Unit

__all__ = ["Basis", "BasisColumn", "Categorical", "Column", "Design", "Factor", "Numeric", "Schema", "Unit"]
