/*-------------------------------------------------------------------------
 *
 * compact_advise_native.c
 *	  Find columns of strings that are values of one of PostgreSQL's own types.
 *
 * A UUID takes 16 bytes as uuid, 18 as compact_text and 37 as text.  The
 * advice names such a type if the type would write every examined value in the
 * same way, so that clients read the strings that they have stored.  convert()
 * does not change a column to such a type, because drivers then see another
 * type, and the application must be ready for this type.
 *
 * The values are checked here and not by the types' input functions, because
 * the advice would have to catch an error of these functions for each value
 * that does not fit.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_native.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "port.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "compact_advise.h"

/*
 * propose an enum for at most this many labels, and at least this many values
 */
#define MAX_LABELS			16
#define MIN_ENUM_VALUES		1000
/* size of an enum value */
#define ENUM_BYTES			4
/* buffer size; more than the longest string of inet */
#define INET_STRING			64

/*
 * Return true if the type would write its value as this string; set *bytes to
 * the value's size.
 */
typedef bool (*NativeCheck) (const char *str, int len, int *bytes);

typedef struct NativeType
{
	const char *name;
	NativeCheck check;
	const char *loses;			/* how its values differ from the strings */
} NativeType;

/* Properties of a column's strings. */
struct AdviseNative
{
	uint32		possible;		/* bits: the native_types[] that all strings
								 * fit */
	int64		count;			/* number of strings */
	int64	   *bytes;			/* sum of the sizes for each type */
	int			nlabels;		/* MAX_LABELS + 1 if there are more */
	char		labels[MAX_LABELS][NAMEDATALEN];
};

/*
 * Return true if all characters are digits, and there is at least one digit.
 */
static bool
are_digits(const char *str, int len)
{
	for (int i = 0; i < len; i++)
	{
		if (str[i] < '0' || str[i] > '9')
			return false;
	}

	return len > 0;
}

static int
number_of(const char *str, int len)
{
	int			result = 0;

	for (int i = 0; i < len; i++)
		result = result * 10 + (str[i] - '0');

	return result;
}

/*
 * Return true if the string matches the pattern.  In the pattern, x stands for
 * a hexadecimal digit in lower case, 9 for a decimal digit, and any other
 * character for itself.
 */
static bool
matches(const char *str, int len, const char *pattern)
{
	if (len != (int) strlen(pattern))
		return false;
	for (int i = 0; i < len; i++)
	{
		char		c = str[i];
		bool		digit = (c >= '0' && c <= '9');

		if (pattern[i] == 'x' ? !(digit || (c >= 'a' && c <= 'f')) :
			pattern[i] == '9' ? !digit : c != pattern[i])
			return false;
	}

	return true;
}

static bool
is_uuid(const char *str, int len, int *bytes)
{
	*bytes = 16;

	return matches(str, len, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}

static bool
is_macaddr(const char *str, int len, int *bytes)
{
	*bytes = 6;

	return matches(str, len, "xx:xx:xx:xx:xx:xx");
}

/* Return true if this is an address that core's functions write in the same way. */
static bool
is_address(const char *str, int len, bool cidr, int *bytes)
{
	char		string[INET_STRING];
	char		written[INET_STRING + 8];
	unsigned char address[16] = {0};
	bool		ipv6 = false;
	int			max_bits;
	int			bits;

	if (len < 2 || len >= INET_STRING)
		return false;
	for (int i = 0; i < len; i++)
	{
		if (!matches(str + i, 1, "x") && strchr(".:/", str[i]) == NULL)
			return false;
		ipv6 = ipv6 || str[i] == ':';
	}
	memcpy(string, str, len);
	string[len] = '\0';
	max_bits = ipv6 ? 128 : 32;
	bits = pg_inet_net_pton(ipv6 ? PGSQL_AF_INET6 : PGSQL_AF_INET, string, address,
							cidr ? (int) sizeof(address) : -1);
	if (bits < 0 || bits > max_bits ||
		pg_inet_net_ntop(ipv6 ? PGSQL_AF_INET6 : PGSQL_AF_INET, address, bits,
						 written, INET_STRING) == NULL)
		return false;
	if (cidr)
	{
		for (int bit = bits; bit < max_bits; bit++)
		{
			if (address[bit / 8] & (0x80 >> bit % 8))
				return false;
		}
		if (strchr(written, '/') == NULL)
			snprintf(written + strlen(written), 8, "/%d", bits);
	}
	/* three bytes: the header, the family and the number of bits */
	*bytes = 3 + max_bits / 8;

	return strcmp(string, written) == 0;
}

static bool
is_cidr(const char *str, int len, int *bytes)
{
	return is_address(str, len, true, bytes);
}

static bool
is_inet(const char *str, int len, int *bytes)
{
	return is_address(str, len, false, bytes);
}

static bool
is_date(const char *str, int len, int *bytes)
{
	int			year;
	int			month;
	int			day;

	*bytes = sizeof(int32);
	if (!matches(str, len, "9999-99-99"))
		return false;
	year = number_of(str, 4);
	month = number_of(str + 5, 2);
	day = number_of(str + 8, 2);

	return year > 0 && month > 0 && month <= MONTHS_PER_YEAR &&
		day > 0 && day <= day_tab[isleap(year)][month - 1];
}

static bool
is_timestamp(const char *str, int len, int *bytes)
{
	int			seconds_len = (int) strlen("9999-99-99 99:99:99");

	if (len < seconds_len || !is_date(str, 10, bytes) ||
		!matches(str + 10, seconds_len - 10, " 99:99:99") ||
		number_of(str + 11, 2) >= HOURS_PER_DAY ||
		number_of(str + 14, 2) >= MINS_PER_HOUR ||
		number_of(str + 17, 2) >= SECS_PER_MINUTE)
		return false;
	*bytes = sizeof(int64);

	/* trailing zeros of a fraction are not written */
	return len == seconds_len ||
		(str[seconds_len] == '.' && len <= seconds_len + 1 + MAX_TIMESTAMP_PRECISION &&
		 are_digits(str + seconds_len + 1, len - seconds_len - 1) && str[len - 1] != '0');
}

/*
 * Return the number of base-10000 digits from one exponent of ten down to
 * another.
 */
static int
digit_groups(int first, int last)
{
	/* the offset makes the quotients round toward negative infinity */
	return (first + (1 << 20)) / 4 - (last + (1 << 20)) / 4 + 1;
}

static bool
is_numeric(const char *str, int len, int *bytes)
{
	int			whole = 0;
	int			fraction = 0;
	int			first = 0;
	int			last = 0;
	bool		zero = true;
	bool		negative = (len > 0 && str[0] == '-');

	if (negative)
	{
		str++;
		len--;
	}
	while (whole < len && str[whole] != '.')
		whole++;
	if (!are_digits(str, whole) || (whole > 1 && str[0] == '0'))
		return false;
	if (whole < len)
	{
		fraction = len - whole - 1;
		if (!are_digits(str + whole + 1, fraction))
			return false;
	}
	for (int i = 0; i < len; i++)
	{
		/* exponent of ten of the digit */
		int			exponent = i < whole ? whole - 1 - i : whole - i;

		if (str[i] == '.' || str[i] == '0')
			continue;
		if (zero)
			first = exponent;
		last = exponent;
		zero = false;
	}
	/* the short format has weight and scale in two bytes */
	*bytes = (first / 4 < 64 && fraction < 64 ? 2 : 4) + (zero ? 0 : 2 * digit_groups(first, last));
	*bytes += *bytes <= 126 ? 1 : VARHDRSZ;

	/* there is no negative zero */
	return !(negative && zero);
}

static bool
is_integer_within(const char *str, int len, int64 min, int64 max)
{
	char		string[24];
	int64		value;
	int			ignored;

	if (len >= (int) sizeof(string) || !is_numeric(str, len, &ignored) || memchr(str, '.', len) != NULL)
		return false;
	memcpy(string, str, len);
	string[len] = '\0';
	errno = 0;
	value = strtoi64(string, NULL, 10);

	return errno == 0 && value >= min && value <= max;
}

static bool
is_integer(const char *str, int len, int *bytes)
{
	*bytes = sizeof(int32);

	return is_integer_within(str, len, PG_INT32_MIN, PG_INT32_MAX);
}

static bool
is_bigint(const char *str, int len, int *bytes)
{
	*bytes = sizeof(int64);

	return is_integer_within(str, len, PG_INT64_MIN, PG_INT64_MAX);
}

/* The types that strings can fit, in order of preference. */
static const NativeType native_types[] = {
	{"uuid", is_uuid, "it writes lower case and no braces"},
	{"macaddr", is_macaddr, "it writes lower case and colons"},
	{"cidr", is_cidr, "it refuses addresses with bits to the right of the netmask"},
	{"inet", is_inet, "a cast to text adds the netmask, host() does not"},
	{"date", is_date, "it writes this form if DateStyle is ISO"},
	{"timestamp", is_timestamp, "it writes this form if DateStyle is ISO"},
	{"integer", is_integer, "it sorts as numbers, and drops leading zeros"},
	{"bigint", is_bigint, "it sorts as numbers, and drops leading zeros"},
	{"numeric", is_numeric, "it sorts as numbers, and drops leading zeros"}
};

/* Make a record of a column's strings, in the current memory context. */
AdviseNative *
compact_advise_native_make(void)
{
	AdviseNative *native = palloc0(sizeof(AdviseNative));

	native->possible = ((uint32) 1 << lengthof(native_types)) - 1;
	native->bytes = palloc0(sizeof(int64) * lengthof(native_types));

	return native;
}

static void
look_at_label(AdviseNative *native, const char *str, int len)
{
	if (len >= NAMEDATALEN)
		native->nlabels = MAX_LABELS + 1;
	for (int i = 0; i < native->nlabels && i < MAX_LABELS; i++)
	{
		if (strncmp(native->labels[i], str, len) == 0 && native->labels[i][len] == '\0')
			return;
	}
	if (native->nlabels < MAX_LABELS)
	{
		memcpy(native->labels[native->nlabels], str, len);
		native->labels[native->nlabels][len] = '\0';
	}
	if (native->nlabels <= MAX_LABELS)
		native->nlabels++;
}

/* Examine one of the strings; a char(n) must come without its padding. */
void
compact_advise_native_look(AdviseNative *native, const char *str, int len)
{
	native->count++;
	for (int i = 0; native->possible >> i != 0; i++)
	{
		int			bytes = 0;

		if (!(native->possible & (uint32) 1 << i))
			continue;
		if (native_types[i].check(str, len, &bytes))
			native->bytes[i] += bytes;
		else
			native->possible &= ~((uint32) 1 << i);
	}
	if (native->nlabels <= MAX_LABELS)
		look_at_label(native, str, len);
}

/* Rule out all native types, after a string that fits none of them. */
void
compact_advise_native_rule_out(AdviseNative *native)
{
	native->possible = 0;
	native->nlabels = MAX_LABELS + 1;
}

static int
compare_labels(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Append the ALTER TABLE that changes the column to the type. */
static void
append_alter_table(StringInfo buf, const Advice *advice, const AdviseColumn *column,
				   const char *type)
{
	Relation	rel = advice->rel;
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	const char *name = quote_identifier(NameStr(column->att->attname));
	const char *through = "";
	char	   *expression = NULL;

	/* input functions do not accept the padding of char(n) */
	if (column->att->atttypid == BPCHAROID)
		through = "::text";
	for (int d = 0; constr && d < constr->num_defval; d++)
	{
		if (constr->defval[d].adnum == column->att->attnum)
			expression = deparse_expression(stringToNode(constr->defval[d].adbin),
											deparse_context_for(RelationGetRelationName(rel),
																RelationGetRelid(rel)),
											false, false);
	}
	appendStringInfo(buf, "ALTER TABLE %s ",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	/* PostgreSQL does not cast the default to the new type by itself */
	if (expression)
		appendStringInfo(buf, "ALTER %s DROP DEFAULT, ", name);
	appendStringInfo(buf, "ALTER %s TYPE %s USING %s%s::%s", name, type, name, through, type);
	if (expression)
		appendStringInfo(buf, ", ALTER %s SET DEFAULT (%s)%s::%s", name, expression, through, type);
}

/*
 * Return the first of PostgreSQL's own types that takes less space than the
 * strings do now, with the statement that changes the column to this type.
 * Return NULL if there is no such type.  The result is in the memory of the
 * advice.  The search_path must be that of compact_ddl_set_gucs().
 */
char *
compact_advise_native_type(Advice *advice, const AdviseColumn *column)
{
	AdviseNative *native = column->native;
	MemoryContext oldcxt;
	StringInfoData buf;
	double		now;

	if (native == NULL || native->count == 0 || column->nvalues == 0 ||
		column->att->attgenerated != '\0')
		return NULL;
	now = (double) column->bytes_now / column->nvalues;
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	initStringInfo(&buf);
	for (int i = 0; i < (int) lengthof(native_types) && buf.len == 0; i++)
	{
		double		bytes = (double) native->bytes[i] / native->count;

		if (!(native->possible & (uint32) 1 << i) || bytes >= now)
			continue;
		appendStringInfo(&buf, "%s takes %.1f bytes: ", native_types[i].name, bytes);
		append_alter_table(&buf, advice, column, native_types[i].name);
		appendStringInfo(&buf, "; clients see that type then, and %s", native_types[i].loses);
	}
	if (buf.len == 0 && native->nlabels > 1 && native->nlabels <= MAX_LABELS &&
		column->nvalues >= MIN_ENUM_VALUES && ENUM_BYTES < now)
	{
		char	   *type = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
													  makeObjectName(RelationGetRelationName(advice->rel),
																	 NameStr(column->att->attname), "enum"));

		qsort(native->labels, native->nlabels, NAMEDATALEN, compare_labels);
		appendStringInfo(&buf, "an enum takes %d.0 bytes: CREATE TYPE %s AS ENUM (", ENUM_BYTES, type);
		for (int i = 0; i < native->nlabels; i++)
			appendStringInfo(&buf, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(native->labels[i]));
		appendStringInfoString(&buf, "); ");
		append_alter_table(&buf, advice, column, type);
		appendStringInfoString(&buf, "; clients see that type then, it sorts in the order of that list,"
							   " and takes another value only after ALTER TYPE ... ADD VALUE");
	}
	MemoryContextSwitchTo(oldcxt);

	return buf.len > 0 ? buf.data : NULL;
}
