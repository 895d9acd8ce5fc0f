#!/bin/sh
# Installs the Debian packages that the build and the tests need, if any is
# missing, and those that are named: deps.sh [PACKAGE]...  With all of them
# there it takes milliseconds and asks nobody.
set -eu
packages='gcc make libc6-dev llvm-19-dev libxgboost-dev libyaml-dev
libsqlite3-dev libjansson-dev libcmocka-dev libgomp1 sqlite3 clang-14
libclang-rt-14-dev libomp-14-dev'
missing=
for p in $packages "$@"; do
	state=$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null || true)
	case $state in
	*' installed') ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	command -v sudo >/dev/null || {
		echo "error: not root and no sudo; install these yourself" >&2
		exit 1
	}
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
