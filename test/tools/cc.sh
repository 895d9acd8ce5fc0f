#!/bin/sh
# gcc, cc and clang-14 as the quick tier calls them, by links of these names: the
# compiler of the PATH that was ($SYSTEM_PATH), with the header of test/tools/narrow
# for sources that are not for AVX-512.
wide=
for word; do
	case $word in
	-) wide=yes ;;
	*.c) [ "$wide" ] || ! grep -qs avx512 "$word" || wide=yes ;;
	esac
done
[ "$wide" ] || export CPATH="$NARROW${CPATH:+:$CPATH}"
PATH=$SYSTEM_PATH
exec "${0##*/}" "$@"
