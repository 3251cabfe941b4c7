"""
Functions that a program calls once for each connection of the driver.

A program that uses the package of clients/python reads compact types as the wide types.
"""


def none(conn):
    """Leave the driver as it is."""


def package(conn):
    """Make the compact types known."""
    from pg_dense.psycopg import register

    register(conn)
