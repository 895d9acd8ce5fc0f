#!/bin/sh
# Installs the Debian packages that the build and the tests need, if any is
# missing, and those that are named: deps.sh [PACKAGE]...  With all of them
# there it takes milliseconds and asks nobody.  Without the optional ones tests
# are skipped: OpenCL's loader, a driver that makes the CPU a device, and a linker
# for GPUs of AMD's.
set -eu
packages='gcc make libc6-dev llvm-19-dev libxgboost-dev libyaml-dev
libffi-dev libsqlite3-dev libjansson-dev libcmocka-dev libgomp1 sqlite3 clang-14
libclang-rt-14-dev libomp-14-dev'
optional='ocl-icd-libopencl1 pocl-opencl-icd lld-19'
lacking() { # PACKAGE...: those that are not installed
	for p; do
		state=$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null || true)
		case $state in
		*' installed') ;;
		*) printf ' %s' "$p" ;;
		esac
	done
}
# shellcheck disable=SC2086
missing=$(lacking $packages "$@") wanted=$(lacking $optional)
[ -n "$missing$wanted" ] || exit 0
echo "installing:$missing$wanted"
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	command -v sudo >/dev/null || {
		[ -n "$missing" ] || exit 0
		echo "error: not root and no sudo; install these yourself" >&2
		exit 1
	}
fi
export DEBIAN_FRONTEND=noninteractive
install() {
	$sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
$sudo apt-get update -qq || [ -z "$missing" ]
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing
# shellcheck disable=SC2086
[ -z "$wanted" ] || install $wanted || echo "not installed:$wanted"

