#
# series.sh - the pristine server tree and the patch series on it
#
# The tools that deal with server sources source this file after common.sh, which sets $top and
# $prog.
#
# build/MAJOR/src is a git repository.  Its branch "pristine" holds the release tarball as one
# commit.  refs/pgdense/INPUTS caches the commit of a list of applied series, so that an
# unchanged series is not applied again.  Names and dates are fixed: the same input gives the
# same commit ids and the same bytes on every machine, for every account.
#

# shellcheck disable=SC2154	# common.sh sets top and prog

# Take no setting from the environment or from the user's git configuration.
# shellcheck disable=SC2046
unset $(git rev-parse --local-env-vars) GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE \
	GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_PAGER
export GIT_CONFIG_GLOBAL=$top/tools/gitconfig GIT_CONFIG_NOSYSTEM=1 TZ=UTC
export GIT_COMMITTER_NAME=pg_dense GIT_COMMITTER_EMAIL=pg_dense@localhost

# Compile servers with debug information, unless the environment says otherwise.  Debug
# information takes a sixth of the time to compile.  An existing build is not made again for
# this setting alone.
# shellcheck disable=SC2034	# used by the tools that source this file
debug_info=${PGDENSE_DEBUG_INFO:--g}

# import TARBALL GIT_DIR TREE - commit a tarball as branch "pristine" of a repository,
# unpacking it in the folder TREE.  This function runs where "set -e" does not apply, so it
# passes on every failure itself.
import()
{
	local tarball=$1 git_dir=$2 tree=$3 commit
	export GIT_INDEX_FILE=$git_dir/index.import
	rm -f "$GIT_INDEX_FILE"
	# Do not restore owners: accounts of this machine may have the user ids in the tarball.
	tar -xf "$tarball" -C "$tree" --strip-components=1 --no-same-owner --no-same-permissions &&
		git -C "$tree" --git-dir="$git_dir" --work-tree="$tree" -c core.looseCompression=1 add -A -f . &&
		commit=$(git --git-dir="$git_dir" write-tree) &&
		commit=$(GIT_AUTHOR_NAME=pg_dense GIT_AUTHOR_EMAIL=pg_dense@localhost \
			GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' \
			git --git-dir="$git_dir" commit-tree -m "$(pristine_subject "$tarball")" "$commit") &&
		git --git-dir="$git_dir" update-ref refs/heads/pristine "$commit" &&
		rm -f "$GIT_INDEX_FILE"
}

pristine_subject()
{
	local name
	name=$(basename "$1" .tar.bz2)
	echo "PostgreSQL ${name#postgresql-}"
}

# make_pristine MAJOR - bring branch "pristine" of build/MAJOR/src to the release that
# tools/source gives.  The caller must hold the lock of MAJOR.
make_pristine()
{
	local major=$1 src=$top/build/$1/src fresh=$top/build/$1/src.new tarball subject=
	rm -rf "$fresh"
	[ ! -d "$src/.git" ] || subject=$(git -C "$src" log -1 --format=%s pristine -- 2> /dev/null) || true
	# If the branch is the pinned release, do not look at the tarball again.
	[ "$subject" != "PostgreSQL $(release "$major" version)" ] || return 0
	tarball=$("$top/tools/source" "$major") || exit
	[ "$subject" != "$(pristine_subject "$tarball")" ] || return 0

	need_space "$top/build" 700
	make_dir "$fresh"
	if [ -n "$subject" ]; then
		git -C "$src" checkout -q --detach
		step "$major: importing $(basename "$tarball")" "$top/build/$major/log/source.log" "" import "$tarball" "$src/.git" "$fresh" || exit
		rm -rf "$fresh"
	else
		rm -rf "$src"
		git init -q -b pristine "$fresh"
		step "$major: unpacking $(basename "$tarball")" "$top/build/$major/log/source.log" "" import "$tarball" "$fresh/.git" "$fresh" || exit
		git -C "$fresh" reset -q
		mv "$fresh" "$src"
	fi
}

# clone_pristine MAJOR DIR - make a temporary clone, so that nothing disturbs build/MAJOR/src,
# where somebody may be at work.
clone_pristine()
{
	git clone -q --shared --single-branch -b pristine "$top/build/$1/src" "$2"
}

# apply_series MAJOR CLONE BRANCH FEATURE... - put the series of the features, in order, on a
# new branch of a clone.  git am accepts no fuzz.  If a patch fails, report it and return 1.
apply_series()
{
	local major=$1 clone=$2 branch=$3 feature patch out
	shift 3
	git -C "$clone" checkout -q -f -B "$branch" pristine || return 1
	for feature in "$@"; do
		for patch in "$top/$feature/$major"/*.patch; do
			out=$(git -C "$clone" am -q --committer-date-is-author-date --whitespace=error-all "$patch" 2>&1) && continue
			git -C "$clone" am --abort > /dev/null 2>&1 || true
			echo "$prog: error: $feature/$major/$(basename "$patch") does not apply to $branch: $(grep -m 1 'error: ' <<< "$out" | sed 's/^error: //' || true)" >&2
			return 1
		done
	done
}

# series_commit MAJOR FEATURE... - print the commit of the pristine release plus the series of
# the features, in order.
series_commit()
{
	local major=$1 src=$top/build/$1/src clone key feature rc=0
	shift
	if [ $# = 0 ]; then
		git -C "$src" rev-parse --verify -q pristine
		return
	fi
	key=$({
		git -C "$src" rev-parse pristine
		for feature in "$@"; do
			(cd "$top" && sha256sum "$feature/$major"/*.patch)
		done
	} | sha256sum)
	key=refs/pgdense/${key%% *}
	git -C "$src" rev-parse --verify -q "$key" && return
	clone=$(mktemp -d "$top/build/$major/apply.XXXXXX")
	clone_pristine "$major" "$clone" &&
		apply_series "$major" "$clone" bundle "$@" &&
		git -C "$src" fetch -q "$clone" "+bundle:$key" || rc=1
	rm -rf "$clone"
	[ $rc = 0 ] && git -C "$src" rev-parse --verify -q "$key"
}

# Settings to configure and compile the trees: $configure_options and the environment
# shellcheck disable=SC2034	# used by tools/server and tools/patches
configure_options=(--enable-debug --enable-tap-tests --with-icu --with-lz4 --with-zstd)

compiler_settings()
{
	local program
	# From 18 on, a method of asynchronous I/O needs a library.
	[ "$major" -lt 18 ] || [[ " ${configure_options[*]} " = *" --with-liburing "* ]] || configure_options+=(--with-liburing)
	for program in gcc make bison flex perl; do
		command -v $program > /dev/null || die "\"$program\" was not found, run tools/deps build"
	done

	# Make paths on the compiler's command line relative to the checkout, and keep the working
	# directory out of ccache's key.  So another checkout can use the cache.
	CC=gcc
	if command -v ccache > /dev/null; then
		CC="ccache gcc"
		export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$top
		# Three servers of two major versions take about 700 MB of the cache.
		case $(ccache --get-config max_size 2> /dev/null || ccache -k max_size) in
			*M | [01].*G) export CCACHE_MAXSIZE=2G ;;
		esac
	fi
	export CC
}
