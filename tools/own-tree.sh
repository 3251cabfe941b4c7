#
# own-tree.sh - the patch series in a source tree that is not below build/
#
# tools/patches sources this file after common.sh and series.sh, for its commands apply, remove
# and export --quilt.
#
# The folder .pg_dense in the source tree keeps a copy of each patch that was applied, so that
# the same patches can be taken back later, even if the files of the series have changed since.
# All changes are made to copies of the files first.  The tree is changed only if every patch
# has been applied to the copies.
#

# shellcheck disable=SC2154	# tools/patches, common.sh and series.sh set the other variables

# open_tree DIR FEATURE... - check the source tree and the features; set $tree, $tree_version,
# $major and $chosen, the features in their order, which are all if none is given
open_tree()
{
	local dir=$1 name
	shift
	[ -d "$dir" ] || die "directory \"$dir\" does not exist"
	tree=$(cd "$dir" && pwd -P)
	tree_version=
	[ ! -f "$tree/configure" ] ||
		tree_version=$(sed -n "s/^PACKAGE_STRING='PostgreSQL \(.*\)'\$/\1/p" "$tree/configure")
	[ -n "$tree_version" ] || die "\"$dir\" is not a source tree of PostgreSQL: it has no file \"configure\" that names a version"
	major=${tree_version%%[!0-9]*}
	if ! majors | grep -xF -- "$major" > /dev/null || ! is_patched "$major"; then
		die "\"$dir\" is PostgreSQL $tree_version, there are patches for $(majors | while read -r name; do ! is_patched "$name" || echo "$name"; done | paste -sd ' ')"
	fi
	for name in "$@"; do
		require_feature "$name"
		patched_features "$major" | grep -xF -- "$name" > /dev/null || die "feature \"$name\" has no patches for PostgreSQL $major"
	done
	mapfile -t chosen < <(patched_features "$major")
	[ $# = 0 ] || mapfile -t chosen < <(patched_features "$major" | grep -xF "$(printf '%s\n' "$@")")
	[ -w "$tree" ] || die "directory \"$tree\" is not writable"
	if [ "$tree_version" != "$(release "$major" version)" ]; then
		note "the patches are made for PostgreSQL $(release "$major" version), \"$dir\" is $tree_version; lines may have moved, but all lines around a change must be the same"
	fi
	work=$(mktemp -d) || die "could not create a temporary directory"
	mkdir "$work/new" "$work/old"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
}

# patches_of DIR - print the patches in the folder, in order
patches_of()
{
	find "$1" -maxdepth 1 -name '*.patch' 2> /dev/null | sort
}

# files_of PATCH... - print the files that the patches change, make or delete
files_of()
{
	sed -n 's|^--- a/||p; s|^+++ b/||p' "$@" | sort -u
}

# copy_files - copy all files that the named patches touch from the tree, unless they are there
copy_files()
{
	local file
	while read -r file; do
		case /$file/ in */../*) die "patch of \"$file\": the path leaves the source tree" ;; esac
		[ ! -e "$work/new/$file" ] && [ -f "$tree/$file" ] || continue
		mkdir -p "$work/new/$(dirname "$file")"
		cp -p "$tree/$file" "$work/new/$file" || die "could not read \"$tree/$file\""
	done < <(files_of "$@")
}

# change DIR OPTION... PATCH - apply a patch to the files in a folder, without fuzz; set $obstacle
# if this fails.  Let git find no repository, so that it does not leave out files.
change()
{
	local dir=$1
	shift
	obstacle=$(cd "$dir" && GIT_CEILING_DIRECTORIES=$(dirname "$dir") git apply --whitespace=nowarn "$@" 2>&1) && return
	obstacle=$(sed -n 's/^error: patch failed: \(.*\):\([0-9]*\)$/\1, line \2/p; s/^error: \(.*: No such file or directory\)$/\1/p; s/^error: \(.*: already exists in working directory\)$/\1/p' <<< "$obstacle" | sed q)
	return 1
}

# apply_to_copies PATCH... - apply the patches of a series to the copies of the files
apply_to_copies()
{
	local patch
	for patch in "$@"; do
		change "$work/new" "$patch" ||
			die "${patch#"$top/"} does not apply to PostgreSQL $tree_version: ${obstacle:-unknown cause}; nothing was changed"
	done
}

# applied_by_hand FEATURE - print how many patches of the series, from the first on, are in the
# tree
applied_by_hand()
{
	local patches count i
	mapfile -t patches < <(patches_of "$top/$1/$major")
	for ((count = ${#patches[@]}; count > 0; count--)); do
		rm -rf "$work/try"
		cp -a "$work/new" "$work/try"
		for ((i = count; i > 0; i--)); do
			change "$work/try" -R "${patches[i - 1]}" || continue 2
		done
		break
	done
	echo $count
}

# installed FEATURE - tell how the series is in the tree: "no", "same", "other" or "by-hand"
installed()
{
	local found count
	if [ -d "$tree/.pg_dense/$1" ]; then
		diff -rq "$tree/.pg_dense/$1" "$top/$1/$major" > /dev/null && echo same || echo other
		return
	fi
	count=$(applied_by_hand "$1")
	found=$(patches_of "$top/$1/$major" | wc -l)
	case $count in
		0) echo no ;;
		"$found") echo by-hand ;;
		*) die "$count of $found patches of $1 are in \"$tree\", the others are not; take the files from the release again" ;;
	esac
}

# write_file FILE - replace a file of the tree, with the owner and the mode that it has, or with
# those of "configure", but not executable.  This function runs where "set -e" does not apply.
write_file()
{
	local new=$tree/$1.pg_dense
	if [ -e "$tree/$1" ]; then
		cp -p "$tree/$1" "$new" || return 1
	else
		cp -p "$tree/configure" "$new" && chmod a-x "$new" || return 1
	fi
	cat "$work/new/$1" > "$new" && touch "$new" && mv "$new" "$tree/$1"
}

# put_back - restore the files that write_tree has written
# shellcheck disable=SC2317	# a trap calls it
put_back()
{
	local file
	for file in "${written[@]}"; do
		if [ -e "$work/old/$file" ]; then cp -p "$work/old/$file" "$tree/$file"; else rm -f "$tree/$file"; fi
	done
	rm -rf "$work"
}

# write_tree - bring the changed files into the tree.  After an error, put back the old ones.
write_tree()
{
	local file
	written=()
	trap put_back EXIT
	while read -r file; do
		! cmp -s "$work/new/$file" "$tree/$file" || continue
		[ -e "$work/new/$file" ] || [ -e "$tree/$file" ] || continue
		written+=("$file")
		if [ -e "$tree/$file" ]; then
			mkdir -p "$work/old/$(dirname "$file")"
			cp -p "$tree/$file" "$work/old/$file" || die "could not read \"$tree/$file\""
		fi
		if [ ! -e "$work/new/$file" ]; then
			rm "$tree/$file" || die "could not remove \"$tree/$file\""
			rmdir -p "$tree/$(dirname "$file")" 2> /dev/null || true
			continue
		fi
		make_dir "$tree/$(dirname "$file")"
		# Write a new file, so that a copy of the tree made of hard links does not change.
		write_file "$file" 2> "$work/message" || {
			rm -f "$tree/$file.pg_dense" 2> /dev/null || true
			die "could not write \"$tree/$file\", nothing was changed: $(tail -n 1 "$work/message" | sed 's/.*: //')"
		}
	done < "$work/files"
	trap 'rm -rf "$work"' EXIT
}

# finish VERB FEATURE... - say what was done, and what to do next
finish()
{
	local verb=$1 all
	shift
	note "$verb PostgreSQL $tree_version in \"$tree\": $*"
	mapfile -t all < <(patched_features "$major" | while read -r name; do [ ! -d "$tree/.pg_dense/$name" ] || echo "$name"; done)
	[ ! -f "$tree/config.status" ] || note "the tree was built before: run \"make distclean\" in it"
	[ ${#all[@]} = 0 ] || note "then configure it; to see the patches in version(): ./configure --with-extra-version=' (pg_dense: ${all[*]})'"
}

apply_to_tree()
{
	local feature patches state todo=()
	for feature in "${chosen[@]}"; do
		mapfile -t patches < <(patches_of "$top/$feature/$major")
		copy_files "${patches[@]}"
		state=$(installed "$feature") || exit
		case $state in
			same | by-hand) note "$feature is in \"$tree\" already" && continue ;;
			other) die "\"$tree\" has another version of $feature, run tools/patches remove \"$tree\" $feature first" ;;
		esac
		apply_to_copies "${patches[@]}"
		files_of "${patches[@]}" >> "$work/files"
		todo+=("$feature")
	done
	[ ${#todo[@]} -gt 0 ] || return 0
	write_tree
	for feature in "${todo[@]}"; do
		make_dir "$tree/.pg_dense/$feature"
		cp "$top/$feature/$major"/*.patch "$tree/.pg_dense/$feature/" || die "could not write to \"$tree/.pg_dense\""
	done
	finish "patched" "${todo[@]}"
}

remove_from_tree()
{
	local feature i dir patch patches state todo=()
	for ((i = ${#chosen[@]} - 1; i >= 0; i--)); do
		feature=${chosen[i]} dir=$tree/.pg_dense/${chosen[i]}
		if [ ! -d "$dir" ]; then
			dir=$top/$feature/$major
			mapfile -t patches < <(patches_of "$dir")
			copy_files "${patches[@]}"
			state=$(installed "$feature") || exit
			[ "$state" = by-hand ] || continue
		fi
		mapfile -t patches < <(patches_of "$dir" | tac)
		copy_files "${patches[@]}"
		for patch in "${patches[@]}"; do
			change "$work/new" -R "$patch" ||
				die "$feature cannot be taken back, because its lines have changed since: ${obstacle:-unknown cause}, $(basename "$patch"); nothing was changed"
		done
		files_of "${patches[@]}" >> "$work/files"
		todo+=("$feature")
	done
	[ ${#todo[@]} -gt 0 ] || die "\"$tree\" has no patches of ${chosen[*]}"
	write_tree
	for feature in "${todo[@]}"; do rm -rf "$tree/.pg_dense/${feature:?}"; done
	rmdir "$tree/.pg_dense" 2> /dev/null || true
	finish "took the patches back from" "${todo[@]}"
}

# Write the series as entries of debian/patches, after all others.
export_quilt()
{
	local feature patch patches entries=() dir=$tree/debian/patches
	[ -d "$tree/debian" ] || die "\"$tree\" has no folder \"debian\""
	[ ! -d "$tree/.pg_dense" ] || die "\"$tree\" is patched, run tools/patches remove \"$tree\" first"
	! grep -s '^pg_dense/' "$tree/.pc/applied-patches" > /dev/null || die "quilt has applied the patches of pg_dense, run \"quilt pop\" until it has not"
	for feature in "${chosen[@]}"; do
		mapfile -t patches < <(patches_of "$top/$feature/$major")
		copy_files "${patches[@]}"
		apply_to_copies "${patches[@]}"
	done
	make_dir "$dir"
	rm -rf "$dir/pg_dense"
	make_dir "$dir/pg_dense"
	for feature in "${chosen[@]}"; do
		while read -r patch; do
			entries+=("pg_dense/$feature-$(basename "$patch")")
			cp "$patch" "$dir/${entries[-1]}" || die "could not write to \"$dir/pg_dense\""
		done < <(patches_of "$top/$feature/$major")
	done
	{
		grep -v '^pg_dense/' "$dir/series" 2> /dev/null || true
		printf '%s\n' "${entries[@]}"
	} > "$work/series"
	cat "$work/series" > "$dir/series" || die "could not write to \"$dir/series\""
	note "debian/patches of PostgreSQL $tree_version in \"$tree\" now has ${#entries[@]} patches of ${chosen[*]}"
}
