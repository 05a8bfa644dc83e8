#!/usr/bin/env bash
# binary.sh ARCH FILE: builds the program for Linux on amd64 or arm64, of any model, as one
# static file that needs no library of the machine.
#
# VERSION is what it says of itself. CC is the C compiler; for the other architecture the
# cross compiler of Debian's package gcc-aarch64-linux-gnu or gcc-x86-64-linux-gnu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
arch=$1 file=$2

case $arch in
amd64) cross=x86_64-linux-gnu-gcc ;;
arm64) cross=aarch64-linux-gnu-gcc ;;
*) echo "binary.sh: $arch is neither amd64 nor arm64" >&2; exit 2 ;;
esac
if [ "$(go env GOHOSTARCH)" = "$arch" ]; then cross=cc; fi
export CC=${CC:-$cross} GOOS=linux GOARCH=$arch CGO_ENABLED=1
# Without it blst is compiled for the processor that it is built on.
export CGO_CFLAGS="-O2 -D__BLST_PORTABLE__"
# Names and users are looked up by Go itself: glibc does neither in a static program.
go build -trimpath -buildvcs=false -tags netgo,osusergo \
	-ldflags "-s -w -buildid= -X main.version=${VERSION:?} -linkmode external -extldflags '-static -Wl,--build-id=none'" \
	-o "$file" ./cmd/quorate
