#!/bin/sh
# Builds gridloom, runs stencils from the literature with it, each compared with
# the reference executor, each drawn, and tunes one for this machine, on its GPU if
# it has one. Results are in out/, and the last line names the report. The one thing that
# may be installed is a C compiler, which gridloom uses to run stencils on the
# processor.
set -eu
cd "$(dirname "$0")"

say() { printf '== %s\n' "$*"; }
fail() { printf 'demo.sh: %s\n' "$*" >&2; exit 1; }

command -v go >/dev/null 2>&1 || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null 2>&1 || fail "Go 1.26 or newer is needed; see https://go.dev/doc/install"
version=$(go env GOVERSION) || fail "Go 1.26 or newer is needed"
case $version in
go1.2[6-9]* | go1.[3-9][0-9]* | go1.[1-9][0-9][0-9]* | go[2-9]* | devel*) ;;
*) fail "Go 1.26 or newer is needed, and this is $version" ;;
esac

if ! command -v gcc >/dev/null 2>&1; then
	command -v apt-get >/dev/null 2>&1 || fail "there is no apt-get; please install gcc"
	sudo=
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null 2>&1 || fail "neither root nor sudo; please install gcc"
		sudo=sudo
	fi
	say "Installing gcc"
	$sudo apt-get update
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev
fi

say "Building build/gridloom"
export CGO_ENABLED=0
# Stamping the commit fails in a copy that belongs to another user.
go build -o build/gridloom ./cmd/gridloom 2>/dev/null ||
	go build -buildvcs=false -o build/gridloom ./cmd/gridloom

# show prints a command as one would type it here, and runs it.
show() {
	printf '\n$ %s\n' "$*"
	"$@"
}

mkdir -p out
gridloom=build/gridloom

say "A program: heat that spreads in a block"
cat examples/heat3d.loom

say "What it needs, whatever runs it"
show $gridloom explain examples/heat3d.loom --machine cpu --svg out/heat3d.svg

say "Compiled, compared with the reference executor at every cell, run, drawn"
show $gridloom run examples/heat3d.loom --check --out u=out/heat3d.png --zoom 4 --out u=out/heat3d.npy

say "The edges of a photograph"
cp examples/data/photo.png out/photo.png
show $gridloom run examples/canny.loom --check --in photo=out/photo.png --out edges=out/edges.png --zoom 3

say "Sound below the sea, a picture every 40 steps"
show $gridloom run examples/wave.loom --every 40 --out 'p=out/wave_{step:03}.png' --map tide --range=-1.5:1.5 --zoom 2

say "The same as a library, to call from C, C++, Python and Fortran"
show $gridloom emit examples/heat3d.loom --out out/heat3d-library

# What is measured here stays here, so that the demo leaves nothing behind.
GRIDLOOM_STORE=$PWD/out/store.db
export GRIDLOOM_STORE

say "The fastest kernels for this machine: half a minute of search on its GPU, or else on its processor"
show $gridloom tune examples/heat3d.loom --device auto --budget 30s --out out/tuned

say "From now on run takes the best plan by itself"
show $gridloom run examples/heat3d.loom --device auto

say "Written to out/:"
ls out
say "The tuned library is out/tuned/library; the report of the search:"
printf '%s\n' "$PWD/out/tuned/report.html"
