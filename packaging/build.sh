#!/usr/bin/env bash
# Makes what is released, in the folder DIST: for each of ARCHS a tar, a deb and an rpm,
# with man pages, shell completions, dashboards and documentation, a list of what each
# program was built from, and checksums of all. The same commit yields the same bytes with
# the same Go and C compilers.
#
#   ARCHS              default: amd64 and arm64, those that there is a C compiler for
#   VERSION            default: as git describe says
#   SOURCE_DATE_EPOCH  the time of all files, default that of the commit
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 022
export LC_ALL=C TZ=UTC

dist=${DIST:-dist}
export VERSION=${VERSION:-$(git describe --tags --always --dirty)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
host=$(go env GOHOSTARCH)

# Packages compare versions: v1.2.0-3-gabc is after 1.2.0, and a commit without a release
# before all of them.
case $VERSION in
v[0-9]*) version=${VERSION#v} PACKAGE_VERSION=${version/-/+} PACKAGE_VERSION=${PACKAGE_VERSION//-/.} ;;
*) PACKAGE_VERSION=0.0.0~$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d).${VERSION//-/.} ;;
esac
export PACKAGE_VERSION

archs=${ARCHS:-}
if [ -z "$archs" ]; then
	for arch in amd64 arm64; do
		case $arch in amd64) cc=x86_64-linux-gnu-gcc ;; arm64) cc=aarch64-linux-gnu-gcc ;; esac
		if [ "$arch" = "$host" ] || command -v $cc >/dev/null; then archs+=" $arch"; fi
	done
fi

rm -rf "$dist"
mkdir -p "$dist"
STAGE=$(mktemp -d)
export STAGE
trap 'rm -rf "$STAGE"' EXIT
nfpm() { go tool -modfile=packaging/nfpm.mod nfpm "$@"; }

# What is the same for each architecture, made by the program itself.
packaging/binary.sh "$host" "$STAGE/host"
mkdir -p "$STAGE"/{completions,doc,share}
go test ./cmd/quorate -count=1 -run '^TestManPages$' -args -man "$STAGE/man" >/dev/null
"$STAGE/host" completion bash >"$STAGE/completions/quorate.bash"
"$STAGE/host" completion zsh >"$STAGE/completions/_quorate"
"$STAGE/host" completion fish >"$STAGE/completions/quorate.fish"
"$STAGE/host" config --example | sed 's/^#data-dir:/data-dir:/' >"$STAGE/quorate.yaml"
# The pages link to each other by their places in the repository.
cp -r --parents README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE docs \
	aggregator/README.md rpc/METHODS.md engine/archive/doc.go rollup/doc.go "$STAGE/doc"
cp LICENSE "$STAGE/doc/copyright"
cp -r packaging/grafana packaging/prometheus "$STAGE/share"
chmod -R u=rwX,go=rX "$STAGE"

# package FOLDER: a folder's content as a tar whose bytes depend on nothing else.
pack() {
	tar --create --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
		-C "$(dirname "$1")" "$(basename "$1")" | gzip -9 -n
}

for arch in $archs; do
	export ARCH=$arch
	if [ "$arch" = "$host" ]; then cp "$STAGE/host" "$STAGE/quorate"; else packaging/binary.sh "$arch" "$STAGE/quorate"; fi
	go run ./packaging/sbom "$STAGE/quorate" >"$dist/quorate-$VERSION-linux-$arch.cdx.json"

	tree="$STAGE/quorate-$VERSION-linux-$arch"
	mkdir "$tree"
	cp -r "$STAGE/quorate" "$STAGE/quorate.yaml" "$STAGE/completions" "$STAGE/man" "$STAGE/doc" "$STAGE/share/." "$tree"
	cp -r packaging/systemd "$tree"
	chmod -R u=rwX,go=rX "$tree"
	pack "$tree" >"$dist/$(basename "$tree").tar.gz"
	rm -rf "$tree"

	gzip -9 -n -f "$STAGE"/man/*.1
	find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	nfpm package --config packaging/nfpm.yaml --packager deb --target "$dist/"
	nfpm package --config packaging/nfpm.yaml --packager rpm --target "$dist/"
	gunzip "$STAGE"/man/*.1.gz
done
(cd "$dist" && sha256sum -- * >SHA256SUMS)
ls -l "$dist"
