"""The differences for a ledger in PostgreSQL; the statements are those of `store`."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from noisewise.errors import PrivacyError

LOCK: Final = 727071
"""Number of the lock that every writer holds, shared by all noisewise ledgers in one database."""

BEGIN: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",  # so that reads after waiting for the lock are not older than the lock
    "SET LOCAL synchronous_commit = on",
    f"SELECT pg_advisory_xact_lock({LOCK})",
)

GUARDS: Final = (
    "CREATE OR REPLACE FUNCTION noisewise_only_added() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'a ledger can only be added to'; END $$",
    *(f"CREATE OR REPLACE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
      " FOR EACH STATEMENT EXECUTE FUNCTION noisewise_only_added()" for table in ("noisewise_entries", "noisewise_files")),
)

KEPT_OPTIONS: Final = ("application_name", "channel_binding", "connect_timeout", "dbname", "gssencmode", "host", "hostaddr",
                       "options", "passfile", "port", "require_auth", "service", "sslcert", "sslkey", "sslmode", "sslrootcert",
                       "target_session_attrs", "user")
"""Options of an address that hold no secret: where the server is, and how secure the connection must be."""


def without_password(address: str) -> str:
    """The address as it may be shown. Anything before the last @ may belong to a password that was not encoded.

    >>> without_password("postgresql://ann:s/cr@t@server/ledgers?sslmode=require&password=x")
    'postgresql://ann@server/ledgers'
    >>> without_password("postgresql://server/ledgers?password=s@cret")
    'postgresql://...'
    """
    scheme, _, rest = address.partition("://")
    account, at, place = rest.rpartition("@")
    if "?" in account:  # an @ among the options: what follows it may also belong to a password
        return f"{scheme}://..."
    return f"{scheme}://{account.partition(':')[0]}{at}{place.partition('?')[0]}"


def to_be_stored(address: str) -> str:
    """The address as it may be stored, for use with a password in PGPASSWORD or a password file.

    >>> to_be_stored("postgresql://ann:secret@server/ledgers?sslmode=require&password=x")
    'postgresql://ann@server/ledgers?sslmode=require'
    """
    shown = without_password(address)
    options = address.rpartition("@")[2].partition("?")[2].split("&")
    kept = "&".join(option for option in options if option.partition("=")[0] in KEPT_OPTIONS)
    return f"{shown}?{kept}" if kept and not shown.endswith("://...") else shown


def driver() -> ModuleType:
    """The package psycopg."""
    try:
        import psycopg
    except ImportError:
        raise PrivacyError("a ledger in PostgreSQL needs the package psycopg", found="not installed",
                           remedy="install noisewise[postgres]") from None
    return psycopg
