/*-------------------------------------------------------------------------
 *
 * compact_trained_train.c
 *	  Training of symbol tables (see compact_trained_codec.c).
 *
 * The trainer starts with an empty table.  In each round, it encodes a part of
 * the sample with the table, and counts how often each symbol and each pair of
 * neighboring symbols is used.  The symbols and the joined pairs that save
 * most are the next table.  So symbols grow from round to round.
 *
 * Then the trainer encodes the whole sample a few times.  Each time it drops
 * the symbols that save less than they take in the table, and gives the
 * one-byte codes to the symbols that are used most.
 *
 * Finally, the trainer tries whether runs make the sample shorter.  If they save
 * enough, it goes on with a table that has runs: symbols that are no longer used
 * because of runs make room for others.
 *
 * A symbol of more than SHORT_SYMBOL bytes is taken only if it was found in
 * several strings, as many as the caller demands: everybody can read the
 * symbols.
 *
 * All this is done with integers, and with orders in which no two symbols are
 * equal.  So the same sample gives the same table on every machine.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_train.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "port/pg_crc32c.h"
#include "utils/memutils.h"

#include "compact_trained_codec.h"

/* Rounds that join pairs, and passes over the whole sample. */
#define JOIN_ROUNDS				10
#define FINAL_PASSES			4

/* Rounds that join pairs with a table that has runs */
#define RUN_ROUNDS				4

/*
 * A table has runs only if they save one of so many bytes: comparing values
 * that have runs takes longer.
 */
#define RUNS_SAVE_PART			33

/* Bytes of the sample that a round or a pass encodes, at most. */
#define ROUND_BYTES				(1024 * 1024)
#define PASS_BYTES				(64 * 1024 * 1024)

/*
 * Before the last round, the table has more symbols than the result may have,
 * by this factor, as far as TRAINED_MAX_SYMBOLS allows.  Many of them are used
 * only as parts of longer ones later.
 */
#define SPARE_FACTOR			2

/*
 * Bytes that a symbol takes in the stored table besides its own.  A symbol
 * that does not save more than it takes is not worth its place, at least for a
 * column that is no larger than the sample.
 */
#define ENTRY_OVERHEAD			1

/* Longest symbol that may be one of a single string. */
#define SHORT_SYMBOL			4

/* Slots of the hash table of pairs, a power of two, and most pairs in it. */
#define PAIR_SLOT_BITS			20
#define PAIR_SLOTS				(1 << PAIR_SLOT_BITS)
#define MAX_PAIRS				(PAIR_SLOTS / 4 * 3)

/* Gains that are told apart when most candidates are sorted out. */
#define GAIN_LEVELS				65536

/*
 * A token is a symbol, numbered by its code, or an escape.  Escapes are
 * numbered behind all possible symbols.
 */
#define FIRST_ESCAPE			TRAINED_MAX_SYMBOLS
#define MAX_TOKENS				(FIRST_ESCAPE + 256)

/* The last characters of the alphabets: base64, base64url, and crypt() */
static const char *const alphabets[] = {"+/", "-_", "./"};

/* How often a token or a pair was found, and in how many strings. */
typedef struct Usage
{
	uint32		count;
	uint32		rows;
	uint32		last_row;		/* number of the last string, from 1 */
} Usage;

/* Two neighboring tokens. */
typedef struct Pair
{
	uint32		tokens;			/* first * 65536 + second */
	Usage		usage;			/* count is 0 if the slot is empty */
} Pair;

/* A symbol of a table, or one that may be in the next table. */
typedef struct Candidate
{
	const uint8 *bytes;
	int			len;
	uint32		count;			/* how often the last round used it */
	int64		gain;			/* bytes that it saves, in the last round */
} Candidate;

/* A growing array of candidates. */
typedef struct Candidates
{
	Candidate  *items;
	int			n;
	int			allocated;
} Candidates;

typedef struct Trainer
{
	const uint8 *const *strings;
	const int  *lengths;
	int		   *order;			/* numbers of the usable strings, shuffled */
	int			nstrings;		/* their number */
	int			next_string;	/* of the order: where the next round begins */
	uint32		min_rows;

	/* the current table, by code */
	MemoryContext context;		/* of the codec and the bytes of the symbols */
	TrainedCodec *codec;
	Candidate  *symbols;
	int			nsymbols;
	int			one_byte_codes;
	const char *alphabet;		/* last characters of the alphabet of runs, or
								 * NULL */

	/* how the last round used it */
	Usage	   *usage;			/* by token */
	Pair	   *pairs;			/* hash table */
	int			npairs;

	uint8		all_bytes[256]; /* symbols of the escapes */
} Trainer;

/* Compare the bytes of two candidates, to order the symbols of a table. */
static int
compare_bytes(const void *a, const void *b)
{
	const Candidate *ca = a;
	const Candidate *cb = b;
	int			result = memcmp(ca->bytes, cb->bytes, Min(ca->len, cb->len));

	return result != 0 ? result : ca->len - cb->len;
}

/* Compare two candidates, to order those with the largest gain first. */
static int
compare_gain(const void *a, const void *b)
{
	const Candidate *ca = a;
	const Candidate *cb = b;

	if (ca->gain != cb->gain)
		return ca->gain > cb->gain ? -1 : 1;

	return compare_bytes(a, b);
}

/* Compare two candidates, to order those with the largest count first. */
static int
compare_count(const void *a, const void *b)
{
	const Candidate *ca = a;
	const Candidate *cb = b;

	if (ca->count != cb->count)
		return ca->count > cb->count ? -1 : 1;

	return compare_bytes(a, b);
}

/* Return the largest number of one-byte codes of a table of nsymbols. */
static int
most_one_byte_codes(int nsymbols, bool with_runs)
{
	int			first_other = with_runs ? TRAINED_RUN : TRAINED_ESCAPE;

	return Min(first_other, (first_other * 256 - nsymbols) / 255);
}

/*
 * Order the symbols as in a table: the one_byte_codes with the largest counts
 * first, and both kinds of symbols by their bytes.
 */
static void
order_symbols(Candidate *symbols, int nsymbols, int one_byte_codes)
{
	int			split = Min(nsymbols, one_byte_codes);

	qsort(symbols, nsymbols, sizeof(Candidate), compare_count);
	qsort(symbols, split, sizeof(Candidate), compare_bytes);
	qsort(symbols + split, nsymbols - split, sizeof(Candidate), compare_bytes);
}

/*
 * Return the stored form of a table of ordered symbols, allocated in the
 * current memory context, and set *stored_len to its size.  If alphabet is not
 * NULL, the table has runs.
 */
static uint8 *
store_table(const Candidate *symbols, int nsymbols, int one_byte_codes,
			const char *alphabet, Size *stored_len)
{
	Size		total = TRAINED_TABLE_HEADER + nsymbols + TRAINED_TABLE_CRC;
	uint8	   *stored;
	uint8	   *ptr;
	pg_crc32c	crc;

	if (alphabet != NULL)
		total += TRAINED_TABLE_ALPHABET;
	for (int i = 0; i < nsymbols; i++)
		total += symbols[i].len;
	stored = palloc(total);
	ptr = stored;
	*ptr++ = alphabet != NULL ? TRAINED_TABLE_RUNS : TRAINED_TABLE_VERSION;
	*ptr++ = one_byte_codes;
	*ptr++ = nsymbols & 0xFF;
	*ptr++ = nsymbols >> 8;
	for (int i = 0; alphabet != NULL && i < TRAINED_TABLE_ALPHABET; i++)
		*ptr++ = alphabet[i];
	for (int i = 0; i < nsymbols; i++)
		*ptr++ = symbols[i].len;
	for (int i = 0; i < nsymbols; i++)
	{
		memcpy(ptr, symbols[i].bytes, symbols[i].len);
		ptr += symbols[i].len;
	}
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, stored, ptr - stored);
	FIN_CRC32C(crc);
	for (int i = 0; i < 4; i++)
		*ptr++ = crc >> (8 * i) & 0xFF;
	Assert((Size) (ptr - stored) == total);
	*stored_len = total;

	return stored;
}

/*
 * Make the symbols the trainer's table.  Their bytes are copied, and the
 * memory of the table before is freed.
 */
static void
set_table(Trainer *trainer, const Candidate *symbols, int nsymbols)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "trained symbol table",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	int			one_byte_codes = most_one_byte_codes(nsymbols, trainer->alphabet != NULL);
	Candidate  *copy = palloc(Max(nsymbols, 1) * sizeof(Candidate));
	Size		total = 0;
	Size		stored_len;
	uint8	   *bytes;
	uint8	   *stored;
	const char *detail;

	for (int i = 0; i < nsymbols; i++)
		total += symbols[i].len;
	bytes = palloc(Max(total, 1));
	for (int i = 0; i < nsymbols; i++)
	{
		copy[i] = symbols[i];
		copy[i].bytes = bytes;
		memcpy(bytes, symbols[i].bytes, symbols[i].len);
		bytes += symbols[i].len;
	}
	order_symbols(copy, nsymbols, one_byte_codes);
	stored = store_table(copy, nsymbols, one_byte_codes, trainer->alphabet, &stored_len);
	trainer->codec = trained_codec_load(stored, stored_len, context, &detail);
	if (trainer->codec == NULL)
		elog(ERROR, "could not load a trained symbol table: %s", detail);
	pfree(stored);
	trainer->symbols = copy;
	trainer->nsymbols = nsymbols;
	trainer->one_byte_codes = one_byte_codes;
	MemoryContextSwitchTo(old_context);
	if (trainer->context != NULL)
		MemoryContextDelete(trainer->context);
	trainer->context = context;
}

/* Count one more use, in that row. */
static inline void
count_use(Usage *usage, uint32 row)
{
	usage->count++;
	usage->rows += (usage->last_row != row);
	usage->last_row = row;
}

/* Count one more use of a pair, in that row. */
static inline void
count_pair(Trainer *trainer, uint32 first, uint32 second, uint32 row)
{
	uint32		tokens = first << 16 | second;
	uint32		slot = (tokens * 0x9E3779B1U) >> (32 - PAIR_SLOT_BITS);
	Pair	   *pair;

	for (;;)
	{
		pair = &trainer->pairs[slot];
		if (pair->usage.count == 0)
			break;
		if (pair->tokens == tokens)
		{
			count_use(&pair->usage, row);
			return;
		}
		slot = (slot + 1) & (PAIR_SLOTS - 1);
	}
	if (trainer->npairs < MAX_PAIRS)
	{
		trainer->npairs++;
		pair->tokens = tokens;
		count_use(&pair->usage, row);
	}
}

/*
 * Encode strings with the trainer's table, and count the tokens and, if
 * with_pairs is true, the pairs: about max_bytes of the next strings, but no
 * string twice.  Return the encoded length of all.
 */
static int64
count_usage(Trainer *trainer, Size max_bytes, bool with_pairs)
{
	uint8		codes[2 * TRAINED_MAX_LENGTH];
	int			one_byte_codes = trainer->one_byte_codes;
	int			first_escape = TRAINED_NUM_CODES(one_byte_codes);
	Size		bytes = 0;
	int64		encoded = 0;

	memset(trainer->usage, 0, MAX_TOKENS * sizeof(Usage));
	if (with_pairs)
		memset(trainer->pairs, 0, PAIR_SLOTS * sizeof(Pair));
	trainer->npairs = 0;

	for (int row = 1; row <= trainer->nstrings && bytes < max_bytes; row++)
	{
		int			i = trainer->order[trainer->next_string];
		int			len = trained_codec_encode(trainer->codec,
											   trainer->strings[i],
											   trainer->lengths[i],
											   codes, sizeof(codes));
		int			before = -1;

		if (row % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		trainer->next_string = (trainer->next_string + 1) % trainer->nstrings;
		bytes += trainer->lengths[i];
		encoded += len;
		for (int pos = 0; pos < len;)
		{
			int			token = codes[pos++];

			if (token == TRAINED_RUN && trainer->alphabet != NULL)
			{
				pos += 1 + (codes[pos] + 1) * TRAINED_GROUP_BYTES;
				before = -1;
				continue;
			}
			if (token >= one_byte_codes)
			{
				token = (token - one_byte_codes) * 256 + codes[pos++] +
					one_byte_codes;
				if (token >= first_escape)
					token += FIRST_ESCAPE - first_escape;
			}
			count_use(&trainer->usage[token], row);
			if (with_pairs && before >= 0)
				count_pair(trainer, before, token, row);
			before = token;
		}
	}

	return encoded;
}

/* Set *bytes and *len to the bytes of a token. */
static void
token_bytes(const Trainer *trainer, int token, const uint8 **bytes, int *len)
{
	if (token < FIRST_ESCAPE)
	{
		*bytes = trainer->symbols[token].bytes;
		*len = trainer->symbols[token].len;
	}
	else
	{
		*bytes = &trainer->all_bytes[token - FIRST_ESCAPE];
		*len = 1;
	}
}

/* Return the encoded length of a token. */
static int
token_cost(const Trainer *trainer, int token)
{
	return token < trainer->one_byte_codes ? 1 : 2;
}

/*
 * Return true if a symbol of that length that was found in so many strings may
 * be used.
 */
static bool
is_allowed(const Trainer *trainer, int len, uint32 rows)
{
	return len <= SHORT_SYMBOL || rows >= trainer->min_rows;
}

/* Append a candidate to the array, which grows. */
static void
add_candidate(Candidates *all, const Candidate *candidate)
{
	if (all->n == all->allocated)
	{
		all->allocated *= 2;
		all->items = repalloc(all->items, all->allocated * sizeof(Candidate));
	}
	all->items[all->n++] = *candidate;
}

/*
 * Append the tokens that the last round used to the candidates.
 *
 * A symbol saves what its bytes would take more without it.  As long as
 * symbols grow, it is not known which of them will have one-byte codes, so all
 * are treated as if they had them.  In the final passes, the codes of the
 * table are used.
 */
static void
collect_tokens(const Trainer *trainer, bool final, Candidates *all)
{
	for (int token = 0; token < MAX_TOKENS; token++)
	{
		const Usage *usage = &trainer->usage[token];
		Candidate	candidate;
		int			saved;

		if (usage->count == 0)
			continue;
		token_bytes(trainer, token, &candidate.bytes, &candidate.len);
		if (!is_allowed(trainer, candidate.len, usage->rows))
			continue;
		if (token >= FIRST_ESCAPE)
			saved = 1;			/* with a one-byte code */
		else
			saved = trained_codec_cost_without(trainer->codec, token) -
				(final ? token_cost(trainer, token) : 1);
		candidate.count = usage->count;
		candidate.gain = (int64) usage->count * saved -
			candidate.len - ENTRY_OVERHEAD;
		if (candidate.gain > 0)
			add_candidate(all, &candidate);
	}
}

/*
 * Append the joined pairs that the last round found to the candidates.  Their
 * bytes are allocated in the current memory context.
 */
static void
collect_pairs(const Trainer *trainer, Candidates *all)
{
	for (int slot = 0; slot < PAIR_SLOTS; slot++)
	{
		const Pair *pair = &trainer->pairs[slot];
		int			first = pair->tokens >> 16;
		int			second = pair->tokens & 0xFFFF;
		const uint8 *first_bytes;
		const uint8 *second_bytes;
		int			first_len;
		int			second_len;
		uint8	   *joined;
		Candidate	candidate;

		if (pair->usage.count == 0)
			continue;
		token_bytes(trainer, first, &first_bytes, &first_len);
		token_bytes(trainer, second, &second_bytes, &second_len);
		candidate.len = first_len + second_len;
		if (candidate.len > TRAINED_MAX_SYMBOL ||
			!is_allowed(trainer, candidate.len, pair->usage.rows))
			continue;
		candidate.count = pair->usage.count;
		candidate.gain = (int64) pair->usage.count *
			(token_cost(trainer, first) + token_cost(trainer, second) - 1) -
			candidate.len - ENTRY_OVERHEAD;
		if (candidate.gain <= 0)
			continue;
		joined = palloc(candidate.len);
		memcpy(joined, first_bytes, first_len);
		memcpy(joined + first_len, second_bytes, second_len);
		candidate.bytes = joined;
		add_candidate(all, &candidate);
	}
}

/*
 * Keep the candidates with the largest gain, no more than max.  If several
 * pairs, or a pair and a symbol, have the same bytes, they become one.
 */
static void
keep_best(Candidates *all, int max)
{
	int		   *histogram = palloc0(GAIN_LEVELS * sizeof(int));
	int			level;
	int			n;

	/* most candidates are far from being kept: do not sort these */
	for (int i = 0; i < all->n; i++)
		histogram[Min(all->items[i].gain, GAIN_LEVELS - 1)]++;
	n = 0;
	for (level = GAIN_LEVELS - 1; level > 0 && n < max + max / 8; level--)
		n += histogram[level];
	pfree(histogram);
	n = 0;
	for (int i = 0; i < all->n; i++)
	{
		if (all->items[i].gain > level)
			all->items[n++] = all->items[i];
	}
	all->n = n;

	qsort(all->items, all->n, sizeof(Candidate), compare_bytes);
	n = 0;
	for (int i = 0; i < all->n; i++)
	{
		if (n > 0 && compare_bytes(&all->items[n - 1], &all->items[i]) == 0)
		{
			all->items[n - 1].gain += all->items[i].gain;
			all->items[n - 1].count += all->items[i].count;
		}
		else
			all->items[n++] = all->items[i];
	}
	all->n = n;
	if (n > max)
	{
		qsort(all->items, n, sizeof(Candidate), compare_gain);
		all->n = max;
	}
}

/*
 * List the strings that are short enough and not empty, in a shuffled order
 * that depends only on their number.  So a round gets strings from everywhere.
 */
static void
shuffle_strings(Trainer *trainer, int n)
{
	uint64		state = 1;

	trainer->order = MemoryContextAllocHuge(CurrentMemoryContext,
											Max(n, 1) * sizeof(int));
	for (int i = 0; i < n; i++)
	{
		if (trainer->lengths[i] > 0 && trainer->lengths[i] <= TRAINED_MAX_LENGTH)
			trainer->order[trainer->nstrings++] = i;
	}
	for (int i = trainer->nstrings - 1; i > 0; i--)
	{
		int			swap = trainer->order[i];
		int			j;

		/* Knuth's linear congruential generator: its high bits are good */
		state = state * UINT64CONST(6364136223846793005) +
			UINT64CONST(1442695040888963407);
		j = (state >> 33) % (i + 1);
		trainer->order[i] = trainer->order[j];
		trainer->order[j] = swap;
	}
}

/*
 * Replace the trainer's table by one of no more than max symbols: those that
 * save most.  If join is true, pairs are joined.  work is the memory context of
 * the trainer.
 */
static void
train_round(Trainer *trainer, MemoryContext work, bool join, int max)
{
	MemoryContext context = AllocSetContextCreate(work, "round of the trainer",
												  ALLOCSET_DEFAULT_SIZES);
	Candidates	all = {0};

	CHECK_FOR_INTERRUPTS();
	MemoryContextSwitchTo(context);
	all.allocated = 2 * TRAINED_MAX_SYMBOLS;
	all.items = palloc(all.allocated * sizeof(Candidate));
	count_usage(trainer, join ? ROUND_BYTES : PASS_BYTES, join);
	collect_tokens(trainer, !join, &all);
	if (join)
		collect_pairs(trainer, &all);
	keep_best(&all, max);
	MemoryContextSwitchTo(work);
	set_table(trainer, all.items, all.n);
	MemoryContextDelete(context);
}

/* Train in that many rounds that join pairs, and then in the final passes. */
static void
train_rounds(Trainer *trainer, MemoryContext work, int join_rounds, int max_symbols)
{
	for (int round = 0; round < join_rounds + FINAL_PASSES; round++)
	{
		int			max = max_symbols;

		if (round < join_rounds - 1)
			max = Min(max * SPARE_FACTOR, TRAINED_MAX_SYMBOLS);
		train_round(trainer, work, round < join_rounds, max);
	}
}

/* Return the encoded length of the first strings with the trainer's table. */
static int64
encoded_length(Trainer *trainer)
{
	trainer->next_string = 0;

	return count_usage(trainer, ROUND_BYTES, false);
}

/*
 * Give the table runs, and train it further, if runs save enough.  Return true
 * if they do.  Otherwise the trainer's table is undefined.
 */
static bool
train_with_runs(Trainer *trainer, MemoryContext work, int max_symbols)
{
	int64		wanted = encoded_length(trainer);
	int64		least = PG_INT64_MAX;
	const char *best = NULL;

	wanted -= Max(wanted / RUNS_SAVE_PART, 1);
	for (int i = 0; i < (int) lengthof(alphabets); i++)
	{
		int64		len;

		CHECK_FOR_INTERRUPTS();
		trainer->alphabet = alphabets[i];
		set_table(trainer, trainer->symbols, trainer->nsymbols);
		len = encoded_length(trainer);
		if (len < least)
		{
			least = len;
			best = alphabets[i];
		}
	}
	if (least > wanted)
		return false;

	trainer->alphabet = best;
	set_table(trainer, trainer->symbols, trainer->nsymbols);
	train_rounds(trainer, work, RUN_ROUNDS, max_symbols);

	return encoded_length(trainer) <= wanted;
}

/*
 * Train a symbol table with a sample of n strings.  Empty strings and those
 * that are longer than TRAINED_MAX_LENGTH are skipped.
 *
 * Return the stored table, allocated in the current memory context, and set
 * *stored_len to its size.  The table has no more than max_symbols symbols.
 * Symbols of more than SHORT_SYMBOL bytes occur in min_rows or more of the
 * strings.
 */
uint8 *
trained_codec_train(const uint8 *const *strings, const int *lengths, int n,
					int max_symbols, int min_rows, Size *stored_len)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "trainer of symbol tables",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(work);
	Trainer		trainer = {0};
	uint8	   *result;

	max_symbols = Max(0, Min(max_symbols, TRAINED_MAX_SYMBOLS));
	trainer.strings = strings;
	trainer.lengths = lengths;
	trainer.min_rows = Max(min_rows, 1);
	trainer.usage = palloc(MAX_TOKENS * sizeof(Usage));
	trainer.pairs = palloc(PAIR_SLOTS * sizeof(Pair));
	for (int i = 0; i < 256; i++)
		trainer.all_bytes[i] = i;
	shuffle_strings(&trainer, n);

	set_table(&trainer, NULL, 0);
	train_rounds(&trainer, work, JOIN_ROUNDS, max_symbols);

	MemoryContextSwitchTo(old_context);
	result = store_table(trainer.symbols, trainer.nsymbols,
						 trainer.one_byte_codes, NULL, stored_len);
	MemoryContextSwitchTo(work);
	if (max_symbols > 0 && train_with_runs(&trainer, work, max_symbols))
	{
		MemoryContextSwitchTo(old_context);
		pfree(result);
		result = store_table(trainer.symbols, trainer.nsymbols,
							 trainer.one_byte_codes, trainer.alphabet,
							 stored_len);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(work);

	return result;
}
