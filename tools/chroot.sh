#
# chroot.sh - chroots of Debian's suites, and the counts of the tests in them
#
# The tools that test Debian's packages source this file after common.sh, which sets $top and
# $prog.  A tool sets "trap finish EXIT" and calls need_chroots.  It then sets $root, the folder
# of the chroot that the other functions act on.
#

# shellcheck disable=SC2154	# common.sh sets top and prog, the tools set root

passed=0 failed=0 skipped=0 finished=no
finish()
{
	local rc=$?
	trap - EXIT
	[ $finished = yes ] || failed=$((failed + 1))
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $finished = yes ] || exit $((rc == 0 ? 1 : rc))
	[ $failed = 0 ] || exit 1
	exit 0
}

# skip REASON - print the reason, and end
skip()
{
	note "skipped: $1"
	skipped=1 finished=yes
	exit
}

# need_chroots - skip if no chroots can be made here; set $mirror, the mirror of Debian that
# this machine's apt uses, its $keyring, and $namespaces
need_chroots()
{
	[ "$(id -u)" = 0 ] || skip "it takes root to make a chroot"
	local program
	for program in apt-get apt-cache debootstrap chroot unshare setpriv; do
		command -v $program > /dev/null || skip "\"$program\" was not found, run tools/deps test"
	done
	namespaces=(unshare --mount --propagation private --pid --fork --kill-child)
	"${namespaces[@]}" true 2> /dev/null || skip "no namespaces of mounts and of processes can be made here"
	# shellcheck disable=SC2016	# apt-get expands them
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' 2> /dev/null |
		awk '$0 == $1 " Debian" && !seen { print $1; seen = 1 }')
	[ -n "$mirror" ] || skip "apt has no lists of a mirror of Debian (hint: apt-get update)"
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -f $keyring ] || skip "\"$keyring\" was not found, install debian-archive-keyring"
}

# first_error LOG - print the first error or warning of apt or debootstrap
first_error()
{
	sed -n '/^[WE]: /{ s///; p; q }' "$1"
}

# Each of these two scripts runs as process 1 of the namespaces.  A signal ends process 1 at
# once, and with it all other processes.  The second script also mounts the file systems that
# programs in the chroot $1 need.
# shellcheck disable=SC2016	# bash expands them
run='
	trap "exit 143" INT TERM HUP
	"$@" &
	wait $!'
# shellcheck disable=SC2016
run_in_chroot='
	set -e
	root=$1
	shift
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=0755,size=1m tmpfs "$root/dev"
	for device in full null random tty urandom zero; do
		: > "$root/dev/$device"
		mount --bind "/dev/$device" "$root/dev/$device"
	done
	ln -s /proc/self/fd "$root/dev/fd"
	mkdir "$root/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	set -- chroot "$root" "$@"'$run

# in_chroot COMMAND... - run it in the chroot, without our environment variables except those
# for proxies
in_chroot()
{
	local variables=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive) name
	for name in http_proxy https_proxy no_proxy; do
		[ -z "${!name:-}" ] || variables+=("$name=${!name}")
	done
	"${namespaces[@]}" bash -c "$run_in_chroot" "${prog##*/}" "$root" env -i "${variables[@]}" "$@"
}

# make_chroot SUITE... - make the chroot $root of the first suite, with the package lists of all
make_chroot()
{
	local include=()
	rm -rf --one-file-system "$root" "$root.made"
	[[ "$mirror" != https:* ]] || include=(--include=ca-certificates)
	# The mounts that debootstrap makes disappear with the namespace, too.
	"${namespaces[@]}" bash -c "$run" "${prog##*/}" \
		debootstrap --variant=minbase "${include[@]}" --keyring="$keyring" "$1" "$root" "$mirror" || return 1
	printf "deb [signed-by=$keyring] $mirror %s main\n" "$@" > "$root/etc/apt/sources.list"
	printf '%s\n' 'APT::Install-Recommends "false";' 'Acquire::Languages "none";' 'APT::Sandbox::User "root";' > "$root/etc/apt/apt.conf.d/pg_dense"
	# Start no services, and create no system cluster.
	printf '%s\n' '#!/bin/sh' 'exit 101' > "$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir -p "$root/etc/postgresql-common/createcluster.d"
	echo "create_main_cluster = false" > "$root/etc/postgresql-common/createcluster.d/pg_dense.conf"
	printf '%s\n' 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/locale/*' > "$root/etc/dpkg/dpkg.cfg.d/pg_dense"
}

# copy_network_settings - give the chroot this machine's settings for the network and for apt
copy_network_settings()
{
	local file
	for file in /etc/resolv.conf /etc/hosts; do
		[ ! -f $file ] || cp -L $file "$root$file"
	done
	# Copy apt's settings for proxies, and for accepting expired package lists.
	apt-config dump | grep -iE '^Acquire::(.*Proxy|Check-(Valid-Until|Date) )' > "$root/etc/apt/apt.conf.d/pg_dense_mirror" || true
}

# take_files PACKAGE... - unpack packages in the chroot without those that they depend on
take_files()
{
	rm -rf "$root/srv/dev"
	mkdir "$root/srv/dev"
	# shellcheck disable=SC2016	# the chroot's shell expands them
	in_chroot sh -ec '
		cd /srv/dev
		apt-get -q download "$@"
		for file in *.deb; do dpkg-deb -x "$file" /; done
		apt-get clean' sh "$@"
}

# what apt and debootstrap say if packages are not available
unavailable="Failed to fetch|Unable to fetch|Couldn't (download|retrieve)|Failed getting release|is expired|is not valid yet|signed by unknown key|Cannot install into target"

# step_or_skip STEP_ARG... - run a step that needs packages.  If packages are not available,
# skip: that is no failure of the tests.
step_or_skip()
{
	step "$@" && return
	! grep -qE "$unavailable" "$2" ||
		skip "packages are not to be had: $(first_error "$2")"
	exit 1
}

# made_or_skip STEP_ARG... - run a step that changes the chroot $root.  The file $root.unfinished
# stays if the step is interrupted.
made_or_skip()
{
	: > "$root.unfinished"
	step_or_skip "$@"
}
