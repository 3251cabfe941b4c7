/*-------------------------------------------------------------------------
 *
 * codec_common.c
 *	  What the tests of the codecs, codec.c and trained_codec.c, have in
 *	  common.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/compact_types/codec_common.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec_common.h"

#undef fprintf
#undef vfprintf

/* End the program with a message. */
void
fail(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64		random_state;

uint32
next_random(void)
{
	random_state = random_state * UINT64CONST(6364136223846793005) +
		UINT64CONST(1442695040888963407);
	return (uint32) (random_state >> 33);
}

int
random_below(int n)
{
	return next_random() % n;
}

/*
 * Copy into memory of exactly this size, so that the sanitizer detects any
 * access beyond the data.
 */
uint8 *
exact_copy(const uint8 *data, int len)
{
	uint8	   *copy = malloc(Max(len, 0));

	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}

int
sign(int n)
{
	return (n > 0) - (n < 0);
}

/* Compare two strings as memcmp() does; a string sorts after its beginning. */
int
compare_strings(const uint8 *a, int alen, const uint8 *b, int blen)
{
	int			result = memcmp(a, b, Min(alen, blen));

	return result != 0 ? result : alen - blen;
}

uint32
crc32c(uint32 crc, const uint8 *data, size_t len)
{
	while (len-- > 0)
	{
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc & 1) ? 0x82F63B78 ^ (crc >> 1) : crc >> 1;
	}
	return crc;
}

static int
compare_symbols(const void *a, const void *b)
{
	const TestSymbol *sa = a;
	const TestSymbol *sb = b;

	return compare_strings(sa->bytes, sa->len, sb->bytes, sb->len);
}

/* Sort symbols, and drop equal ones.  Return the number of symbols left. */
int
sort_symbols(TestSymbol *symbols, int n)
{
	int			left = 0;

	qsort(symbols, n, sizeof(TestSymbol), compare_symbols);
	for (int i = 0; i < n; i++)
	{
		if (left == 0 || compare_symbols(&symbols[left - 1], &symbols[i]) != 0)
			symbols[left++] = symbols[i];
	}
	return left;
}

/*
 * Make a stored symbol table.  The symbols are in the order of the codes.  If
 * last is not NULL, the table has runs, and last is the last two characters of
 * their alphabet.  Nothing is checked, so that the test can make an invalid
 * table.
 */
uint8 *
make_runs_table(TestSymbol *symbols, int n, int one_byte_codes, const char *last, Size *len)
{
	Size		total = 4 + (last ? 2 : 0) + n + 4;
	uint8	   *table;
	uint8	   *out;

	for (int i = 0; i < n; i++)
		total += symbols[i].len;
	table = malloc(total);
	table[0] = last ? 2 : 1;
	table[1] = one_byte_codes;
	table[2] = n % 256;
	table[3] = n / 256;
	out = table + 4;
	for (int i = 0; last && i < 2; i++)
		*out++ = last[i];
	for (int i = 0; i < n; i++)
		*out++ = symbols[i].len;
	for (int i = 0; i < n; i++)
	{
		memcpy(out, symbols[i].bytes, symbols[i].len);
		out += symbols[i].len;
	}
	set_table_crc(table, total);
	*len = total;
	return table;
}

/* Make a stored symbol table without runs. */
uint8 *
make_table(TestSymbol *symbols, int n, int one_byte_codes, Size *len)
{
	return make_runs_table(symbols, n, one_byte_codes, NULL, len);
}

/* Set the last four bytes of a table to the CRC of the bytes before them. */
void
set_table_crc(uint8 *table, Size len)
{
	uint32		crc = ~crc32c(0xFFFFFFFF, table, len - 4);

	for (int i = 0; i < 4; i++)
		table[len - 4 + i] = crc >> (8 * i);
}
