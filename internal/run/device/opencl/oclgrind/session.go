package oclgrind

import (
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/run/disk"
)

// Session is Oclgrind as the only driver of OpenCL, opencl:0, in processes that
// start with its environment.
type Session struct {
	dir    string
	folder *disk.Folder // that it is
}

// NewSession prepares a session. The caller has to close it.
func NewSession() (*Session, error) {
	driver, err := Find()
	if err != nil {
		return nil, err
	}
	folder, err := disk.NewFolder("", "gridloom-oclgrind-")
	if err != nil {
		return nil, err
	}
	s := &Session{folder.Path, folder}
	if err := os.WriteFile(filepath.Join(s.dir, "oclgrind.icd"), []byte(driver+"\n"), 0o600); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close forgets what was reported.
func (s *Session) Close() { s.folder.Remove() }

func (s *Session) log() string { return filepath.Join(s.dir, "log") }

// Env returns the environment, "NAME=value". Reads of what nobody has written
// are not reported: what the host writes by rows counts as unwritten.
func (s *Session) Env() []string {
	return []string{
		"OCL_ICD_VENDORS=" + s.dir, "OCLGRIND_LOG=" + s.log(), "OCLGRIND_MAX_ERRORS=1000",
		"OCLGRIND_NUM_THREADS=1",         // blocks in their order, and so the faults
		"OCLGRIND_LOCAL_MEM_SIZE=262144", // as much as any GPU has
		"OCLGRIND_DATA_RACES=1",
		"OCLGRIND_BUILD_OPTIONS=-cl-opt-disable", // optimised code may have instructions that it does not know
	}
}

// Faults returns what the last process has reported.
func (s *Session) Faults() ([]Fault, error) {
	said, err := os.ReadFile(s.log())
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return faults(string(said))
}
