# SPDX-License-Identifier: MIT
# Sources and packages from Debian, for tests/urcu/run, which sources this.
#
# Sources come through apt-get with lists of its own in $work/apt, so that the machine's
# are left as they are and need not name sources.

# apt_sources: the source lists, fetched once.
apt_sources() {
	local release
	[ -e "$work/apt/fetched" ] && return
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	printf 'deb-src http://deb.debian.org/%s main\n' "debian $release" \
		"debian-security $release-security" > "$work/apt/sources.list"
	printf '%s "%s";\n' Dir::Etc::SourceList "$work/apt/sources.list" \
		Dir::Etc::SourceParts - Dir::State::Lists "$work/apt/lists" \
		Dir::Cache "$work/apt/cache" > "$work/apt/conf"
	APT_CONFIG=$work/apt/conf apt-get update && touch "$work/apt/fetched"
}

# fetch SOURCE: unpacks Debian's source package to $work/sources/SOURCE.
fetch() {
	local source=$1 unpacked
	[ -d "$work/sources/$source" ] && return
	if ! command -v apt-get > /dev/null || ! command -v dpkg-source > /dev/null; then
		echo "urcu: no apt-get, or no dpkg-source (package dpkg-dev): no sources"
		return 1
	fi
	rm -rf "$work/sources/.fetch"
	mkdir -p "$work/sources/.fetch"
	if ! (cd "$work/sources/.fetch" && apt_sources && 
		APT_CONFIG=$work/apt/conf timeout 600 apt-get source "$source"); then
		echo "urcu: apt-get source $source failed; is the network there? see the log above"
		return 1
	fi
	unpacked=$(find "$work/sources/.fetch" -mindepth 1 -maxdepth 1 -type d)
	mv "$unpacked" "$work/sources/$source" && rm -rf "$work/sources/.fetch"
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
