#!/usr/bin/env bash
# Runs a command in a folder that holds Debian's sid, for the Pythons that a machine lacks. They are
# /usr/bin/python3.14 and /usr/bin/python3.15 there, and nowhere outside:
#
#     scripts/debian-python.sh --has 3.14                 whether it has that version
#     scripts/debian-python.sh python3.15 -m venv FOLDER  the checkout is at its own path in there; no other Python can use
#                                                         a venv that was made so
#
# The folder is made once, in 2 to 3 minutes: in TICKTREE_PYTHONS, by default in the user's cache, where all checkouts share
# it. That takes root, and a Debian or a relative of it, from whose apt configuration the address is. pip works in there as it
# does outside: each file and folder that its configuration names, and the certificates, are where they are outside.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=(3.14 3.15)
packages=ca-certificates,gcc,git,libc6-dev,procps
for version in "${versions[@]}"; do packages+=,python$version,python$version-dev,python$version-venv; done
folder=${TICKTREE_PYTHONS:-${XDG_CACHE_HOME:-$HOME/.cache}/ticktree}/debian-sid

if [ "$1" = --has ]; then
    [[ " ${versions[*]} " == *" $2 "* ]] && [ "$(id -u)" = 0 ] && command -v apt-get unshare >/dev/null
    exit
fi

make_folder() {
    if ! command -v debootstrap >/dev/null; then
        apt-get update -qq
        apt-get install -y -qq debootstrap >/dev/null
    fi
    local address
    address=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -1)
    echo "making $folder" >&2
    rm -rf "$folder" "$folder.new"
    debootstrap --variant=minbase --include="$packages" sid "$folder.new" ${address:+"$address"} >"$folder.log" ||
        { tail -5 "$folder.log" >&2; exit 1; }
    echo "$packages" >"$folder.new/packages"
    mv "$folder.new" "$folder"
}

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
[ "$(cat "$folder/packages" 2>/dev/null)" = "$packages" ] || make_folder
flock -u 9

# What pip is to read, in its files and in variables: paths, and addresses of files. An index that is a folder links
# to what is next to it, so that its parent is needed.
named_by_pip() {
    python3 -m pip config debug 2>/dev/null | sed -n 's/^ *\(\/.*\), exists: True$/\1/p'
    { python3 -m pip config list 2>/dev/null; env; } | grep -E '^(global|install|:env:|PIP_|SSL_CERT|REQUESTS_CA|CURL_CA)' |
        grep -oE "/[^ '\":]+" | while read -r path; do
        path=$(realpath -sm "$path")
        if [ -d "$path" ] && [ "${path%/*}" ]; then echo "${path%/*}"; else echo "$path"; fi
    done
}

# The mounts are this command's own, and go with it.
export folder
paths=$({ printf '%s\n' "$PWD" /proc /sys /dev /tmp /etc/ssl /etc/resolv.conf; named_by_pip; } | sort -u)
exec 9>&-
exec unshare --mount --propagation private bash -euc '
    while read -r path; do
        [ -e "$path" ] || continue
        if [ -d "$path" ]; then mkdir -p "$folder$path"; else mkdir -p "$folder${path%/*}" && touch -a "$folder$path"; fi
        mount --rbind "$path" "$folder$path"
    done <<<"$1"
    shift
    exec chroot "$folder" env -C "$PWD" "$@"' _ "$paths" "$@"
