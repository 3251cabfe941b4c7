-- Return the type of the expression, or the SQLSTATE of its error.
CREATE FUNCTION resolve(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE 'SELECT pg_typeof(' || expression || ')' INTO result;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
