package sqlite

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/gridloom/gridloom/internal/run/gridio"
)

// DefaultPath returns where the store lies if nobody says otherwise: in the
// user's folder for data.
func DefaultPath() (string, error) {
	dir, err := dataFolder(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", &gridio.Error{Text: "there is no folder for the store: " + err.Error(),
			Hint: "name a file with --store or GRIDLOOM_STORE", Err: err}
	}
	return filepath.Join(dir, "gridloom", "store.db"), nil
}

// dataFolder returns the folder that a system keeps the user's data in. Like
// the specification of XDG, it takes no notice of relative paths.
func dataFolder(system string, env func(string) string, home func() (string, error)) (string, error) {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if dir := env("LocalAppData"); system == "windows" && dir != "" {
		return dir, nil
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	switch system {
	case "windows":
		return filepath.Join(dir, "AppData", "Local"), nil
	case "darwin":
		return filepath.Join(dir, "Library", "Application Support"), nil
	}
	return filepath.Join(dir, ".local", "share"), nil
}
