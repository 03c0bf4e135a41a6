package ref

import (
	"context"
	"errors"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Kind is the reference executor. It runs programs and no kernels, so that it has no
// dialect and opens as no device.
var Kind = device.Kind{
	Name:     "ref",
	Describe: func(context.Context, *toolchain.Cache) ([]device.Info, error) { return []device.Info{Describe()}, nil },
	Find: func(int) (device.Properties, error) {
		return device.Properties{Name: Describe().Name, Shared: true}, nil
	},
	Open: func(int, device.OpenOptions) (device.Device, error) {
		return nil, errors.New("the reference executor runs no kernels")
	},
}
