/* compact_types/compact_types--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION compact_types" to load this file. \quit

-- Creates the type compact_charN, N = length in bytes, with all its operators
-- in the current schema, and returns it.  Made to be called by the script of
-- the extension compact_charN; called elsewhere, it creates that extension.
CREATE FUNCTION create_char(length int4) RETURNS regtype
AS 'MODULE_PATHNAME', 'compact_types_create_char'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION create_char(int4) IS
'create the fixed-length string type compact_charN of the given length in bytes';

-- text against bpchar: members that complete the operator families of the
-- compact types.  They mean what core's implicit cast means, and stay in this
-- schema, so that no query picks them by itself.

CREATE FUNCTION text_bpchar_lt(text, bpchar) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_lt'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.< (
    FUNCTION = text_bpchar_lt, LEFTARG = text, RIGHTARG = bpchar,
    COMMUTATOR = OPERATOR(@extschema@.>), NEGATOR = OPERATOR(@extschema@.>=),
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);

CREATE FUNCTION text_bpchar_le(text, bpchar) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_le'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.<= (
    FUNCTION = text_bpchar_le, LEFTARG = text, RIGHTARG = bpchar,
    COMMUTATOR = OPERATOR(@extschema@.>=), NEGATOR = OPERATOR(@extschema@.>),
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);

CREATE FUNCTION text_bpchar_eq(text, bpchar) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_eq'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.= (
    FUNCTION = text_bpchar_eq, LEFTARG = text, RIGHTARG = bpchar,
    COMMUTATOR = OPERATOR(@extschema@.=), NEGATOR = OPERATOR(@extschema@.<>),
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);

CREATE FUNCTION text_bpchar_ge(text, bpchar) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_ge'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.>= (
    FUNCTION = text_bpchar_ge, LEFTARG = text, RIGHTARG = bpchar,
    COMMUTATOR = OPERATOR(@extschema@.<=), NEGATOR = OPERATOR(@extschema@.<),
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);

CREATE FUNCTION text_bpchar_gt(text, bpchar) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_gt'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.> (
    FUNCTION = text_bpchar_gt, LEFTARG = text, RIGHTARG = bpchar,
    COMMUTATOR = OPERATOR(@extschema@.<), NEGATOR = OPERATOR(@extschema@.<=),
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);

CREATE FUNCTION text_bpchar_ne(text, bpchar) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_ne'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.<> (
    FUNCTION = text_bpchar_ne, LEFTARG = text, RIGHTARG = bpchar,
    COMMUTATOR = OPERATOR(@extschema@.<>), NEGATOR = OPERATOR(@extschema@.=),
    RESTRICT = neqsel, JOIN = neqjoinsel
);

CREATE FUNCTION text_bpchar_cmp(text, bpchar) RETURNS int4
AS 'MODULE_PATHNAME', 'compact_types_text_bpchar_cmp'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE FUNCTION bpchar_text_lt(bpchar, text) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_lt'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.< (
    FUNCTION = bpchar_text_lt, LEFTARG = bpchar, RIGHTARG = text,
    COMMUTATOR = OPERATOR(@extschema@.>), NEGATOR = OPERATOR(@extschema@.>=),
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);

CREATE FUNCTION bpchar_text_le(bpchar, text) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_le'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.<= (
    FUNCTION = bpchar_text_le, LEFTARG = bpchar, RIGHTARG = text,
    COMMUTATOR = OPERATOR(@extschema@.>=), NEGATOR = OPERATOR(@extschema@.>),
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);

CREATE FUNCTION bpchar_text_eq(bpchar, text) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_eq'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.= (
    FUNCTION = bpchar_text_eq, LEFTARG = bpchar, RIGHTARG = text,
    COMMUTATOR = OPERATOR(@extschema@.=), NEGATOR = OPERATOR(@extschema@.<>),
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);

CREATE FUNCTION bpchar_text_ge(bpchar, text) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_ge'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.>= (
    FUNCTION = bpchar_text_ge, LEFTARG = bpchar, RIGHTARG = text,
    COMMUTATOR = OPERATOR(@extschema@.<=), NEGATOR = OPERATOR(@extschema@.<),
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);

CREATE FUNCTION bpchar_text_gt(bpchar, text) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_gt'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.> (
    FUNCTION = bpchar_text_gt, LEFTARG = bpchar, RIGHTARG = text,
    COMMUTATOR = OPERATOR(@extschema@.<), NEGATOR = OPERATOR(@extschema@.<=),
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);

CREATE FUNCTION bpchar_text_ne(bpchar, text) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_ne'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

CREATE OPERATOR @extschema@.<> (
    FUNCTION = bpchar_text_ne, LEFTARG = bpchar, RIGHTARG = text,
    COMMUTATOR = OPERATOR(@extschema@.<>), NEGATOR = OPERATOR(@extschema@.=),
    RESTRICT = neqsel, JOIN = neqjoinsel
);

CREATE FUNCTION bpchar_text_cmp(bpchar, text) RETURNS int4
AS 'MODULE_PATHNAME', 'compact_types_bpchar_text_cmp'
LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
