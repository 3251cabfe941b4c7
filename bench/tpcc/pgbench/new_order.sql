\set w random(1, :warehouses)
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, :customers)) + :c_customer) % :customers + 1
\set lines random(5, 15)
\set rolls_back random(1, 100)
{% for n in range(1, 16) %}
\set i{{ n }} ((random(0, 8191) | random(1, :items)) + :c_item) % :items + 1
\set s{{ n }} case when :warehouses > 1 and random(1, 100) = 1 then (:w - 1 + random(1, greatest(:warehouses - 1, 1))) % :warehouses + 1 else :w end
\set q{{ n }} random(1, 10)
{%- if n >= 5 %}
\set i{{ n }} case when :rolls_back = 1 and :lines = {{ n }} then :items + 1 else :i{{ n }} end
{%- endif %}
{%- endfor %}
BEGIN;
SELECT complete FROM tpcc_new_order(:w, :d, :c, :lines,
    ARRAY[{% for n in range(1, 16) %}:i{{ n }}{{ ", " if not loop.last }}{% endfor %}]::integer[],
    ARRAY[{% for n in range(1, 16) %}:s{{ n }}{{ ", " if not loop.last }}{% endfor %}]::integer[],
    ARRAY[{% for n in range(1, 16) %}:q{{ n }}{{ ", " if not loop.last }}{% endfor %}]::integer[]) \gset
\if :complete
COMMIT;
\else
ROLLBACK;
\endif
