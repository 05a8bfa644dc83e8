SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
# All targets build the same way, so that each finds what the others have compiled.
export GOFLAGS := -trimpath $(GOFLAGS)
.DEFAULT_GOAL := help

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Time for each fuzz target.
FUZZTIME ?= 20s
# Further arguments of make run, as in ARGS="--http-port 8080".
ARGS     ?=

staticcheck := go tool -modfile=tools.mod staticcheck

# Anything here makes bench-guard rewrite the baseline, or hold promises without slack.
UPDATE   ?=
STRICT   ?=
# How long make torture loads a server that signs, and one that follows a busy head.
SOAK      ?= 10m
SOAK_HEAD ?= 1h

# Packages that start goroutines or share what a lock guards: in others there is nothing for
# the race detector to see.
concurrent := grep -lrE --include='*.go' --exclude='*_test.go' --exclude-dir={bench,devnet,e2e} \
	'^\s+go |sync\.(RW)?Mutex|sync\.WaitGroup|\batomic\.(Bool|Int|Pointer|Uint|Value)|"quorate/engine/actor"' . | xargs -n 1 dirname | sort -u
race       := -race -short -vet=off -timeout 15m

# The race detector keeps four bytes for each one that is watched. By default it maps them
# anew for every allocation above 64 KiB, and page faults take most of the time of tests
# that make buffers and databases; up to 16 MiB they are cleared in place.
test torture: export GORACE := clear_shadow_mmap_threshold=16777216 $(GORACE)

.PHONY: docs help build run test torture e2e bench bench-guard fuzz lint upstream package clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/quorate
	go build -ldflags "-X main.version=$(VERSION)" -o bin/quorate ./cmd/quorate

run: build ## build, then serve with a simulated network (ARGS= for more flags)
	bin/quorate serve --devnet $(ARGS)

test: ## all tests, long campaigns in one round; what runs at once again, with the race detector and -short
	@# make lint runs vet.
	go test -vet=off -timeout 15m ./...
	cd client && go test -vet=off -timeout 5m ./...
	@# Packages in which the race detector itself crashed, and nothing failed, run once more.
	@out=$$(mktemp); trap 'rm -f "$$out"' EXIT; concurrent=$$($(concurrent)); echo go test $(race) $$concurrent; \
	go test $(race) $$concurrent 2>&1 | tee "$$out" || { \
		crashed=$$(awk -f .ci/crashed.awk "$$out") || exit 1; \
		echo "once more, the race detector itself has crashed (golang/go#78156):" $$crashed; \
		go test $(race) -count=1 $$crashed; }

torture: ## all tests with the long campaigns whole, servers under load for SOAK (default 10m) and SOAK_HEAD (1h), a real L1 over ten epochs
	@# One package after the other, each with a limit of its own, so that progress shows and one failure hides no other.
	failed=; for pkg in $$(go list ./...); do \
		QUORATE_TORTURE=1 QUORATE_SOAK=$(SOAK) go test -race -vet=off -count=1 -timeout 5h -v "$$pkg" \
			| { grep -E '^(--- |ok|FAIL|panic:|\?)|^ +[a-z_]+\.go:' || true; } || failed="$$failed $$pkg"; \
	done; \
	(e2e/tools.sh && cd e2e && QUORATE_TORTURE=1 QUORATE_SOAK=$(SOAK_HEAD) go test -vet=off -count=1 -timeout 5h -v -p 1 ./...) || failed="$$failed e2e"; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

e2e: build ## tests against a real Avalanche network, with official clients and a browser, and of packages
	e2e/tools.sh
	@# Everything is compiled first. The tests of the folder itself have the machine to
	@# themselves, those of the others run beside each other.
	cd e2e && go vet ./... && go build -modfile=versitygw.mod -o /dev/null github.com/versity/versitygw/cmd/versitygw && \
		go build -modfile=nats.mod -o /dev/null github.com/nats-io/nats-server/v2 && \
	failed=; test='go test -v -vet=off -count=1 -timeout 35m'; \
	$$test . || failed=1; $$test -p 2 $$(go list ./... | grep /e2e/) || failed=1; test -z "$$failed"

bench: ## all benchmarks
	go test -run '^$$' -bench . -benchmem ./...

bench-guard: ## compare costs with bench/baseline.json (UPDATE=1 rewrites it, STRICT=1 holds each promise)
	cd bench && go test -count=1 -timeout 10m -run '^TestGuard$$' -args -guard $(if $(UPDATE),-update) $(if $(STRICT),-strict)

fuzz: ## every fuzz target, FUZZTIME each (default 20s)
	@# By default go test spends up to a minute on making each input that it keeps smaller:
	@# with inputs of some kB all of FUZZTIME, in which next to nothing is tried.
	@for pkg in $$(go list ./...); do \
		list=$$(go test -list '^Fuzz' "$$pkg" | awk '/^Fuzz/'); \
		for target in $$list; do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 200x "$$pkg"; \
		done; \
	done

lint: ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt is needed for:"; echo "$$unformatted"; exit 1; fi
	go vet ./... && (cd client && go vet ./...)
	$(staticcheck) ./...

docs: build ## write the generated parts of docs/ and of the client again
	bin/quorate reference flags > docs/flags.md
	bin/quorate reference api > docs/api.md
	bin/quorate config --example > docs/quorate.yaml
	bin/quorate reference openapi | (cd client && go run ./internal/generate) > bin/api.go && mv bin/api.go client/api.go

upstream: ## print the newest releases of avalanchego and of both SDKs beside those tested; never fails
	@.ci/upstream

package: ## packages for release in dist: tar, deb, rpm, checksums (ARCHS="amd64 arm64")
	packaging/build.sh

clean: ## remove what was built
	rm -rf bin dist
