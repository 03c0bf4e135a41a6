package sharedlib

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Of several candidates, one that is there and broken tells most.
func TestMostPromising(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "libbroken.so")
	if err := os.WriteFile(broken, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Place{Env: "GRIDLOOM_NONE", Names: []string{"libnone.so", "libbroken.so"},
		Folders: []string{filepath.Dir(broken)}}
	if _, _, err := p.Open(); err == nil || !strings.Contains(err.Error(), broken+": ") {
		t.Error(err)
	}
	t.Setenv("GRIDLOOM_NONE", "libnone.so")
	want := "libnone.so: cannot open shared object file: No such file or directory (named by GRIDLOOM_NONE)"
	if _, _, err := p.Open(); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestBind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no libc.so.6")
	}
	library, path, err := Place{Names: []string{"libc.so.6"}}.Open()
	if err != nil || path != "libc.so.6" {
		t.Fatal(path, err)
	}
	var api struct {
		Labs    func(int64) int64 `symbol:"labs"`
		Abort   uintptr           `symbol:"abort"`
		Newer   func()            `symbol:"no_such_function,optional"`
		Unbound int
	}
	if err := Bind(library, &api); err != nil {
		t.Fatal(err)
	}
	if api.Labs(-7) != 7 || api.Abort == 0 || api.Newer != nil {
		t.Errorf("%+v", api)
	}
	var lacking struct {
		Newer func() `symbol:"no_such_function"`
	}
	if err := Bind(library, &lacking); err == nil ||
		err.Error() != "it has no function no_such_function: it is too old, or no such library" {
		t.Error(err)
	}
}
