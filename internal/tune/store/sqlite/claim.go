package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// claimed lists the files that stores of this process have open, once for each
// store. Such a file must not be opened and closed by anybody else here: that
// would give up all locks of this process on it, those of the database too.
var claimed struct {
	sync.Mutex
	files []os.FileInfo
}

// claim finds the file of a store, or makes an empty one, and looks at what it
// is before the database sees it.
func claim(path string, readOnly bool, latest int) (os.FileInfo, error) {
	claimed.Lock()
	defer claimed.Unlock()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && readOnly:
		return nil, errNone
	case errors.Is(err, fs.ErrNotExist):
		if err = makeFolder(path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case slices.ContainsFunc(claimed.files, func(f os.FileInfo) bool { return os.SameFile(f, info) }):
		claimed.files = append(claimed.files, info)
		return info, nil
	default:
		if err := inspect(path, info, latest); err != nil {
			return nil, err
		}
	}
	if !readOnly {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			err = &gridio.Error{Text: "the file or its folder cannot be written", Hint: giveWrite,
				Err: errors.Join(store.ErrReadOnly, err)}
		}
		if err != nil {
			return nil, err
		}
		if info, err = f.Stat(); err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	claimed.files = append(claimed.files, info)
	return info, nil
}

// release undoes one claim.
func release(info os.FileInfo) {
	claimed.Lock()
	defer claimed.Unlock()
	if i := slices.IndexFunc(claimed.files, func(f os.FileInfo) bool { return os.SameFile(f, info) }); i >= 0 {
		claimed.files = slices.Delete(claimed.files, i, i+1)
	}
}

func makeFolder(path string) error {
	dir := filepath.Dir(path)
	if usual, err := DefaultPath(); err == nil && usual == path {
		return os.MkdirAll(dir, 0o700)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return &gridio.Error{Text: "there is no folder " + dir,
			Hint: "make it, or name another file with --store or GRIDLOOM_STORE", Err: err}
	}
	return nil
}

// inspect refuses files that are no whole stores, before the database, which
// would write to them, sees them.
func inspect(path string, info os.FileInfo, latest int) error {
	switch {
	case info.IsDir():
		return refuse(store.ErrNotStore, "it is a folder", "name a file with --store or GRIDLOOM_STORE")
	case !info.Mode().IsRegular():
		return refuse(store.ErrNotStore, "it is no regular file", "name a file with --store or GRIDLOOM_STORE")
	case info.Size() == 0:
		return nil // a store that is being made
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// The header of a database, from SQLite's description of its format.
	var header [100]byte
	if _, err := io.ReadFull(f, header[:]); err != nil || string(header[:16]) != "SQLite format 3\x00" {
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		return refuse(store.ErrNotStore, "the file is no store, or its beginning is damaged; it has not been touched",
			"move it away to begin a new one, or name another file with --store or GRIDLOOM_STORE")
	}
	number := func(at int) int64 { return int64(binary.BigEndian.Uint32(header[at:])) }
	switch app := number(68); {
	case app != application && app != 0: // it is 0 while the store is being made
		return errOther
	case app == application && int(number(60)) > latest:
		return newer(int(number(60)), latest)
	}
	pageSize := int64(binary.BigEndian.Uint16(header[16:]))
	if pageSize == 1 {
		pageSize = 1 << 16
	}
	// While there is a journal, pages may be there alone.
	journal, err := os.Stat(path + "-wal")
	if whole := pageSize * number(28); number(24) == number(92) && info.Size() < whole &&
		(err != nil || journal.Size() == 0) {
		return refuse(store.ErrDamaged,
			fmt.Sprintf("the file ends too early, after %d of %d bytes; it has not been touched", info.Size(), whole),
			"fetch a copy, or move it away to begin a new one")
	}
	return nil
}
