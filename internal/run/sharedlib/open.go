// Package sharedlib opens shared libraries at run time, without cgo, and binds
// their functions: drivers and compilers that one machine has and another lacks.
package sharedlib

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/ebitengine/purego"
)

// Place says where a shared library may be.
type Place struct {
	Env     string   // the environment variable that names it
	Names   []string // as the system's loader knows it, the preferred first
	Folders []string // where else it may lie, with wildcards
}

// Open opens the first library that can be. The error is what the loader said
// of the most promising candidate.
func (p Place) Open() (handle uintptr, path string, err error) {
	runtime.LockOSThread() // the loader keeps its last error for each thread
	defer runtime.UnlockOSThread()
	if named := os.Getenv(p.Env); named != "" {
		handle, err := purego.Dlopen(named, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return 0, "", fmt.Errorf("%w (named by %s)", err, p.Env)
		}
		return handle, named, nil
	}
	var said error
	for _, path := range p.candidates() {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return handle, path, nil
		}
		// A library that is there and cannot be loaded tells more than those
		// that are not.
		if said == nil || strings.Contains(said.Error(), absent) && !strings.Contains(err.Error(), absent) {
			said = err
		}
	}
	return 0, "", said
}

const absent = "No such file"

func (p Place) candidates() []string {
	list := slices.Clone(p.Names)
	for _, pattern := range p.Folders {
		folders, _ := filepath.Glob(pattern)
		slices.Sort(folders)
		slices.Reverse(folders) // newer versions first
		for _, folder := range folders {
			for _, name := range p.Names {
				path := filepath.Join(folder, name)
				if _, err := os.Stat(path); err == nil {
					list = append(list, path)
				}
			}
		}
	}
	return list
}

// Beside returns folders relative to that of a program, if there is one.
func Beside(program string, folders ...string) []string {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil
	}
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	var list []string
	for _, dir := range dirs {
		for _, f := range folders {
			list = append(list, filepath.Join(dir, f))
		}
	}
	return list
}

// Bind sets the fields of a struct to the functions of a library that their
// tags name: a field of a function type to one that converts its arguments, a
// field of type uintptr to the address. A tag that ends in ",optional" leaves
// a field as it is where the library lacks the function.
func Bind(handle uintptr, api any) error {
	v := reflect.ValueOf(api).Elem()
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("symbol"), ",")
		if name == "" {
			continue
		}
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			if option == "optional" {
				continue
			}
			return fmt.Errorf("it has no function %s: it is too old, or no such library", name)
		}
		if field := v.Field(i); field.Kind() == reflect.Uintptr {
			field.SetUint(uint64(address))
		} else {
			purego.RegisterFunc(field.Addr().Interface(), address)
		}
	}
	return nil
}
