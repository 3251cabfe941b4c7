-- Operations on bench_rows, each in a transaction of its own and without a
-- round trip to the client, which takes longer than the operation.
CREATE PROCEDURE bench_mixed(cycles integer, rows integer, seed integer)
LANGUAGE plpgsql AS $$
DECLARE
    k integer;
    gone integer;
BEGIN
    -- The same rows in every run that is given the same seeds.
    PERFORM setseed(seed / 2000000000.0);
    FOR i IN 1 .. cycles LOOP
        k := 2 * (1 + floor(random() * rows)::integer);
        DELETE FROM bench_rows WHERE id IN (k, k + 1) RETURNING id INTO gone;
        COMMIT;
        -- None, if another session is just replacing it.
        IF gone IS NOT NULL THEN
            INSERT INTO bench_rows VALUES (k + k + 1 - gone, 0, repeat('x', 73));
            COMMIT;
        END IF;
        k := 2 * (1 + floor(random() * rows)::integer);
        UPDATE bench_rows SET counter = counter + 1 WHERE id IN (k, k + 1);
        COMMIT;
    END LOOP;
END
$$;

CREATE PROCEDURE bench_uniform(cycles integer, rows integer, seed integer)
LANGUAGE plpgsql AS $$
DECLARE
    k integer;
BEGIN
    -- The same rows in every run that is given the same seeds.
    PERFORM setseed(seed / 2000000000.0);
    FOR i IN 1 .. cycles LOOP
        k := 2 * (1 + floor(random() * rows)::integer);
        UPDATE bench_rows SET counter = counter + 1 WHERE id = k;
        COMMIT;
    END LOOP;
END
$$;

CREATE PROCEDURE bench_groups(cycles integer, rows integer, seed integer)
LANGUAGE plpgsql AS $$
DECLARE
    k integer;
BEGIN
    -- The same rows in every run that is given the same seeds.
    PERFORM setseed(seed / 2000000000.0);
    FOR i IN 1 .. cycles LOOP
        k := 2 * (1 + floor(random() * (rows - 9))::integer);
        UPDATE bench_rows SET counter = counter + 1 WHERE id BETWEEN k AND k + 18;
        COMMIT;
    END LOOP;
END
$$;
