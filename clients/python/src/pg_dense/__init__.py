"""Adapters for the types of the extension compact_types, and for split tables.

Each library has a module of its own: pg_dense.psycopg, pg_dense.sqlalchemy, pg_dense.django and
pg_dense.asyncpg.  This module imports none of these libraries.
"""
