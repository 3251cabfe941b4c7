CREATE PROCEDURE bench_insert(cycles integer)
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cycles LOOP
        INSERT INTO bench_log (counter, filler) VALUES (i, repeat('x', 73));
        COMMIT;
    END LOOP;
END
$$;
