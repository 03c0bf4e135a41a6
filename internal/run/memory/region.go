package memory

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Region is memory that can be shared with another process through its file.
// It starts as zeros.
type Region struct {
	bytes []byte
	file  *os.File
}

// New makes a region. The name appears in the system's lists of mappings. No
// memory is taken before it is touched.
func New(name string, bytes int64) (*Region, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shared memory cannot be had: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if err := unix.Ftruncate(fd, bytes); err != nil {
		file.Close()
		return nil, fmt.Errorf("shared memory of %s cannot be had: %w", Size(bytes), err)
	}
	// Nobody can take pages away from under the others. Older kernels that do
	// not seal are trusted.
	unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	r, err := Open(file, bytes)
	if err != nil {
		file.Close()
	}
	return r, err
}

// Open maps a region that another process has made. It takes over the file.
func Open(file *os.File, bytes int64) (*Region, error) {
	r := &Region{file: file}
	if bytes == 0 {
		return r, nil
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return nil, fmt.Errorf("shared memory cannot be used: %w", err)
	}
	if stat.Size != bytes {
		return nil, fmt.Errorf("shared memory holds %d bytes, not %d", stat.Size, bytes)
	}
	var err error
	r.bytes, err = unix.Mmap(int(file.Fd()), 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s of shared memory cannot be mapped: %w", Size(bytes), err)
	}
	// Fewer, larger pages are faster to find, where the system gives them.
	unix.Madvise(r.bytes, unix.MADV_HUGEPAGE)
	return r, nil
}

// Anonymous returns zeroed memory of this process alone, outside the garbage
// collector's reach and in huge pages where the system gives them.
func Anonymous(bytes int64) (*Region, error) {
	r := &Region{}
	if bytes == 0 {
		return r, nil
	}
	var err error
	r.bytes, err = unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("%s of memory cannot be had: %w", Size(bytes), err)
	}
	unix.Madvise(r.bytes, unix.MADV_HUGEPAGE)
	return r, nil
}

// Bytes returns the memory. It must not be used after Close.
func (r *Region) Bytes() []byte { return r.bytes }

// File returns the file to hand to another process, or nil for a region that
// cannot be shared.
func (r *Region) File() *os.File { return r.file }

// Protect makes the pages that hold from..to-1 read-only for this process:
// whoever writes there is killed.
func (r *Region) Protect(from, to int64) error {
	pages := r.pages(from, to)
	if len(pages) == 0 {
		return nil
	}
	return unix.Mprotect(pages, unix.PROT_READ)
}

// pages returns the pages that hold from..to-1.
func (r *Region) pages(from, to int64) []byte {
	page := int64(os.Getpagesize())
	from, to = from/page*page, min((to+page-1)/page*page, int64(len(r.bytes)))
	return r.bytes[from:max(from, to)]
}

// Populate gives this process all the pages that hold from..to-1 at once,
// which is faster than one by one as they are touched. Where the system cannot
// do that, it does nothing.
func (r *Region) Populate(from, to int64) {
	pages := r.pages(from, to)
	if len(pages) == 0 {
		return
	}
	if unix.Madvise(pages, unix.MADV_POPULATE_WRITE) != nil {
		unix.Madvise(pages, unix.MADV_POPULATE_READ) // they may be protected
	}
}

// Close gives the memory back. The other processes keep theirs.
func (r *Region) Close() error {
	var err error
	if r.bytes != nil {
		err = unix.Munmap(r.bytes)
		r.bytes = nil
	}
	if r.file != nil {
		if cerr := r.file.Close(); err == nil {
			err = cerr
		}
		r.file = nil
	}
	return err
}
