# SPDX-License-Identifier: MIT
# Sources and packages from Debian, for tests/urcu/run, which sources this.
#
# Sources come through apt-get from where this machine's own packages come from, its release and
# those after it; or from crates.io, where some crates carry a library's source. The lists are in
# $work/apt, so that the machine's are left as they are and need not name sources.
later_releases='trixie forky sid'

# apt_sources: the source lists, fetched once. A release that the mirror lacks is left out.
apt_sources() {
	local uri release label main=''
	[ -e "$work/apt/fetched" ] && return
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	while read -r uri release label; do
		echo "deb-src $uri $release main"
		[ "$label" = Debian ] && main=$uri
	done < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(LABEL)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u) > "$work/apt/sources.list"
	if [ ! -s "$work/apt/sources.list" ]; then
		echo "urcu: apt-get knows no package list of Debian's; run apt-get update first"
		return 1
	fi
	for release in $later_releases; do
		[ -n "$main" ] && echo "deb-src $main $release main"
	done >> "$work/apt/sources.list"
	printf '%s "%s";\n' Dir::Etc::SourceList "$work/apt/sources.list" \
		Dir::Etc::SourceParts - Dir::State::Lists "$work/apt/lists" \
		Dir::Cache "$work/apt/cache" > "$work/apt/conf"
	APT_CONFIG=$work/apt/conf apt-get update || echo "urcu: not every release is there"
	touch "$work/apt/fetched"
}

# versions SOURCE FIRST CRATE: those of the lists and of the crate; newest first, or with FIRST
# `release` that of this machine's release before the others.
versions() {
	local release own=''
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ "$2" = release ] && own=$(APT_CONFIG=$work/apt/conf apt-cache madison "$1" |
		awk -F '|' -v release=" $release" 'index($3, release) { print $2 }' | sort -rV)
	{
		echo "$own"
		{
			APT_CONFIG=$work/apt/conf apt-cache showsrc "$1" | sed -n 's/^Version: //p'
			echo "${3#*+}"
		} | sort -rV
	} | awk 'NF && !seen[$1]++ { print $1 }'
}

# unpack_original: a source package of which only the authors' archive could be had, which
# apt-get has checked.
unpack_original() {
	local archive
	archive=$(find . -maxdepth 1 -name '*.orig.tar.*' ! -name '*.asc' ! -name '*.FAILED')
	[ -n "$archive" ] && tar -xf "$archive"
}

# fetch_version SOURCE VERSION: unpacks below the current folder, with Debian's changes or without.
fetch_version() {
	export APT_CONFIG=$work/apt/conf
	timeout 600 apt-get source "$1=$2" && return
	timeout 600 apt-get source --download-only --tar-only "$1=$2"
	unpack_original && echo "urcu: $1 $2 is the authors' archive, without Debian's changes"
}

# fetch_crate NAME@NUMBER+VERSION: unpacks what a crate of this number carries in its folder vendor.
# Cargo, which wants a program that needs the crate, checks its digest.
fetch_crate() {
	local name=${1%@*} number=${1#*@}
	mkdir carrier && cd carrier && touch lib.rs || return
	printf '%s\n' '[package]' 'name = "carrier"' 'version = "0.1.0"' 'edition = "2021"' \
		'[lib]' 'path = "lib.rs"' '[workspace]' '[dependencies]' \
		"$name = \"=${number%+*}\"" > Cargo.toml
	timeout 600 cargo vendor --quiet crates && mv "crates/$name/vendor" ../unpacked &&
		cd .. && rm -rf carrier
}

# fetch SOURCE FIRST CRATE: unpacks the first version that can be had to $work/sources/SOURCE, and
# its number to SOURCE.version. CRATE as of fetch_crate, or empty.
fetch() {
	local source=$1 version unpacked get
	[ -d "$work/sources/$source" ] && return
	if ! command -v apt-get > /dev/null || ! command -v dpkg-source > /dev/null; then
		echo "urcu: no apt-get, or no dpkg-source (package dpkg-dev): no sources"
		return 1
	fi
	apt_sources || return
	for version in $(versions "$source" "$2" "$3"); do
		rm -rf "$work/sources/.fetch"
		mkdir -p "$work/sources/.fetch"
		get="fetch_version $source $version"
		[ "$version" = "${3#*+}" ] && get="fetch_crate $3"
		(cd "$work/sources/.fetch" && $get) || continue
		unpacked=$(find "$work/sources/.fetch" -mindepth 1 -maxdepth 1 -type d)
		mv "$unpacked" "$work/sources/$source" && rm -rf "$work/sources/.fetch"
		echo "$version" > "$work/sources/$source.version"
		return
	done
	echo "urcu: no version of the source package $source can be had; is the network there?"
	return 1
}

# install_missing "PACKAGE...": what a build needs.
install_missing() {
	local package missing=()
	for package in $1; do
		dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' ||
			missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return
	if [ "$(id -u)" -ne 0 ]; then
		echo "urcu: not root; install first: apt-get install ${missing[*]}"
		return 1
	fi
	if ! DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		"${missing[@]}"; then
		echo "urcu: apt-get could not install: ${missing[*]} (try apt-get update)"
		return 1
	fi
}
