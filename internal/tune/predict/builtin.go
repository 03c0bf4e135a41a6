package predict

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode"

	"github.com/gridloom/gridloom/internal/tune/session"
)

// Models that come with Gridloom. README.md there has what each was made of, how it did, and what it is not for.
//
//go:embed models
var models embed.FS

// builtins are those that were read, by their files' names. To read one takes a tenth of a second.
var builtins = struct {
	mutex sync.Mutex
	known map[string]*Model // nil where there is no file
}{known: map[string]*Model{}}

// Builtin returns the model of a device that comes with Gridloom; nil if there is none.
func Builtin(d *session.Device) (*Model, error) {
	builtins.mutex.Lock()
	defer builtins.mutex.Unlock()
	name := fileOf(d)
	m, ok := builtins.known[name]
	if !ok {
		var err error
		if m, err = readBuiltin(name); err != nil {
			return nil, fmt.Errorf("models/%s: %w", name, err)
		}
		builtins.known[name] = m
	}
	if m == nil || !m.For(d) {
		return nil, nil
	}
	return m, nil
}

// fileOf names the file that the model of a device has if it comes with Gridloom: that of NVIDIA H200 is
// nvidia-h200.json.gz, and that of all processors processors.json.gz.
func fileOf(d *session.Device) string {
	name := d.Name
	if d.API == session.CPU {
		name = "processors"
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-") + ".json.gz"
}

// readBuiltin reads a file; nil if there is none.
func readBuiltin(name string) (*Model, error) {
	f, err := models.Open("models/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadModel(f)
}
