"""Public declarations: what everybody may know about a table before anyone looks at it.

Columns with their bounds or levels, who counts as one person, what "neighbouring" means, and the arithmetic that turns a
formula into columns with known bounds. Nothing in this room reads a row or learns anything from one; the arithmetic of a
column is defined here so that both sides of the wall compute the same number, and so are the other pure formulas that both need.
"""

from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import Categorical, Column, Numeric
from noisewise.schema.design import Design
from noisewise.schema.polynomial import Factor
from noisewise.schema.schema import Schema, Unit

__all__ = ["Basis", "BasisColumn", "Categorical", "Column", "Design", "Factor", "Numeric", "Schema", "Unit"]
