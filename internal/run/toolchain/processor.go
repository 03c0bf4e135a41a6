package toolchain

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Processor describes the processor that code is compiled for, so that code
// for another one is never taken for it: -march=native makes of one source
// different programs. Under a hypervisor the model alone does not say which
// instructions there are.
func Processor() string { return processor("/proc/cpuinfo") }

var processorKeys = []string{
	"vendor_id", "cpu family", "model", "model name", "stepping", "flags",
	"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
	"isa", "uarch", "cpu",
}

// processor reads the lines that tell one kind of processor from another from
// the first entry of a file like /proc/cpuinfo.
func processor(path string) string {
	words := []string{runtime.GOARCH}
	data, _ := os.ReadFile(path) // the architecture is better than nothing
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			break // the first entry ends at an empty line
		}
		if key = strings.TrimSpace(key); slices.Contains(processorKeys, key) {
			words = append(words, key+"="+strings.TrimSpace(value))
		}
	}
	return strings.Join(words, "\n")
}

// ProcessorFeatures returns what the processor can do, as the system lists it: "avx2".
func ProcessorFeatures() []string {
	for line := range strings.Lines(Processor()) {
		for _, key := range []string{"flags=", "Features=", "isa="} {
			if list, ok := strings.CutPrefix(line, key); ok {
				return strings.Fields(list)
			}
		}
	}
	return nil
}

// ProcessorName returns the processor's name for people.
func ProcessorName() string {
	for line := range strings.Lines(Processor()) {
		if name, ok := strings.CutPrefix(line, "model name="); ok {
			return strings.TrimSpace(name)
		}
	}
	return runtime.GOARCH + " processor"
}
