-- Return true if the plan of the query matches the pattern.  Show a plan that is not as expected.
CREATE FUNCTION plan_has(query text, pattern text, expected bool DEFAULT true) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    plan := plan || line || E'\n';
  END LOOP;
  IF (plan ~ pattern) <> expected THEN
    RAISE NOTICE '%: %', query, plan;
  END IF;
  RETURN plan ~ pattern;
END $$;
