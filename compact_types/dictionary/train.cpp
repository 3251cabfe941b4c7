/*-------------------------------------------------------------------------
 *
 * train.cpp
 *	  Choose the symbols of a static two-level dictionary of compact_text.
 *
 * usage: train OUTPUT WEIGHT:FILE...
 *
 * A FILE contains one domain, which is one kind of value, with one value per
 * line.  The training minimizes the sum over the domains of WEIGHT x compressed
 * bytes / bytes, so that a small domain counts as much as a big one.  OUTPUT
 * gets one symbol per line, in hexadecimal: first the 208 symbols with one-byte
 * codes, then the 11776 symbols with two-byte codes.
 *
 * The method: start with many more symbols than there are codes.  Parse all
 * values, that is, split them into symbols at the least cost.  Remove the
 * symbols that save least, and repeat this until there are as many symbols as
 * codes.  The number of one-byte codes shrinks at the same time in the same
 * way, since only a symbol of cost 1 shows how often it would be used at that
 * cost.  Then symbols that were removed too early get a second chance: further
 * rounds propose two neighbours in the parse as one new symbol, and the result
 * of a round counts only if the total gets smaller.
 *
 * All sums are sums of integers, and all sort orders are total, so the result
 * does not depend on the number of threads.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/dictionary/train.cpp
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

typedef uint64_t u64;
typedef uint32_t u32;

static const size_t max_symbol = 8;
static const size_t one_byte_codes = 208;
static const size_t codes = one_byte_codes + 46 * 256;
static const size_t max_domain = 1200000;	/* use at most so many bytes of a domain */
static const size_t min_domain = 250000;	/* a smaller domain gets less weight */
static const size_t first_symbols = 90000;
static const size_t first_one_byte = 640;
static const int merge_rounds = 8;
static const int n_threads = 2;

/* The integer for a total weight of 1.0 over one byte; leaves room for sums. */
static const double weight_unit = 1099511627776.0;

struct Value
{
	std::string text;
	u64			weight;
};

struct Symbol
{
	std::string text;
	int			cost;
	u64			used;
};

static std::vector<Value> values;

/*
 * The symbols, as a trie.  All its edges are in one hash table, because there
 * are too many nodes for an array of 256 children in each node.
 */
class Trie
{
public:
	void		build(const std::vector<Symbol> &symbols)
	{
		size_t		nodes = 1;

		for (const Symbol &s : symbols)
			nodes += s.text.size();
		for (mask = 1024; mask < nodes * 3; mask *= 2)
			;
		edges.assign(mask, Edge{0, 0, 0});
		mask--;
		symbol_of.assign(1, -1);
		for (size_t i = 0; i < symbols.size(); i++)
		{
			u32			node = 0;

			for (unsigned char c : symbols[i].text)
			{
				Edge	   &e = find(node, c);

				if (e.child == 0)
				{
					e.parent = node;
					e.byte = c;
					e.child = (u32) symbol_of.size();
					symbol_of.push_back(-1);
				}
				node = e.child;
			}
			symbol_of[node] = (int) i;
		}
	}

	/* Return the child, or 0 if there is no such child. */
	u32			child(u32 node, unsigned char c) const
	{
		return const_cast<Trie *> (this)->find(node, c).child;
	}

	int			symbol(u32 node) const
	{
		return symbol_of[node];
	}

private:
	struct Edge
	{
		u32			parent;
		u32			child;
		unsigned char byte;
	};

	Edge	   &find(u32 node, unsigned char c)
	{
		u64			h = ((u64) node << 8 | c) * 0x9E3779B97F4A7C15ULL;
		size_t		i = (h >> 20) & mask;

		while (edges[i].child != 0 && (edges[i].parent != node || edges[i].byte != c))
			i = (i + 1) & mask;
		return edges[i];
	}

	std::vector<Edge> edges;
	std::vector<int> symbol_of;
	size_t		mask = 0;
};

/*
 * Parse a value from its end, at the least cost.  If costs are equal, choose
 * the longest symbol, and a symbol rather than an escape.  without is the index
 * of a symbol that must not be used, or -1.  If parts is not NULL, set it to
 * the indexes of the symbols, with -1 - byte for an escape.  Return the cost.
 */
static u32
parse(const Trie &trie, const std::vector<Symbol> &symbols, const std::string &text,
	  int without, std::vector<int> *parts)
{
	static thread_local std::vector<u32> cost;
	static thread_local std::vector<int> choice;
	size_t		len = text.size();

	cost.assign(len + 1, 0);
	choice.assign(len + 1, -1);
	for (size_t i = len; i-- > 0;)
	{
		u32			best = cost[i + 1] + 2;
		int			chosen = -1;
		u32			node = 0;

		for (size_t j = i; j < len && j < i + max_symbol; j++)
		{
			node = trie.child(node, (unsigned char) text[j]);
			if (node == 0)
				break;

			int			s = trie.symbol(node);

			if (s < 0 || s == without)
				continue;
			if (cost[j + 1] + symbols[s].cost <= best)
			{
				best = cost[j + 1] + symbols[s].cost;
				chosen = s;
			}
		}
		cost[i] = best;
		choice[i] = chosen;
	}
	if (parts)
	{
		parts->clear();
		for (size_t i = 0; i < len;)
		{
			int			s = choice[i];

			parts->push_back(s >= 0 ? s : -1 - (unsigned char) text[i]);
			i += s >= 0 ? symbols[s].text.size() : 1;
		}
	}
	return cost[0];
}

typedef std::unordered_map<std::string, u64> Counts;

/*
 * Parse all values, and set Symbol.used.  If pairs is not NULL, count the
 * neighbours whose joined texts could be one symbol.  Return the weighted cost.
 */
static double
parse_all(std::vector<Symbol> &symbols, Counts *pairs, std::vector<u64> *escapes = nullptr)
{
	Trie		trie;
	std::vector<std::thread> threads;
	std::vector<std::vector<u64>> used(n_threads);
	std::vector<std::vector<u64>> escaped(n_threads, std::vector<u64>(256, 0));
	std::vector<Counts> counted(n_threads);
	std::vector<u64> total(n_threads, 0);

	trie.build(symbols);
	for (int t = 0; t < n_threads; t++)
	{
		used[t].assign(symbols.size(), 0);
		threads.emplace_back([&, t] ()
		{
			std::vector<int> parts;
			std::unordered_map<u64, u64> adjacent;

			for (size_t v = t; v < values.size(); v += n_threads)
			{
				u64			w = values[v].weight;
				int			last = -1;

				total[t] += parse(trie, symbols, values[v].text, -1, &parts) * w >> 8;
				for (int s : parts)
				{
					if (s >= 0)
						used[t][s] += w;
					else
					{
						escaped[t][-1 - s] += w;
						s = (int) symbols.size() + (-1 - s);
					}
					if (pairs && last >= 0)
						adjacent[(u64) last << 32 | (u32) s] += w;
					last = s;
				}
			}
			for (const auto &a : adjacent)
			{
				std::string joined;

				for (u32 s : {(u32) (a.first >> 32), (u32) a.first})
					joined += s < symbols.size() ? symbols[s].text : std::string(1, (char) (s - symbols.size()));
				if (joined.size() <= max_symbol)
					counted[t][joined] += a.second;
			}
		});
	}
	for (std::thread &t : threads)
		t.join();
	for (size_t s = 0; s < symbols.size(); s++)
	{
		symbols[s].used = 0;
		for (int t = 0; t < n_threads; t++)
			symbols[s].used += used[t][s];
	}

	double		sum = 0;

	for (int t = 0; t < n_threads; t++)
	{
		sum += (double) total[t] * 256;
		if (pairs)
			for (const auto &c : counted[t])
				(*pairs)[c.first] += c.second;
		if (escapes)
			for (int b = 0; b < 256; b++)
				(*escapes)[b] += escaped[t][b];
	}
	return sum / weight_unit;
}

/*
 * Give the n most used symbols the cost 1, and the others the cost 2.  A single
 * byte of cost 2 costs as much as an escape, so its number of uses is not
 * known.  Therefore parse_all() also counts escapes, and the caller adds these
 * bytes as symbols before it calls this function.
 */
static void
choose_one_byte(std::vector<Symbol> &symbols, size_t n)
{
	std::vector<size_t> order(symbols.size());

	for (size_t i = 0; i < order.size(); i++)
		order[i] = i;
	std::sort(order.begin(), order.end(), [&] (size_t a, size_t b)
	{
		return symbols[a].used != symbols[b].used ? symbols[a].used > symbols[b].used : symbols[a].text < symbols[b].text;
	});
	for (size_t i = 0; i < order.size(); i++)
		symbols[order[i]].cost = i < n ? 1 : 2;
}

/*
 * Keep the n symbols that save most.  A symbol saves its number of uses times
 * the additional cost of its text if the text is parsed with the others.
 */
static void
prune(std::vector<Symbol> &symbols, size_t n)
{
	Trie		trie;
	std::vector<std::pair<u64, size_t>> order(symbols.size());
	std::vector<Symbol> kept;

	if (symbols.size() <= n)
		return;
	trie.build(symbols);
	for (size_t i = 0; i < symbols.size(); i++)
	{
		const Symbol &s = symbols[i];
		u32			other = parse(trie, symbols, s.text, (int) i, nullptr);

		order[i] = {s.used * (other > (u32) s.cost ? other - s.cost : 0), i};
	}
	std::sort(order.begin(), order.end(), [&] (const std::pair<u64, size_t> &a, const std::pair<u64, size_t> &b)
	{
		const Symbol &x = symbols[a.second];
		const Symbol &y = symbols[b.second];

		if (a.first != b.first)
			return a.first > b.first;
		if (x.used != y.used)
			return x.used > y.used;
		return x.text < y.text;
	});
	for (size_t i = 0; i < n; i++)
		kept.push_back(symbols[order[i].second]);
	symbols.swap(kept);
}

/* Return the substrings that would save most if each were the only symbol. */
static std::vector<Symbol>
frequent_substrings()
{
	std::vector<std::pair<double, std::string>> found;
	std::vector<Symbol> symbols;

	for (size_t len = 1; len <= max_symbol; len++)
	{
		std::vector<std::pair<u64, u64>> all;

		for (const Value &v : values)
			for (size_t i = 0; i + len <= v.text.size(); i++)
			{
				u64			key = 0;

				for (size_t j = 0; j < len; j++)
					key = key << 8 | (unsigned char) v.text[i + j];
				all.push_back({key, v.weight});
			}
		std::sort(all.begin(), all.end(), [] (const std::pair<u64, u64> &a, const std::pair<u64, u64> &b)
		{
			return a.first < b.first;
		});
		for (size_t i = 0, next; i < all.size(); i = next)
		{
			u64			w = 0;

			for (next = i; next < all.size() && all[next].first == all[i].first; next++)
				w += all[next].second;
			if (next - i < 4 && len > 1)
				continue;

			std::string text;

			for (size_t j = 0; j < len; j++)
				text += (char) (all[i].first >> 8 * (len - 1 - j));
			/* keep all single bytes, which are useful only with one-byte codes */
			found.push_back({(double) w * (len == 1 ? 1e6 : len - 0.9), text});
		}
		std::vector<std::pair<u64, u64>>().swap(all);
		std::sort(found.begin(), found.end(), [] (const std::pair<double, std::string> &a, const std::pair<double, std::string> &b)
		{
			return a.first != b.first ? a.first > b.first : a.second < b.second;
		});
		if (found.size() > first_symbols)
			found.resize(first_symbols);
	}
	for (const auto &f : found)
	{
		double		uses = f.first / (f.second.size() == 1 ? 1e6 : f.second.size() - 0.9);

		/* in the first choice of one-byte codes, short symbols count most */
		symbols.push_back(Symbol{f.second, 2, (u64) (uses / f.second.size())});
	}
	return symbols;
}

/* Add the single bytes that are not symbols, but are used as escapes. */
static void
add_single_bytes(std::vector<Symbol> &symbols, const std::vector<u64> &escapes)
{
	std::unordered_set<std::string> present;

	for (const Symbol &s : symbols)
		if (s.text.size() == 1)
			present.insert(s.text);
	for (int b = 0; b < 256; b++)
	{
		std::string text(1, (char) b);

		if (escapes[b] > 0 && !present.count(text))
			symbols.push_back(Symbol{text, 2, escapes[b]});
	}
}

/* Parse and choose one-byte codes in turn, since each step changes the other. */
static double
settle(std::vector<Symbol> &symbols, size_t one_byte, int times)
{
	double		total = 0;

	for (int i = 0; i < times; i++)
	{
		std::vector<u64> escapes(256, 0);

		parse_all(symbols, nullptr, &escapes);
		add_single_bytes(symbols, escapes);
		choose_one_byte(symbols, one_byte);
	}
	total = parse_all(symbols, nullptr);
	return total;
}

static void
read_domain(const char *arg)
{
	char	   *end;
	double		share = strtod(arg, &end);
	std::vector<std::string> lines;
	std::string line;
	size_t		bytes = 0;
	size_t		kept = 0;
	FILE	   *file;
	int			c;

	if (*end != ':' || share <= 0 || (file = fopen(end + 1, "rb")) == NULL)
	{
		fprintf(stderr, "train: bad domain \"%s\"\n", arg);
		exit(1);
	}
	while ((c = getc(file)) != EOF)
	{
		if (c != '\n')
		{
			line += (char) c;
			continue;
		}
		if (!line.empty())
		{
			bytes += line.size();
			lines.push_back(line);
		}
		line.clear();
	}
	fclose(file);

	/* of a domain that is too big, take evenly spread lines */
	std::vector<const std::string *> chosen;

	/* give a small domain less weight, or symbols would fit its values too closely */
	if (bytes < min_domain)
		share *= (double) bytes / min_domain;

	double		keep = bytes > max_domain ? (double) max_domain / bytes : 1.0;
	double		due = 0;

	for (const std::string &l : lines)
	{
		due += keep;
		if (due >= 1.0)
		{
			due -= 1.0;
			chosen.push_back(&l);
			kept += l.size();
		}
	}
	for (const std::string *l : chosen)
		values.push_back(Value{*l, (u64) (weight_unit * share / kept)});
	printf("%-60s weight %5.2f, %9zu bytes, %9zu used\n", end + 1, share, bytes, kept);
}

/* Print the ratio of each domain, to show which one gains at another's cost. */
static void
report(const std::vector<Symbol> &symbols, char **args, int n)
{
	Trie		trie;

	trie.build(symbols);
	for (int i = 0; i < n; i++)
	{
		u64			text = 0;
		u64			compact = 0;

		values.clear();
		read_domain(args[i]);
		for (const Value &v : values)
		{
			text += v.text.size();
			compact += parse(trie, symbols, v.text, -1, nullptr);
		}
		printf("    ratio %.4f\n", (double) compact / text);
	}
}

int
main(int argc, char **argv)
{
	if (argc < 3)
	{
		fprintf(stderr, "usage: train OUTPUT WEIGHT:FILE...\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 2; i < argc; i++)
		read_domain(argv[i]);

	std::vector<Symbol> symbols = frequent_substrings();
	size_t		one_byte = first_one_byte;

	choose_one_byte(symbols, one_byte);
	while (symbols.size() > codes || one_byte > one_byte_codes)
	{
		double		total = settle(symbols, one_byte, 2);

		printf("%6zu symbols, %3zu one-byte codes: %.5f\n", symbols.size(), one_byte, total);
		prune(symbols, std::max(codes, symbols.size() * 4 / 5));
		one_byte = std::max(one_byte_codes, one_byte * 9 / 10);
	}
	settle(symbols, one_byte, 4);
	prune(symbols, codes);

	double		best_total = settle(symbols, one_byte, 2);
	std::vector<Symbol> best = symbols;

	printf("first choice: %.5f\n", best_total);
	for (int round = 0; round < merge_rounds; round++)
	{
		Counts		pairs;
		std::vector<std::pair<u64, std::string>> proposals;
		std::unordered_set<std::string> present;
		size_t		extra = round % 2 == 0 ? 96 : 24;

		symbols = best;
		parse_all(symbols, &pairs);
		for (const Symbol &s : symbols)
			present.insert(s.text);
		for (const auto &p : pairs)
			if (!present.count(p.first))
				proposals.push_back({p.second, p.first});
		std::sort(proposals.begin(), proposals.end(), [] (const std::pair<u64, std::string> &a, const std::pair<u64, std::string> &b)
		{
			return a.first != b.first ? a.first > b.first : a.second < b.second;
		});
		for (size_t i = 0; i < proposals.size() && i < (size_t) 6000 >> round / 3; i++)
			symbols.push_back(Symbol{proposals[i].second, 2, proposals[i].first});
		for (; extra > 0; extra /= 3)
		{
			settle(symbols, one_byte + extra, 1);
			prune(symbols, std::max(codes, symbols.size() * 9 / 10));
		}
		settle(symbols, one_byte, 2);
		prune(symbols, codes + 300);
		settle(symbols, one_byte, 1);
		prune(symbols, codes);

		double		total = settle(symbols, one_byte, 1);

		if (symbols.size() > codes)
			prune(symbols, codes);
		choose_one_byte(symbols, one_byte);
		total = parse_all(symbols, nullptr);
		printf("round %d: %.5f\n", round + 1, total);
		if (total < best_total)
		{
			best_total = total;
			best = symbols;
		}
	}

	/* put frequent symbols side by side, for the decoder's cache lines */
	std::sort(best.begin(), best.end(), [] (const Symbol &a, const Symbol &b)
	{
		if (a.cost != b.cost)
			return a.cost < b.cost;
		if (a.used != b.used)
			return a.used > b.used;
		return a.text < b.text;
	});
	if (best.size() != codes || best[one_byte_codes - 1].cost != 1 || best[one_byte_codes].cost != 2)
	{
		fprintf(stderr, "train: %zu symbols are too few\n", best.size());
		return 1;
	}
	report(best, argv + 2, argc - 2);

	FILE	   *out = fopen(argv[1], "w");

	for (const Symbol &s : best)
	{
		for (unsigned char c : s.text)
			fprintf(out, "%02x", c);
		fputc('\n', out);
	}
	if (ferror(out) || fclose(out) != 0)
	{
		fprintf(stderr, "train: could not write \"%s\"\n", argv[1]);
		return 1;
	}
	return 0;
}
