"""Run queries on a narrow column and on a wide column, with parameters that have no type.

usage: compact_types_literal.py CONNINFO < JSON

The input is a list of {"n": query of the narrow column, "w": the same query of the wide column,
"parameters": {name: value}}.  Print each case whose results differ, unless only the narrow query
fails.  At the end, print how many results were equal, and how many queries only the narrow type
refused.  A case with "expected" instead of "w" must have this result, or this SQLSTATE.
"""

import json
import sys

import psycopg


def outcome(connection, query, parameters, sqlstate=False):
    """Return the first value, or the number of rows if the query returns no row.

    For an error, return the SQLSTATE if sqlstate is true, else None.
    """
    try:
        # psycopg 3 sends a string as a parameter without a type, which the server binds
        cursor = connection.execute(query, parameters)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else cursor.rowcount
    except psycopg.DatabaseError as error:
        return error.sqlstate if sqlstate else None


def main():
    """Compare the results of all cases."""
    equal = refused = 0
    with psycopg.connect(sys.argv[1], autocommit=True) as connection:
        connection.prepare_threshold = 2
        for case in json.load(sys.stdin):
            narrow = outcome(connection, case["n"], case["parameters"], "expected" in case)
            if "expected" in case:
                if narrow == case["expected"]:
                    equal += 1
                else:
                    print(
                        f"{narrow} instead of {case['expected']}: {case['n']} with {case['parameters']}"
                    )
                continue
            wide = outcome(connection, case["w"], case["parameters"])
            if narrow == wide:
                equal += 1
            elif narrow is None:
                refused += 1
            else:
                print(f"{narrow} instead of {wide}: {case['n']} with {case['parameters']}")
    print(f"{equal} equal, {refused} refused")


if __name__ == "__main__":
    main()
