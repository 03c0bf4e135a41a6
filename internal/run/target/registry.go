package target

import (
	"context"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/device/ref"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// kinds lists all kinds of devices, in the order in which people are shown them.
var kinds = []*device.Kind{&cpu.Kind, &ref.Kind, &cuda.Kind, &opencl.Kind}

// auto stands for the first NVIDIA GPU that can be used, or else the cpu.
const auto = "auto"

// Unknown says that a text names no device.
type Unknown struct {
	Text    string
	Nearest string // what may have been meant; "" if nothing is near
}

// Error says so.
func (e *Unknown) Error() string { return "there is no device " + e.Text }

// Hint says what to do.
func (e *Unknown) Hint() string {
	if e.Nearest != "" {
		return fmt.Sprintf("did you mean %s?", e.Nearest)
	}
	return "gridloom devices lists what there is"
}

// Parse returns the kind and the number of the device that a text names: "cpu",
// "cuda:0", "cuda" for the first, "auto". An error is an *Unknown. Nothing is opened.
func Parse(text string) (*device.Kind, int, error) {
	if text == auto {
		text = automatic()
	}
	for _, k := range kinds {
		if ordinal, ok := k.ParseID(text); ok {
			return k, ordinal, nil
		}
	}
	return nil, 0, &Unknown{text, nearest(text)}
}

// nearest returns the device that a text is likely to mean, if any.
func nearest(text string) string {
	name, _, _ := strings.Cut(text, ":")
	for _, k := range kinds {
		if k.Name == name {
			return k.ID(0) // the number is wrong
		}
	}
	return diag.Nearest(name, Names())
}

// Names returns the words that devices are called by, without their numbers.
func Names() []string {
	names := []string{auto}
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// automatic resolves auto. OpenCL is not asked: its devices are the same GPUs, or the
// same processors.
func automatic() string {
	for _, d := range cuda.Describe() {
		if d.Unusable == "" {
			return d.ID
		}
	}
	return cpu.Kind.Name
}

// Describe describes all devices of this machine to people, those that cannot be used
// included.
func Describe(ctx context.Context, cache *toolchain.Cache) ([]device.Info, error) {
	var list []device.Info
	for _, k := range kinds {
		found, err := k.Describe(ctx, cache)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// Connect opens the device that an ID names, in a worker process.
func Connect(id string, o device.OpenOptions) (device.Device, error) {
	k, ordinal, err := Parse(id)
	if err != nil {
		return nil, err
	}
	return k.Open(ordinal, o)
}

// Services are those that workers of compilers run.
func Services() []worker.Service {
	var list []worker.Service
	for _, k := range kinds {
		list = append(list, k.Services...)
	}
	return list
}
