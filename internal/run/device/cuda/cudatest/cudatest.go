// Package cudatest lets tests use package cuda on machines without a GPU. It
// builds a shared object that offers the functions of libcuda, NVRTC and NVML
// that cuda binds, and carries them out on the processor: device memory is
// memory of the process, code is compiled by the system's C++ compiler, and
// the blocks of a grid run one after the other, and so do a block's threads,
// from barrier to barrier; asynchronous copies arrive when they are waited for.
// Clusters and barriers of the whole grid are beyond it.
package cudatest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed testdata/driver.cc
var driver []byte

//go:embed testdata/device.h
var device []byte

//go:embed testdata/profiler.c
var profiler []byte

//go:embed testdata/ncu.sh
var ncu []byte

// Memory is what the pretended GPU has.
const Memory = 1 << 30

// Install builds the shared object and names it in the environment, which has
// to happen before cuda is first used: in TestMain. What it made is removed by
// the function that it returns.
func Install() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "cudatest-*")
	if err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	file, object := filepath.Join(dir, "driver.cc"), filepath.Join(dir, "libdriver.so")
	for path, text := range map[string][]byte{file: driver, filepath.Join(dir, "device.h"): device} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			remove()
			return nil, err
		}
	}
	said, err := exec.Command("c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
		object, file, "-ldl").CombinedOutput()
	if err != nil {
		remove()
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	for _, env := range []string{"GRIDLOOM_LIBCUDA", "GRIDLOOM_NVRTC", "GRIDLOOM_NVML"} {
		os.Setenv(env, object)
	}
	os.Setenv("CUDATEST_DIR", dir)
	return remove, nil
}

// InstallProfiler puts a pretended Nsight Compute (ncu) into a folder, for tests to put at the beginning of PATH. It
// sees the launches of the pretended GPU's driver in the process that it has started itself, and in no other.
func InstallProfiler(dir string) error {
	file := filepath.Join(dir, "profiler.c")
	if err := os.WriteFile(file, profiler, 0o600); err != nil {
		return err
	}
	said, err := exec.Command("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
		filepath.Join(dir, "libprofiler.so"), file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return os.WriteFile(filepath.Join(dir, "ncu"), ncu, 0o700)
}
