package predict

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/gridloom/gridloom/internal/tune/session"
)

// Models that come with Gridloom. cards has what each was made of, how it did, and what it is not for.
//
//go:embed models
var models embed.FS

var builtin = sync.OnceValues(func() ([]*Model, error) {
	names, err := fs.Glob(models, "models/*.json.gz")
	if err != nil {
		return nil, err
	}
	var list []*Model
	for _, name := range names {
		f, err := models.Open(name)
		if err != nil {
			return nil, err
		}
		m, err := ReadModel(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, m)
	}
	return list, nil
})

// Builtin returns the model of a device that comes with Gridloom; nil if there is none.
func Builtin(d *session.Device) (*Model, error) {
	list, err := builtin()
	for _, m := range list {
		if m.For(d) {
			return m, err
		}
	}
	return nil, err
}
