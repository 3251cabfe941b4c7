#
# report.pl - check that bench/run report shows the results, on any screen
#
# Check that
#
# - doc/benchmarks.md and README.md have the figures of the results in the repository;
# - the report names and omits a result that it cannot show, and fails only if it can show no
#   result;
# - a smoke run is marked, and does not count as a proof of a promise;
# - the first screen has the message, the number of promises kept and missed, and one plot with the
#   stages in order;
# - the report has the figures, bars and dates of the results;
# - in headless Chromium, the page fits a telephone and a desktop, in light and dark
#   colours, its charts are legible, and it makes no request.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use File::Copy qw(copy);
use IPC::Run   ();
use JSON::PP   ();
use PgDense::Bench;
use PostgreSQL::Test::Utils;
use Test::More;

needs_python();

my $results = "$work/results";
my $json = JSON::PP->new->canonical->utf8;
mkdir $results;

# Return a result with the fields that every result has.  %given replaces some of them.
sub result
{
	my ($study, %given) = @_;

	return {
		format => 2,
		study => $study,
		quick => JSON::PP::false,
		environment => {
			date => '2024-02-29T23:59:31-05:00',
			command => "bench/run $study --json 'some where/$study.json' --seed 7",
			revision => 'abc1234',
			host => 'here',
			kernel => '6.1',
			cpu => '3 x Test',
			processor => 'family 7',
			memory => '64 MB',
			seed => 7,
			server => 'PostgreSQL 17.1 on x86_64',
			settings => { jit => 'off' }
		},
		metrics => {},
		intervals => {},
		bars => [],
		tables => [],
		samples => [],
		%given
	};
}

# Write a file of results.  Text is written as it is, anything else as JSON.
sub put
{
	my ($name, $content) = @_;

	open(my $file, '>:raw', "$results/$name") or die "$name: $!";
	print $file ref $content ? $json->encode($content) : $content;
	close $file;
	return;
}

# Return a bar.  The limit is a number, or a range of two numbers. %given may have an interval.
sub bar
{
	my ($metric, $claim, $direction, $limit, $value, $kept, %given) = @_;

	return {
		metric => $metric,
		claim => $claim,
		direction => $direction,
		limit => ref $limit ? $limit : [$limit],
		goal => JSON::PP::false,
		value => $value,
		interval => undef,
		kept => $kept ? JSON::PP::true : JSON::PP::false,
		%given
	};
}

# Return made-up samples of TPC-C: three runs of two stages with each setting.  Four of the
# settings are memory sizes, from 250 to 700 MB.
sub tpcc_samples
{
	my @samples;
	my @settings = (
		[ '', 400, '270MB' ],
		[ 'sb128', 400, '128MB' ],
		map { [ "memory$_", $_, int($_ * 2 / 3) . 'MB' ] } 250,
		400, 550, 700);

	foreach my $setting (@settings)
	{
		foreach my $run (0 .. 2)
		{
			foreach my $stage (qw(stock background-vacuum))
			{
				my $speed = ($stage eq 'stock' ? 1000 : 1500) + $setting->[1] + 10 * $run;
				push @samples,
				  {
					setting => $setting->[0],
					memory => $setting->[1],
					shared_buffers => $setting->[2],
					stage => $stage,
					round => $run,
					notpm => $speed,
					last_third_to_first => $run ? 0.9 : undef,
					per_new_order =>
					  { group_reads => 10 / $speed, block_reads => 1, wal_bytes => 9000 }
				  };
			}
		}
	}
	return \@samples;
}

my %tpcc = (
	metrics => {
		'tpmc.all' => 1.5,
		'tpmc.compact-types' => 1.5,
		'tpmc.wal-direct' => 1.2,
		'reads.all' => 0.66664,
		'size.database' => 0.8
	},
	intervals => { 'tpmc.all' => { low => 1.25, high => 1.75, pairs => 3, interval => 'range' } },
	bars => [
		bar('tpmc.all', 'throughput <b>&amp; "all" | of it',
			'at least', 1.4, 1.5, 1, interval => [ 1.25, 1.75 ]),
		bar('tpmc.all', 'throughput <b>&amp; "all" | of it; stretch goal', 'at least', 2, 1.5, 0,
			interval => [ 1.25, 1.75 ],
			goal => JSON::PP::true)
	],
	tables => [
		{
			name => 'wide',
			title => 'Wide',
			columns => [ '', map { "column $_" } 1 .. 40 ],
			rows => [ [ 'a|b', ('1,234,567') x 40 ] ]
		}
	],
	samples => tpcc_samples());
put('tpcc.json', result('tpcc', %tpcc));
put('tpcc-again.json',
	result(
		'tpcc', %tpcc,
		metrics => { 'tpmc.all' => 9 },
		intervals => {},
		bars => [],
		tables => []));
put('row-size.json',
	result(
		'row-size',
		metrics => { 'heap.all' => 0.9, 'stock.all' => 1 },
		bars => [
			bar('heap.all', 'bytes, heap.all', 'at most', 0.85, 0.9, 0),
			bar('stock.all', 'bytes, the same', 'between', [ 0.98, 1.02 ], 1, 1)
		]));
put('wal.json',
	result(
		'wal',
		quick => JSON::PP::true,
		metrics => { 'bytes.direct_4096.1' => 0.1 },
		bars => [ bar('bytes.direct_4096.1', 'smoke', 'at most', 0.6, 0.1, 1) ]));
put('types-speed.json',
	result(
		'types-speed',
		metrics => { filter_late => 0.5, slower => 1.2 },
		bars => [
			bar('filter_late', 'time, filter', 'at most', 0.625, 0.5, 1),
			bar('slower', 'time, slower', 'at most', 1.05, 1.2, 0)
		]));

my %left_out = (
	'broken.json' => [ '{"study"', 'is not a result of bench/run: ' ],
	'list.json' => [ '[]', 'is not a result of bench/run: it names no study' ],
	'bytes.json' => [ "\xff\xfe\x00", 'is not a result of bench/run: ' ],
	'deep.json' => [ '[' x 200_000, 'is not a result of bench/run: ' ],
	'other.json' => [
		result('tpcc', %tpcc, format => 99),
		'has format 99, which is not that of this version \(2\)'
	],
	# The first result files had no format number.
	'first.json' => [
		do { my $first = result('tpcc', %tpcc); delete @$first{qw(format bars)}; $first },
		'has format 1, which is not that of this version \(2\)'
	],
	'unpromised.json' => [
		do { my $short = result('tpcc'); delete $short->{bars}; $short },
		'is incomplete: it has no "bars"'
	],
	'limitless.json' => [
		result('tpcc', %tpcc, bars => [ bar('tpmc.all', 'throughput', 'at least', [], 1.5, 1) ]),
		'is incomplete: "bars" is not what'
	],
	'undecided.json' => [
		result(
			'tpcc', %tpcc,
			bars => [ bar('tpmc.all', 'throughput', 'at least', 1, 1.5, 1, kept => undef) ]),
		'is incomplete: "bars" is not what'
	],
	'short.json' => [
		do { my $short = result('tpcc'); delete $short->{intervals}; $short },
		'is incomplete: it has no "intervals"'
	],
	'host.json' => [
		result('tpcc', environment => { date => '2024-01-01T00:00:00+00:00' }),
		'is incomplete: "environment" is not what'
	],
	'date.json' => [
		do { my $bad = result('tpcc'); $bad->{environment}{date} = 'today'; $bad },
		'is incomplete: .*today'
	],
	'nan.json' => [
		$json->encode(result('tpcc', metrics => { 'tpmc.all' => 77 })) =~ s/:77/:NaN/r,
		'is incomplete: "metrics" is not what'
	],
	'ragged.json' => [
		result(
			'tpcc',
			tables => [ { name => 'x', title => 'x', columns => [ 'a', 'b' ], rows => [ ['1'] ] } ]
		),
		'is incomplete: "tables" is not what'
	],
	'drawn.json' => [
		result('tpcc', %tpcc, samples => [ { stage => 'stock', notpm => 1 } ]),
		'is incomplete: its samples cannot be drawn: KeyError .setting.'
	],);
put($_, $left_out{$_}[0]) foreach keys %left_out;
mkdir "$results/directory.json";
$left_out{'directory.json'} = [ undef, 'could not be read: Is a directory' ];

# Which results are left out, and how the others are shown
my $readme = "$work/README.md";
my $around =
  "before\n<!-- Between these marks is what bench/run report writes. -->\nold\n<!-- End of what bench/run report writes. -->\nafter\n";
append_to_file($readme, $around);
my @files = (
	'--html', "$work/report.html", '--markdown', "$work/benchmarks.md", '--readme', $readme,
	'--picture', "$work/headline.svg");
my ($code, $out, $err) = bench($top, 'report', '--results', $results, @files);
is($code, 0, 'a report succeeds if some results cannot be shown') or BAIL_OUT("$out\n$err");
is($err, '', 'nothing is on stderr');
my $html = slurp_file("$work/report.html");
my $markdown = slurp_file("$work/benchmarks.md");

foreach my $name (sort keys %left_out)
{
	my $reason = $left_out{$name}[1];

	like(
		$out,
		qr/^left out: "\Q$name\E" $reason/m,
		"$name: the output names the file and the reason");
	like(
		$html,
		qr/Left out: <code>\Q$name\E<\/code> [^\n]*\.<\/p>/,
		"$name: the page names the file");
	like(
		$markdown,
		qr/^\*\*Left out:\*\* `\Q$name\E` $reason/m,
		"$name: the tables name the file and the reason");
}
my $missing =
  join(', ', qw(index-size toast-strategies toast-chunks toast-codecs bgvacuum vertical-partition));
my ($named) = $out =~ /^no results of: (.*)$/m;
is_deeply(
	[
		grep {
			my $study = $_;
			!grep { $_ eq $study } split(/, /, $named)
		} split(/, /, $missing)
	],
	[],
	'the output names the studies without results');
unlike(
	$named,
	qr/tpcc(?!-switched)|demo|report|row-size|wal/,
	'the output names no study that has results');
like($html, qr/No results of: [^\n]*\bbgvacuum\b/, 'the page names the studies without results');
like($out, qr/^"wal" is of a smoke run, which proves nothing$/m, 'the output names a smoke run');

my ($wal) = $html =~ /<section>\n<h2 id="wal">(.*?)<\/section>/s;
like(
	$wal,
	qr/<p class="note">A smoke run, which proves nothing/,
	'the section of a smoke run is marked');
my ($headlines) = $html =~ /<h2 id="headlines">(.*?)<h2/s;
unlike($headlines, qr/direct in units/, 'a smoke run has no headline');
like(
	$headlines,
	qr/New-Orders a minute[^\n]*>1\.500 <span class="range">\(1\.250 to 1\.750\)<\/span><\/span><\/td><td data-label="promised"><span>at least 1\.400<\/span><\/td><td class="met"[^>]*><span class="verdict">met<\/span><\/td><td[^>]*><span><a href="#tpcc">TPC-C with little memory<\/a>, 2024-03-01/,
	'a headline has interval, bar, verdict and date');
unlike($headlines, qr/9\.000/, 'a headline is of the file with the name of the study');
like(
	$headlines,
	qr/device reads[^\n]*<span>0\.667<\/span><\/td><td data-label="promised"><span><\/span><\/td><td class=""[^>]*><span class="verdict">no promise/,
	'a headline without a bar says that nothing is promised');
my ($promises) = $html =~ /<h2 id="promises">(.*?)<section>/s;
like(
	$promises,
	qr/>TPC-C with little memory<\/a><\/td><td data-label="kept">1<\/td><td data-label="missed">0<\/td><td data-label="goals missed">1<\/td>/,
	'the promises of a study are counted');
like(
	$promises,
	qr/>Time of compact types<\/a><\/td><td data-label="kept">1<\/td><td data-label="missed">1<\/td><td data-label="goals missed">0<\/td>/,
	'promises about times are counted');
like(
	$promises,
	qr/<td>bytes, the same<\/td><td[^>]*><span>1\.000<\/span><\/td><td[^>]*><span>0\.980 to 1\.020<\/span><\/td><td class="met"[^>]*><span class="verdict">met/,
	'a range has two limits');
like(
	$promises,
	qr/>WAL with direct I\/O<\/a><\/td><td colspan="3">a smoke run/,
	'promises of a smoke run are not counted');
my ($missed) = $promises =~ /<h3>Missed<\/h3>(.*?)<details>/s;
is(scalar(() = $missed =~ /<tr><td>/g), 3, 'missed promises come first');
like(
	$missed,
	qr/throughput &lt;b&gt;&amp;amp; &#34;all&#34; \| of it; stretch goal/,
	'a missed promise is shown in full, and HTML is escaped');
unlike($promises, qr/smoke<\/td>/, 'promises of a smoke run are not shown');

# The first screen
my ($screen) = $html =~ /<header class="first">(.*?)<\/header>/s;
like(
	$screen,
	qr/<p class="message">With the same memory, TPC-C completes 1\.50 times as many New-Orders a minute as on stock PostgreSQL, and its database is 20 % smaller\.</,
	'the first screen has the message');
like(
	$screen,
	qr/>3 kept<.*>2 missed<.*goals missed: 1\./,
	'the first screen counts the promises, without those of a smoke run');
is_deeply(
	[ $screen =~ /<li><span>([^<]*)<.*?width: ([\d.]+)%/g ],
	[
		'stock PostgreSQL' => '54.7',
		'+ WAL with direct I/O' => '65.6',
		'+ compact types' => '82.0'
	],
	'the stages are in order, and have a bar in proportion');
like(
	$screen,
	qr/\+ compact types.*<span class="price">price: COPY of text is slower</,
	'each stage has its price');
is(python(<<'PYTHON'), <<'LINES' =~ s/\n\z//r, 'if another file has more stages, it gives them');
from bench import headline

def result(title, **metrics):
    return {"title": title, "study": "tpcc", "intervals": {}, "tables": [], "day": "today", "metrics": metrics,
        "environment": {"server": "PostgreSQL 17.1", "major": "17", "warmup": 120, "measured": 180, "stages": "stock, off"}}

long = result("tpcc", **{"tpmc.all": 1.7, "tpmc.background-vacuum-customer": 1.7})
long["environment"] |= {"limits": "cgroup", "memory_limit": 400, "warmup": 300, "measured": 600}
short = result("tpcc (tpcc-stages)", **{"tpmc.off": 1.0, "tpmc.vertical-partition-customer": 2.5,
    "tpmc.background-vacuum-customer": 2.0, "tpmc.all": 2.0})
other = result("tpcc (tpcc-18)", **{f"tpmc.{name}": 9 for name in ("off", "wal-direct", "compact-types", "index-alignment")})
other["environment"]["major"] = "18"
first = headline.find([other, short, long])
best = result("tpcc (tpcc-best)", **{"tpmc.best_settings": 2.25, "size.database": 0.5})
best["environment"] |= {"warmup": 240, "measured": 360, "stages": "stock, analyze-few-blocks"}
settings = headline.find([other, short, best, long])
print(settings.message, settings.stages[:-1] == first.stages[:-1])
print(settings.stages[-1].title, settings.stages[-1].value, settings.stages[-1].price, sep="; ")
best["environment"]["major"] = "18"
print(headline.find([other, short, best, long]) == first)
print(first.message)
for stage in first.stages:
    print("; ".join(filter(None, (stage.title, stage.value, stage.price))))
print(first.minutes, headline.find([short]), headline.find([long]).stages[-1].title, sep="; ")
print(first.svg() == headline.find([other, short, long]).svg(), 1.7 in [stage.ratio for stage in first.stages])
PYTHON
With the same memory and the best settings of each, pg_dense completes 2.25 times as many New-Orders a minute as stock PostgreSQL, and its database is 50 % smaller. True
best settings, minutes 4 to 10 of a run; 2.25; no background vacuum; statistics of fewer blocks
True
With the same 400 MB of memory, TPC-C completes 1.70 times as many New-Orders a minute as on stock PostgreSQL.
stock PostgreSQL; 1.00
patched server, all switches off; 1.00; the server has to be built with the patches
+ split of the table customer; 2.50; statements on cold columns are slower
+ background vacuum; 2.00; 14 bytes of memory for each shared buffer; 20 % of the throughput here
all of it, minutes 5 to 15 of a run; 1.70
minutes 2 to 5 of a run; None; + background vacuum
True True
LINES

my ($tpcc) = $html =~ /<section>\n<h2 id="tpcc">(.*?)<\/section>/s;
like(
	$tpcc,
	qr/<code>bench\/run tpcc --json &#39;some where\/tpcc\.json&#39; --seed 7<\/code>/,
	'a section shows the command');
like(
	$tpcc,
	qr/2024-03-01 04:59 UTC, revision abc1234, seed 7/,
	'a section shows the date in UTC, the revision and the seed');
like(
	$tpcc,
	qr/3 x Test \(family 7\), 64 MB, kernel 6\.1, PostgreSQL 17\.1</,
	'a section shows machine and server');
like($tpcc, qr/aria-label="\Q$_\E"/, "the charts have a panel: $_")
  foreach map({ (
			"New-Orders a minute ($_)",
			"device reads per New-Order ($_)",
			"WAL, kB per New-Order ($_)",
			"decline: last third of the run to its first ($_)") } '400 MB, shared_buffers 270MB',
	'400 MB, shared_buffers 128MB'),
  'New-Orders a minute by memory, MB';
like($tpcc, qr/>1,410<\/text>.*>1,910<\/text>/s, 'the chart shows the medians of the stages');
like(
	$html,
	qr/<h2 id="tpcc-again">TPC-C with little memory, again <span class="small">tpcc \(tpcc-again\)<\/span><\/h2>/,
	'another run of a study has a section of its own');
is(scalar(() = $html =~ /<li><a href="#/g), 7, 'the contents have all sections');
unlike(
	$html,
	qr/(?:src|href)="(?!#)|url\((?!#)|<script|\@import/,
	'the page refers to no other file');
unlike(join('', $html =~ /<svg.*?<\/svg>/gs),
	qr/#[0-9a-f]{6}\b/, 'charts use only the colours of the page');
my %ids;
$ids{$_}++ foreach $html =~ / id="([^"]*)"/g;
is_deeply([ grep { $ids{$_} > 1 } sort keys %ids ], [], 'every id is unique');
like($markdown, qr/^\| a\\\|b \| 1,234,567 \|/m, 'a vertical bar in a cell is escaped');
like(
	$markdown,
	qr/^`bench\/run tpcc .*` at revision abc1234, 2024-03-01 04:59 UTC, seed 7:\n3 x Test \(family 7\), 64 MB, kernel 6\.1, PostgreSQL 17\.1\.$/m,
	'the tables say how the results were made');

# README.md
my $figures = slurp_file($readme);
like(
	$figures,
	qr/\Abefore\n<!-- Between[^\n]*\n\n- \*\*.*<!-- End[^\n]*\nafter\n\z/s,
	'the figures replace what is between the marks');
like(
	$figures,
	qr/^- \*\*50 % more\*\* New-Orders a minute \(25 to 75 %\): TPC-C/m,
	'a figure is in percent, with a direction in words and an interval');
like($figures, qr/^- \*\*20 % smaller\*\* on disk: /m, 'a figure without an interval is exact');
unlike($figures, qr/written by a commit/, 'a smoke run has no figure');
like(
	$figures,
	qr/^3 of 6 promised limits and goals are missed\. They are in\n\[doc\/claims\.md\]/m,
	'the figures count the promises that are missed');
my $changes = python(<<'PYTHON');
from bench.report import _change

for value, low, high in (1.1, 0.95, 1.3), (0.62, 0.6, 0.65):
    result = {"metrics": {"m": value}, "intervals": {"m": {"low": low, "high": high}}}
    print("".join(_change(result, "m", "less", "more")))
PYTHON
is( $changes,
	"**10 % more** (5 % less to 30 % more)\n**38 % less** (35 to 40 %)",
	'an interval with both directions names both');
bench($top, 'report', '--results', $results, @files);
is(slurp_file($readme), $figures, 'a second report leaves README.md as it is');
is(slurp_file("$work/report.html"), $html, 'a second report writes the same page');

# The picture
my $svg = slurp_file("$work/headline.svg");
like($svg, qr/>\Q$_\E<\/text>/, "the picture has the text: $_")
  foreach '+ compact types', '1.50', 'price: COPY of text is slower';
is( python(
		"import xml.dom.minidom\nprint(xml.dom.minidom.parse(sys.argv[2]).documentElement.tagName)",
		"$work/headline.svg"),
	'svg',
	'the picture is well-formed');
unlike($svg, qr/(?:src|href)=|url\(/, 'the picture refers to no other file');

foreach my $case ([ 'no marks', "text\n", 'has no marks' ],
	[ 'one mark', ($around =~ s/<!-- End.*//sr), 'has no marks' ])
{
	my ($title, $text, $reason) = @$case;
	my $file = "$work/other.md";

	unlink $file, "$work/other.html";
	append_to_file($file, $text);
	fails_like(
		$top,
		[ 'report', '--results', $results, '--html', "$work/other.html", '--readme', $file ],
		qr/"\Q$file\E" $reason/,
		"README with $title");
	is(slurp_file($file), $text, "README with $title: the file does not change");
	ok(!-e "$work/other.html", "README with $title: no page is written");
}

# No result can be shown.
mkdir "$work/bad";
copy("$results/$_", "$work/bad/$_") foreach qw(broken.json other.json);
fails_like(
	$top,
	[ 'report', '--results', "$work/bad", @files ],
	qr/"[^"]*broken\.json" is not a result.*"[^"]*other\.json" has format 99/,
	'no result is good');
mkdir "$work/none";
fails_like(
	$top,
	[ 'report', '--results', "$work/none", @files ],
	qr/there are no results/,
	'no results');

# The results in the repository
my $committed = "$work/committed.md";
copy("$top/README.md", $committed);
($code, $out, $err) = bench(
	$top, 'report', '--html', "$work/committed.html",
	'--markdown', "$work/committed_benchmarks.md", '--readme', $committed,
	'--picture', "$work/committed.svg");
is($code, 0, 'a report of bench/results succeeds') or diag($out, $err);
unlike($out, qr/left out|smoke/, 'bench/results has no smoke run, and no result is left out');
ok(slurp_file("$work/committed_benchmarks.md") eq slurp_file("$top/doc/benchmarks.md"),
	'doc/benchmarks.md is what bench/results gives')
  or diag('run bench/run report');
ok( slurp_file($committed) eq slurp_file("$top/README.md"),
	'the figures in README.md are what bench/results gives') or diag('run bench/run report');

ok(slurp_file("$work/committed.svg") eq slurp_file("$top/doc/headline.svg"),
	'doc/headline.svg is what bench/results gives')
  or diag('run bench/run report');
cmp_ok(-s "$top/doc/headline.svg", '<', 60_000, 'doc/headline.svg is small');

is(python(<<'PYTHON'), '', 'every headline is a metric of its study');
import json
from bench.lib.paths import BENCH
from bench.report import FIGURES, HEADLINES

for file, metric, *_ in HEADLINES + FIGURES:
    path = BENCH / "results" / f"{file}.json"
    if path.exists() and metric not in json.loads(path.read_text())["metrics"]:
        print(file, metric)
PYTHON

# In a browser
my ($chromium) = grep { -x } map { ("$_/chromium", "$_/chromium-browser") } split(/:/, $ENV{PATH}),
  '/usr/bin';
ok($chromium, 'Chromium is installed (by tools/deps test)');
foreach my $page ($chromium ? qw(report committed) : ())
{
	my $shots = "$work/shots-$page";

	mkdir $shots;
	IPC::Run::run(
		[
			'/usr/bin/python3', '-B',
			"$FindBin::RealBin/../python/report_page.py", $chromium,
			"$work/$page.html", $shots
		],
		'<',
		\undef,
		'>',
		\$out,
		'2>',
		\$err);
	is($?, 0, "$page: the browser shows the page") or do { diag($err); next };
	my $seen = JSON::PP::decode_json($out);
	is_deeply([ grep { $_ ne $seen->{page} } @{ $seen->{requests} } ],
		[], "$page: the page makes no request");
	is_deeply($seen->{complaints}, [], "$page: the browser reports no error");
	foreach my $view (qw(telephone-light telephone-dark desktop-light desktop-dark))
	{
		my $saw = $seen->{views}{$view};
		my $title = "$page, $view";

		is($saw->{inner}, $view =~ /^telephone/ ? 390 : 1440, "$title: width of the screen");
		cmp_ok($saw->{width}, '<=', $saw->{inner}, "$title: the page needs no scrolling sideways");
		cmp_ok($saw->{widest}, '<=', $saw->{inner}, "$title: no chart is wider than the screen");
		ok( $saw->{first}{message} && $saw->{first}{bottom} <= ($view =~ /^telephone/ ? 844 : 900),
			"$title: message and plot are on the first screen") or diag($saw->{first}{bottom});
		is(scalar(grep { $_ < 20 } @{ $saw->{first}{bars} }), 0, "$title: the plot has its bars");
		# A table with very many columns scrolls sideways, but not on a telephone.
		cmp_ok($saw->{cell}, '<=', $saw->{inner}, "$title: no column is cut off")
		  if $view =~ /^telephone/;
		cmp_ok($saw->{svgs}, '>=', 10, "$title: the page has its charts");
		is($saw->{unnamed}, 0, "$title: every chart has a name");
		is_deeply($saw->{cut}, [], "$title: no text sticks out of its chart");
		cmp_ok($saw->{text}, '>=', 12, "$title: size of text");
		cmp_ok($saw->{svg_text}, '>=', 11.5, "$title: size of text in charts");
		cmp_ok($saw->{contrast}, '>=', 4.5, "$title: contrast of text, least in $saw->{faint}");

		foreach my $shot (qw(top chart))
		{
			my $image = $saw->{shots}{$shot};

			is_deeply(
				$image->{size},
				[ $view =~ /^telephone/ ? (390, 844) : (1440, 900) ],
				"$title: size of the screenshot, $shot");
			cmp_ok($image->{colours}, '>', 20, "$title: the screenshot is not blank, $shot");
			cmp_ok(
				$image->{background},
				$view =~ /dark/ ? '<' : '>',
				$view =~ /dark/ ? 60  : 195,
				"$title: brightness of the background, $shot");
			cmp_ok(
				$image->{mean},
				$view =~ /dark/ ? '<' : '>',
				$view =~ /dark/ ? 100 : 155,
				"$title: brightness of the screenshot, $shot");
		}
	}
}

done_testing();
