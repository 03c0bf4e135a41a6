# Targets for daily work. ./test.sh is what a change has to pass.

# The product is built without cgo, and so are the tools that check it.
export CGO_ENABLED = 0

GOFMT = "$$(go env GOROOT)/bin/gofmt"
SOURCES = find . -name '*.go' ! -path './.*' ! -path './build/*' ! -path './out/*' ! -path '*/testdata/*'

.PHONY: build test fmt lint

build:
	go build -o build/gridloom ./cmd/gridloom

test:
	go test -timeout 15m ./...

fmt:
	$(SOURCES) -exec $(GOFMT) -w {} +

lint:
	@unformatted=$$($(SOURCES) -exec $(GOFMT) -l {} +); \
	if [ -n "$$unformatted" ]; then \
		echo "Not formatted (make fmt repairs it):"; echo "$$unformatted"; exit 1; \
	fi
	go vet ./...
	go tool staticcheck ./...
