-- The five transactions.  Tables are addressed by plain names, and variables
-- take the columns' types, so that any stage's schema can stand behind them.

-- C_LAST of clause 4.3.2.3: three syllables for a number from 0 to 999.
CREATE FUNCTION tpcc_last_name(number integer) RETURNS varchar
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[number / 100 + 1]
    || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[number / 10 % 10 + 1]
    || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[number % 10 + 1];

-- The customer by number, or by last name: the middle one, rounded up, in the order of first names.
CREATE FUNCTION tpcc_find_customer(warehouse_no integer, district_no integer, customer_no integer, name_no integer)
RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    wanted customer.c_last%TYPE;
    found_id integer;
BEGIN
    IF customer_no > 0 THEN
        RETURN customer_no;
    END IF;
    wanted := tpcc_last_name(name_no);
    SELECT named.c_id INTO found_id
    FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS position, count(*) OVER () AS total
          FROM customer
          WHERE c_w_id = warehouse_no AND c_d_id = district_no AND c_last = wanted) AS named
    WHERE named.position = (named.total + 1) / 2;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no customer "%" in warehouse %, district %', wanted, warehouse_no, district_no;
    END IF;
    RETURN found_id;
END
$$;

-- New-Order, clause 2.4.  "complete" is 0 when an item does not exist: then the
-- caller rolls back.  Lines are worked off in item order, because two orders
-- that took the same stock rows in different order would deadlock.
CREATE FUNCTION tpcc_new_order(warehouse_no integer, district_no integer, customer_no integer, lines integer,
    items integer[], suppliers integer[], quantities integer[], OUT complete integer, OUT total numeric)
LANGUAGE plpgsql AS $$
DECLARE
    order_no district.d_next_o_id%TYPE;
    warehouse_tax warehouse.w_tax%TYPE;
    district_tax district.d_tax%TYPE;
    discount customer.c_discount%TYPE;
    last_name customer.c_last%TYPE;
    credit customer.c_credit%TYPE;
    price item.i_price%TYPE;
    item_name item.i_name%TYPE;
    item_data item.i_data%TYPE;
    stock_data stock.s_data%TYPE;
    dist_info stock.s_dist_01%TYPE;
    all_local integer := 1;
    line record;
BEGIN
    complete := 0;
    total := 0;
    FOR i IN 1 .. lines LOOP
        IF suppliers[i] <> warehouse_no THEN
            all_local := 0;
        END IF;
    END LOOP;

    SELECT w_tax INTO STRICT warehouse_tax FROM warehouse WHERE w_id = warehouse_no;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = warehouse_no AND d_id = district_no
    RETURNING d_next_o_id - 1, d_tax INTO STRICT order_no, district_tax;
    SELECT c_discount, c_last, c_credit INTO STRICT discount, last_name, credit
    FROM customer WHERE c_w_id = warehouse_no AND c_d_id = district_no AND c_id = customer_no;

    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (order_no, district_no, warehouse_no, customer_no, localtimestamp, NULL, lines, all_local);
    INSERT INTO new_order (no_o_id, no_w_id, no_d_id) VALUES (order_no, warehouse_no, district_no);

    FOR line IN
        SELECT item_id, supplier, quantity, number
        FROM unnest(items[1:lines], suppliers[1:lines], quantities[1:lines])
            WITH ORDINALITY AS chosen (item_id, supplier, quantity, number)
        ORDER BY item_id, supplier
    LOOP
        SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = line.item_id;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        UPDATE stock
        SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                              ELSE s_quantity - line.quantity + 91 END,
            s_ytd = s_ytd + line.quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN line.supplier = warehouse_no THEN 0 ELSE 1 END
        WHERE s_i_id = line.item_id AND s_w_id = line.supplier
        RETURNING s_data,
            CASE district_no WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        INTO STRICT stock_data, dist_info;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_quantity, ol_amount, ol_dist_info)
        VALUES (order_no, district_no, warehouse_no, line.number, line.item_id, line.supplier,
            line.quantity, line.quantity * price, dist_info);
        total := total + line.quantity * price;
    END LOOP;
    total := total * (1 - discount) * (1 + warehouse_tax + district_tax);
    complete := 1;
END
$$;

-- Payment, clause 2.5.  customer_no 0 means: by last name.  C_DATA is retrieved
-- only if the credit is bad (2.5.2.2).
CREATE FUNCTION tpcc_payment(warehouse_no integer, district_no integer, customer_warehouse integer,
    customer_district integer, customer_no integer, name_no integer, amount integer)
RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
    warehouse_name warehouse.w_name%TYPE;
    district_name district.d_name%TYPE;
    found_id customer.c_id%TYPE;
    credit customer.c_credit%TYPE;
    balance customer.c_balance%TYPE;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_no RETURNING w_name INTO STRICT warehouse_name;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_no AND d_id = district_no
    RETURNING d_name INTO STRICT district_name;
    found_id := tpcc_find_customer(customer_warehouse, customer_district, customer_no, name_no);
    SELECT c_credit INTO STRICT credit
    FROM customer WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = found_id FOR UPDATE;
    IF credit = 'BC' THEN
        UPDATE customer
        SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1,
            c_data = left(format('%s %s %s %s %s %s|%s', found_id, customer_district, customer_warehouse,
                                 district_no, warehouse_no, amount, c_data), 500)
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = found_id
        RETURNING c_balance INTO STRICT balance;
    ELSE
        UPDATE customer
        SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = found_id
        RETURNING c_balance INTO STRICT balance;
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (found_id, customer_district, customer_warehouse, district_no, warehouse_no, localtimestamp, amount,
        warehouse_name || '    ' || district_name);
    RETURN balance;
END
$$;

-- Order-Status, clause 2.6: the lines of the customer's last order.
CREATE FUNCTION tpcc_order_status(warehouse_no integer, district_no integer, customer_no integer, name_no integer)
RETURNS TABLE (balance numeric, order_no integer, carrier integer, item_no integer, supplier integer,
    quantity integer, amount numeric, delivered timestamp)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id integer;
BEGIN
    found_id := tpcc_find_customer(warehouse_no, district_no, customer_no, name_no);
    SELECT c_balance INTO STRICT balance
    FROM customer WHERE c_w_id = warehouse_no AND c_d_id = district_no AND c_id = found_id;
    SELECT o_id, o_carrier_id INTO order_no, carrier
    FROM orders WHERE o_w_id = warehouse_no AND o_d_id = district_no AND o_c_id = found_id
    ORDER BY o_id DESC LIMIT 1;
    FOR item_no, supplier, quantity, amount, delivered IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
        FROM order_line WHERE ol_w_id = warehouse_no AND ol_d_id = district_no AND ol_o_id = order_no
    LOOP
        RETURN NEXT;
    END LOOP;
END
$$;

-- Delivery, clause 2.7: the oldest new order of each of ten districts.  Returns how many there were.
CREATE FUNCTION tpcc_delivery(warehouse_no integer, carrier integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    order_no new_order.no_o_id%TYPE;
    customer_no orders.o_c_id%TYPE;
    amount numeric;
    delivered integer := 0;
BEGIN
    FOR district_no IN 1 .. 10 LOOP
        -- Another Delivery may have taken the oldest one meanwhile; then FOR UPDATE moves on to the next.
        SELECT no_o_id INTO order_no FROM new_order
        WHERE no_w_id = warehouse_no AND no_d_id = district_no
        ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = warehouse_no AND no_d_id = district_no AND no_o_id = order_no;
        UPDATE orders SET o_carrier_id = carrier
        WHERE o_w_id = warehouse_no AND o_d_id = district_no AND o_id = order_no
        RETURNING o_c_id INTO STRICT customer_no;
        UPDATE order_line SET ol_delivery_d = localtimestamp
        WHERE ol_w_id = warehouse_no AND ol_d_id = district_no AND ol_o_id = order_no;
        SELECT sum(ol_amount) INTO STRICT amount FROM order_line
        WHERE ol_w_id = warehouse_no AND ol_d_id = district_no AND ol_o_id = order_no;
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = warehouse_no AND c_d_id = district_no AND c_id = customer_no;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END
$$;

-- Stock-Level, clause 2.8: items of the district's last 20 orders whose stock is low.
CREATE FUNCTION tpcc_stock_level(warehouse_no integer, district_no integer, threshold integer) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    next_order district.d_next_o_id%TYPE;
    low bigint;
BEGIN
    SELECT d_next_o_id INTO STRICT next_order FROM district WHERE d_w_id = warehouse_no AND d_id = district_no;
    SELECT count(DISTINCT s_i_id) INTO STRICT low
    FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = warehouse_no AND ol_d_id = district_no
        AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
        AND s_quantity < threshold;
    RETURN low;
END
$$;
