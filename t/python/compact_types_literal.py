"""Run queries of a narrow column and of its wide twin with parameters that have no type.

usage: compact_types_literal.py CONNINFO < JSON

Input: a list of {"n": query, "w": query of the twin, "parameters": {name: value}}.
Prints each case whose results differ, unless the narrow query alone is an error; at the
end, how many were equal, and how many only the narrow type refused.  A case with
"expected" instead of a twin must have this result, or SQLSTATE.
"""

import json
import sys

import psycopg


def outcome(connection, query, parameters, sqlstate=False):
    """Return the first value, the number of rows if there is none, or None for an error.

    With sqlstate, the SQLSTATE of the error.
    """
    try:
        # a string has no type for psycopg 3, and is bound by the server
        cursor = connection.execute(query, parameters)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else cursor.rowcount
    except psycopg.DatabaseError as error:
        return error.sqlstate if sqlstate else None


def main():
    """Compare all cases."""
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
