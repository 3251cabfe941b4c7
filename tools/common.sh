#
# common.sh - functions that the shell tools of pg_dense share
#
# The scripts in tools/ read this file with the . command.  The file sets $top (the checkout) and
# $prog (the tool, as in tools/check, for messages), and defines the functions below.  Messages
# follow the PostgreSQL style: one line, lower case, no period, on stderr.
#
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
prog=tools/$(basename "$0")

# Generated files must be readable by the account that the servers run as, even if the
# administrator's umask makes files private.
umask 022

# Messages of other programs are searched for known causes, so keep them English.
# shellcheck disable=SC2034	# used by tools/run-unprivileged
caller_lc_all=${LC_ALL:-}
export LC_ALL=C

# If make has called the tool, do not pass variables and jobs of that make to the makes that
# the tool calls.  PostgreSQL's makefiles add the variable PROFILE to the compiler's options.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES PROFILE

# manual - print the header comment of the tool, which is its manual
manual()
{
	awk 'NR == 1 { next }
		!/^#/ { exit }
		{ sub(/^# ?/, "") }
		$0 == "" { blank = 1; next }
		{ if (blank && printed) print ""; blank = 0; printed = 1; print }' < "$top/$prog" | expand -t 4
}

# If the arguments ask for help, print the manual and do nothing else.  Do so before any check:
# the manual is for readers, too, who cannot run the tool yet.  The later arguments of
# tools/run-unprivileged belong to another command.
for argument in "$@"; do
	case $argument in
		-h | --help)
			manual
			exit 0
			;;
	esac
	[ "$prog" != tools/run-unprivileged ] || break
done
unset argument

die()
{
	echo "$prog: error: $*" >&2
	exit 1
}

# usage_error MESSAGE - report a wrong argument, and the usage from the tool's manual
usage_error()
{
	local usage
	usage=$(manual | awk '
		/^[^ ]/ { here = $0 == "USAGE" }
		here && /^    [^ ]/ { usage = usage separator substr($0, 5); separator = " | "; n++ }
		here && /^        / { usage = usage substr($0, 8) }
		END { if (n <= 3) print usage }')
	if [ -n "$usage" ]; then usage="usage: $usage"; else usage="for its usage see $prog --help"; fi
	echo "$prog: error: $*; $usage" >&2
	exit 2
}

note()
{
	echo "$prog: $*" >&2
}

# require_plain_path TITLE PATH - refuse a path that makefiles and configure could not quote
require_plain_path()
{
	case $2 in
		*[[:space:]\'\"\\\$:]*) die "$1 may not contain blanks, quotes, \"\$\" or \":\": \"$2\"" ;;
	esac
}

require_plain_path "the path of the checkout" "$top"

# need_space DIR MEGABYTES - fail early and in one line if there is less free space.  Otherwise
# a full disk would show up as a crash of the compiler.
need_space()
{
	local dir=$1 free
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	free=$(df -Pm "$dir" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$2" ] || die "not enough disk space in \"$dir\": $free MB free, $2 MB needed"
}

# need_tmp - check the folder for temporary files of compilers and of mktemp
need_tmp()
{
	local dir=${TMPDIR:-/tmp}
	[ -d "$dir" ] && [ -w "$dir" ] || die "TMPDIR \"$dir\" is not a writable directory"
	need_space "$dir" 32
}

# make_dir DIR... - run mkdir -p, and report a failure in one line, with the cause
make_dir()
{
	local message
	message=$(mkdir -p -- "$@" 2>&1) || die "could not create directory: ${message#mkdir: }"
}

# need_account - set $account and $account_uid: the account of the servers that root starts
need_account()
{
	account=${PGDENSE_ACCOUNT:-nobody}
	account_uid=$(id -u -- "$account" 2> /dev/null) || die "account \"$account\" does not exist, set PGDENSE_ACCOUNT to one that does"
	[ "$account_uid" != 0 ] || die "account \"$account\" has root's user id, set PGDENSE_ACCOUNT to another one"
}

# account_dir DIR - make a directory if there is none, and give it to $account
#
# Call this only as root, and only for a directory whose parent the account cannot write to.
# The contents of the directory keep their owner, and so does a directory of a third account:
# the owner of a directory may have put a link to any file there.
account_dir()
{
	local owner
	make_dir "$1"
	[ -L "$1" ] || chown --no-dereference --from=0 -- "$account_uid" "$1" || exit 1
	owner=$(stat -L -c %u -- "$1")
	[ "$owner" = "$account_uid" ] ||
		die "\"$1\" belongs to account \"$(stat -L -c %U -- "$1")\", not to \"$account\" (hint: remove it, or set PGDENSE_ACCOUNT to the account that runs the servers here)"
}

# lock NAME - hold build/NAME.lock until this process ends, so that of two builds of one tree,
# the second waits for the first.
lock()
{
	make_dir "$(dirname "$top/build/$1.lock")"
	{ exec {lock_fd}> "$top/build/$1.lock"; } 2> /dev/null || die "could not open lock file \"$top/build/$1.lock\""
	flock -n "$lock_fd" || {
		note "waiting for another process that uses build/$1"
		flock "$lock_fd"
	}
}

# Draw a progress bar: bar TITLE DONE TOTAL.
bar()
{
	local width=30 filled percent
	percent=$(($3 > 0 ? 100 * $2 / $3 : 0))
	[ $percent -le 99 ] || percent=99
	filled=$((width * percent / 100))
	printf '\r%s [%s%s] %2d %%' "$1" "$(printf '%*s' $filled '' | tr ' ' '#')" "$(printf '%*s' $((width - filled)) '' | tr ' ' '.')" $percent >&2
}

# step TITLE LOG PROGRESS COMMAND [ARG...]
#
# Run COMMAND with its output in LOG, and show one line: the title, a bar while COMMAND runs
# (only on a terminal), and the time it took.  PROGRESS is a function that prints "DONE TOTAL"
# ("" for none).  If COMMAND fails, also show the end of the log and the log's path, or only
# one line if the disk is full.  Return COMMAND's status.
step()
{
	local title=$1 log=$2 progress=$3 begin=$SECONDS pid rc=0 tick=0
	shift 3
	[ -t 2 ] || printf '%s ...' "$title" >&2
	# Run the command in a process group of its own, so that an interrupt can end all its
	# processes.
	set -m
	("$@") > "$log" 2>&1 < /dev/null &
	pid=$!
	set +m
	step_pid=$pid
	if [ -t 2 ]; then
		while kill -0 $pid 2> /dev/null; do
			if [ $((tick++ % 5)) = 0 ]; then
				# shellcheck disable=SC2046	# the function prints two words
				if [ -n "$progress" ]; then bar "$title" $($progress); else printf '\r%s ... %d s' "$title" $((SECONDS - begin)) >&2; fi
			fi
			sleep 0.2
		done
		printf '\r%s ...\033[K' "$title" >&2
	fi
	# A signal that is trapped ends "wait", but not the command.
	while wait $pid || rc=$?; kill -0 $pid 2> /dev/null; do rc=0; done
	step_pid=
	if [ $rc = 0 ]; then
		echo " $((SECONDS - begin)) s" >&2
	elif grep -q 'No space left on device\|Disk quota exceeded' "$log"; then
		echo " failed" >&2
		echo "$prog: error: disk full: $(grep -m 1 -h 'No space left on device\|Disk quota exceeded' "$log")" >&2
	else
		echo " failed" >&2
		tail -n 20 "$log" >&2
		echo "$prog: error: \"$title\" failed, full log in \"$log\"" >&2
	fi
	return $rc
}

# End the command that step runs, with all its processes, and then this tool.
step_pid=
interrupted()
{
	trap - INT TERM HUP
	if [ -n "$step_pid" ]; then
		kill -TERM -- "-$step_pid" 2> /dev/null || true
		wait "$step_pid" 2> /dev/null || true
	fi
	echo >&2
	echo "$prog: error: interrupted" >&2
	exit 130
}

# release MAJOR FIELD - print a field of tools/pg-versions; FIELD is version, tarball, sha256
# or suite.
release()
{
	awk -v major="$1" -v field="$2" '
		$1 == major { n["version"] = 2; n["tarball"] = 3; n["sha256"] = 4; n["suite"] = 5; print $n[field] }' "$top/tools/pg-versions"
}

majors()
{
	awk '/^[0-9]/ { print $1 }' "$top/tools/pg-versions"
}

# Print the default major version: the first of tools/pg-versions.
default_major()
{
	awk '/^[0-9]/ { print $1; exit }' "$top/tools/pg-versions"
}

# require_major MAJOR - die unless tools/pg-versions lists it.
require_major()
{
	[[ "$1" =~ ^[0-9]+$ ]] && [ -n "$(release "$1" version)" ] ||
		die "unknown PostgreSQL major version \"$1\", known: $(majors | paste -sd ' ')"
}

# Print the features, in build order.
features()
{
	grep -v '^#\|^$' "$top/tools/feature-list" || true
}

# require_feature NAME - refuse a name that is no feature
require_feature()
{
	features | grep -xF -- "$1" > /dev/null || die "feature \"$1\" is not in tools/feature-list"
}

# patched_features MAJOR - print the features with patches for MAJOR, in the order in which the
# patches are stacked
patched_features()
{
	local feature
	features | while read -r feature; do
		[ -z "$(find "$top/$feature/$1" -maxdepth 1 -name '*.patch' 2> /dev/null)" ] || echo "$feature"
	done
}

# needs_patch FEATURE - return true if its extension works only with the server patch
needs_patch()
{
	grep -q '^patched :=' "$top/$1/Makefile"
}

# is_patched MAJOR - return true if any feature has a series for MAJOR.  Then the server to
# test is dense, which has all series.
is_patched()
{
	[ -n "$(patched_features "$1")" ]
}

# python_environment - set $python, and drop settings of the caller that conflict with a tool's
# use of pip
#
# The interpreter is the distribution's.  The account that runs the tests may be unable to
# reach another one.
python_environment()
{
	# shellcheck disable=SC2034	# used by the tools
	python=/usr/bin/python3
	[ -x $python ] || die "\"$python\" was not found, run tools/deps test"
	# Drop the caller's settings for other Python environments.
	unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_REQUIREMENT PIP_DRY_RUN
	export PIP_CACHE_DIR=$top/build/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
}

# pip_install VENV PINS - make the environment VENV, with only the packages that the file PINS
# lists
pip_install()
{
	$python -m venv "$1" || return 1
	"$1/bin/python" -m pip install --no-color --progress-bar off --only-binary :all: --require-hashes -r "$2"
}

# need_python_packages LOG MEGABYTES - fail early if packages cannot be installed
need_python_packages()
{
	$python -c 'import ensurepip, venv' 2> /dev/null || die "Python's module ensurepip was not found, run tools/deps test"
	make_dir "$(dirname "$1")"
	need_tmp
	need_space "$top/build" "$2"
}

# count_regress LOG STATUS - add the results of pg_regress or pg_isolation_regress to $passed
# and $failed.  LOG has the style of PostgreSQL 15, or the TAP style of 16 and later.
count_regress()
{
	local ok bad
	ok=$(grep -c -E '^ok +[0-9]+ +[-+] |^(test)? .*\.\.\. ok' "$1" || true)
	bad=$(grep -c -E '^not ok +[0-9]+ +[-+] |^(test)? .*\.\.\. FAILED' "$1" || true)
	passed=$((passed + ok))
	[ "$2" = 0 ] || [ "$bad" -gt 0 ] || bad=1
	failed=$((failed + bad))
}
