#
# debs.sh - chroots that are copied from a base, and the sources of our Debian packages
#
# tools/debs and tools/debs-server source this file after chroot.sh.  They call open_debs first.
# build/debs/chroot has the chroots of a suite: SUITE.base, and its copies, which have further
# packages installed.
#

# shellcheck disable=SC2034,SC2154	# the tools, common.sh and chroot.sh use and set the other variables

# open_debs SUITE - skip if no chroots can be made here; lock the suite; set $suite, $home, $chroots,
# $log, the first part of the names of the logs, and name and version of the source package
open_debs()
{
	suite=$1
	need_chroots
	home=$top/build/debs
	chroots=$home/chroot
	log=$home/log/$suite
	make_dir "$home/log" "$chroots"
	# Keep other accounts out, because setuid programs in the chroots are not kept up to date.
	chmod 700 "$chroots"
	need_tmp
	trap interrupted INT TERM HUP
	lock "debs-$suite"
	source=$(awk '/^Source: / { print $2 }' "$top/debian/control.in")
	version=$(sed -n "1s/^$source (\(.*\)) .*/\1/p" "$top/debian/changelog")
	upstream=${version%-*}
	tree=$source-$upstream
}

# use_base MEGABYTES - set $root, make the chroot SUITE.base unless it is complete, and get new
# package lists.  A new chroot and the copies of it take so much space.
use_base()
{
	root=$chroots/$suite.base
	if ! is_made; then
		need_space "$home" "$1"
		made_or_skip "$suite: making a chroot" "$log.base.log" "" make_chroot "$suite"
		made
	fi
	step_or_skip "$suite: package lists" "$log.lists.log" "" update_lists
}

# copy_chroot NAME - make the chroot $root from chroot SUITE.NAME
copy_chroot()
{
	rm -rf --one-file-system "$root"
	cp -a --reflink=auto "$chroots/$suite.$1" "$root"
}

# update_lists - get the package lists of the suite, also of its security updates if this machine's
# apt has a mirror of these.  Users have the newest minor release, and the tests expect its errors.
update_lists()
{
	local security
	# shellcheck disable=SC2016	# apt-get expands them
	security=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' 2> /dev/null |
		awk '$0 == $1 " Debian-Security" && !seen { print $1; seen = 1 }')
	case $suite in unstable | sid | experimental) security= ;; esac
	rm -f "$root/etc/apt/sources.list.d/security.list"
	[ -z "$security" ] || echo "deb [signed-by=$keyring] $security $suite-security main" > "$root/etc/apt/sources.list.d/security.list"
	copy_network_settings
	in_chroot apt-get -q -o APT::Update::Error-Mode=any update
}

# update - give the chroot the package lists of SUITE.base, and install the newer packages
update()
{
	copy_network_settings
	rm -rf "$root/var/lib/apt/lists" "$root/etc/apt/sources.list.d"
	cp -a "$chroots/$suite.base/var/lib/apt/lists" "$root/var/lib/apt/" && cp -a "$chroots/$suite.base/etc/apt/sources.list.d" "$root/etc/apt/" && in_chroot apt-get -q --yes dist-upgrade
}

# made - mark the chroot $root as complete
made()
{
	: > "$root.made"
	rm -f "$root.unfinished"
}

# is_made - return true if the chroot $root is complete; do not trust one that an interrupted run
# has left
is_made()
{
	[ ! -e "$root.unfinished" ] || rm -f "$root.made"
	[ -f "$root.made" ]
}

# use_chroot NAME TITLE COMMAND... - set $root, make the chroot from the base unless it is
# complete, and run a command that installs packages
use_chroot()
{
	root=$chroots/$suite.$1
	is_made || step "$suite: copying the chroot" "$log.copy.log" "" copy_chroot base || exit 1
	made_or_skip "$suite: $2" "$log.$1.log" "" "${@:3}"
	made
}

#
# The source package of pg_dense, and its folder $tree in /srv/build of a chroot
#

# copy_sources - make the source package's folder and its tarball in /srv/build of the chroot
#
# Without git, as in an unpacked release, all files but build/ belong to the sources.
copy_sources()
{
	local to=$root/srv/build
	rm -rf "$to"
	mkdir -p "$to/$tree"
	if [ -e "$top/.git" ]; then
		git -c safe.directory="$top" -C "$top" ls-files -z --cached --others --exclude-standard --deduplicate
	else
		(cd "$top" && find . -path ./build -prune -o -type f -print0)
	fi | tar -c --null --ignore-failed-read --no-recursion -C "$top" -T - |
		tar -x --no-same-owner --no-same-permissions -C "$to/$tree" &&
		tar -c --exclude="$tree/debian" --sort=name --owner=0 --group=0 -C "$to" "$tree" | gzip -n > "$to/${source}_$upstream.orig.tar.gz"
}

# in_tree COMMAND... - run it in the source package's folder
in_tree()
{
	# shellcheck disable=SC2016	# the chroot's shell expands them
	in_chroot sh -ec 'cd "$1"; shift; exec "$@"' sh "/srv/build/$tree" "$@"
}

# verify TITLE LOG COMMAND... - count a step as a test
verify()
{
	if step "$1" "$2" "" "${@:3}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# verify_lintian - test that lintian finds no error in the packages of /srv/build; print what it finds
verify_lintian()
{
	verify "$suite: lintian" "$log.lintian.log" \
		in_chroot sh -c 'cd /srv/build && lintian --tag-display-limit 0 --show-overrides --fail-on error ./*.changes'
	grep '^[EWO]: ' "$log.lintian.log" || true
}

#
# The tests in a chroot
#

# Scripts that run in a chroot begin with this.  "ok NAME" and "not ok NAME" are the results of the
# tests.
# shellcheck disable=SC2016	# the chroot's shell expands them
chroot_functions='
set -uo pipefail

# files - print the files that packages have installed or made
files()
{
	find / -xdev \( -path /srv -o -path /tmp -o -path /proc -o -path /dev -o -path /run -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/apt \) -prune -o ! -path "/var/lib/dpkg/*-old" -print | sort
}

# result NAME - print the result of the last command
result()
{
	if [ $? = 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}

# sql PORT PSQL_ARG...
sql()
{
	runuser -u postgres -- psql -X -q -A -t -v ON_ERROR_STOP=1 -p "$1" "${@:2}" < /dev/null
}
'

# run_tests LAST COMMAND... - run the tests in a chroot, print and count their results.  LAST is the
# name of the last test, which has to have run.
run_tests()
{
	step "$suite: tests" "$log.tests.log" "" "${@:2}" || true
	grep -E '^== |^(not )?ok |^test .*\.\.\. ' "$log.tests.log" | sed 's/   */ /g' || true
	count_regress "$log.tests.log" 0
	passed=$((passed + $(grep -c -E '^ok ([0-9]+: |[^0-9 ])' "$log.tests.log" || true)))
	failed=$((failed + $(grep -c -E '^not ok ([0-9]+: |[^0-9 ])' "$log.tests.log" || true)))
	grep -qE "^(not )?ok $1\$" "$log.tests.log" || failed=$((failed + 1))
}

# end_tests - remove the chroot $root if no test has failed
end_tests()
{
	if [ "$failed" = 0 ]; then
		rm -rf --one-file-system "$root"
	else
		note "full log in \"$log.tests.log\""
	fi
	finished=yes
}
