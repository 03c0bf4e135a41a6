# Targets for daily work. ./test.sh is what a change has to pass.

# The product is built without cgo, and so are the tools that check it.
export CGO_ENABLED = 0

GOFMT = "$$(go env GOROOT)/bin/gofmt"
SOURCES = find . -name '*.go' ! -path './.*' ! -path './build/*' ! -path './out/*' ! -path '*/testdata/*'

.PHONY: build test properties fmt lint proof gpu-proof bench gpu-bench models

# A binary built from a checkout knows its commit, which results are kept with.
COMMIT = $(shell git describe --always --dirty=+changes --abbrev=12 --exclude='*' 2>/dev/null)

build:
	go build -buildvcs=false -ldflags "-X github.com/gridloom/gridloom/internal/cli.Commit=$(COMMIT)" -o build/gridloom ./cmd/gridloom

test:
	go test -timeout 80m ./...

# Twenty thousand new cases for every property, with seeds that no run had before:
# about half an hour on two processors.
properties:
	RAPID_CHECKS=20000 go test -count=1 -timeout 2h -run "^($$(grep -rl --include='*_test.go' 'rapid\.Check' internal | \
		xargs grep -ho '^func Test[A-Za-z0-9_]*' | sed 's/func //' | paste -sd'|'))\$$" \
		$$(grep -rl --include='*_test.go' 'rapid\.Check' internal | xargs -n 1 dirname | sort -u | sed 's/^/.\//')
	go test -count=1 -run TestFmaIsTheProcessors ./internal/run/device/cpu -triples 100000000

fmt:
	$(SOURCES) -exec $(GOFMT) -w {} +

lint:
	@unformatted=$$($(SOURCES) -exec $(GOFMT) -l {} +); \
	if [ -n "$$unformatted" ]; then \
		echo "Not formatted (make fmt repairs it):"; echo "$$unformatted"; exit 1; \
	fi
	go vet ./...
	go tool staticcheck ./...

# Ten thousand random programs on the processor, and twenty thousand with plans for
# GPUs in the simulator, every cell: about two hours on two processors.
proof: build
	build/gridloom bench proof --programs 10000 --json bench/results/proof.json
	build/gridloom bench proof --target gpu --pairs 20000 --json bench/results/proof-gpu-sim.json
	build/gridloom bench proof --target gpu --spans --pairs 10000 --json bench/results/proof-spans.json
	build/gridloom bench proof --dags --pairs 5000 --json bench/results/proof-dags.json
	build/gridloom bench proof --dags --fission cire --pairs 400 --seed 5000 --json bench/results/proof-dags-cire.json
	build/gridloom bench proof --dags --fission inline --pairs 1000 --seed 7000 --json bench/results/proof-dags-inline.json
	build/gridloom bench proof --dags --fission retime --pairs 4000 --seed 1 --json bench/results/proof-dags-retime.json
	go test -count=1 -timeout 1h -run '^(TestSpans|TestPipeClusters)$$' ./internal/compile/lower -whole
	go test -count=1 -timeout 1h -run TestProgramsHaveVariants ./internal/tune/eval/contest -whole

# Kernels of every kind on a GPU against the simulator, two hundred random plans of every
# example, and kernels of several iterations against single ones at full size, every cell.
gpu-proof: build
	go test -count=1 -run 'TestNodesRun|TestRandomKernelsRun|TestTemporalRun|TestDeviceExpressions' ./internal/compile/emit
	build/gridloom bench proof --device cuda:0 --plans 200 --json bench/results/proof-gpu.json
	build/gridloom bench proof --device cuda:0 --spans --pairs 200 --json bench/results/proof-spans-gpu.json

# Figures of this GPU; rivals take part if Python, nvcc, PyTorch and Triton are there.
gpu-bench: build
	build/gridloom bench spatial --rivals-dir bench/rivals --json bench/results/spatial.json
	build/gridloom bench temporal --suite h200 --json bench/results/temporal.json
	build/gridloom bench deep --json bench/results/deep.json
	build/gridloom bench depths --large --json bench/results/depths.json
	build/gridloom bench complex --json bench/results/complex.json
	build/gridloom bench compile --json bench/results/compile.json

# Figures of this processor; nothing else should run meanwhile.
bench: build
	build/gridloom bench cpu --json bench/results/cpu-spatial.json

# The models that come with Gridloom, anew from the recordings. The files are the same, byte for byte.
models: build
	build/gridloom learn --recordings bench/recordings --out internal/tune/predict/models/nvidia-h200.json.gz
	build/gridloom learn --recordings bench/recordings-cpu --out internal/tune/predict/models/processors.json.gz
