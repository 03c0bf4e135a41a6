package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// heldOutFlags are the options of commands that judge models on kernels that these have not learned from.
type heldOutFlags struct {
	Recordings string `required:"" help:"The folder of the recordings to learn from, as gridloom record makes them." placeholder:"DIR"`
	Models     string `help:"A folder in which models are kept that were made without a part of the kernels, and what was counted of lowered kernels, so that it is made once." placeholder:"DIR"`
}

// heldOut prepares such models of what was recorded on a device, by a part of its name.
func (f *heldOutFlags) heldOut(ctx context.Context, device string) (*learning.HeldOut, error) {
	list, err := engine.Recordings(ctx, f.Recordings, device)
	if err != nil {
		return nil, err
	}
	h := learning.NewHeldOut(list)
	if h.Folder = f.Models; f.Models == "" {
		return h, nil
	}
	return h, os.MkdirAll(f.Models, 0o777)
}

// keeping does work by such models.
func (f *heldOutFlags) keeping(a *app, work func() error) error {
	if f.Models == "" {
		return work()
	}
	return predict.KeepVariants(a.ctx, filepath.Join(f.Models, "variants.gob.gz"), a.interrupts.hold, work)
}
