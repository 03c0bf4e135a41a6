package memory

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestSharedRegion(t *testing.T) {
	a, err := New("gridloom-test", 100_000)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(a.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(os.NewFile(uintptr(fd), "copy"), 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Bytes()) != 100_000 || b.Bytes()[99_999] != 0 {
		t.Errorf("%d bytes, the last is %d", len(b.Bytes()), b.Bytes()[99_999])
	}
	a.Bytes()[99_999] = 7
	if b.Bytes()[99_999] != 7 {
		t.Error("what one side writes, the other does not see")
	}
	if err := b.Protect(70_000, 100_000); err != nil {
		t.Fatal(err)
	}
	b.Bytes()[60_000] = 1
	a.Bytes()[99_999] = 8
	if !faults(func() { b.Bytes()[99_999] = 9 }) || a.Bytes()[99_999] != 8 {
		t.Error("the protected end can be written to")
	}
	if err := syscall.Ftruncate(int(a.File().Fd()), 10); !errors.Is(err, syscall.EPERM) {
		t.Errorf("the file can be made shorter: %v", err)
	}
	for _, r := range []*Region{a, b, a} { // closing twice does no harm
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// faults reports whether f touches memory that it must not.
func faults(f func()) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func TestOpenChecksTheSize(t *testing.T) {
	a, err := New("gridloom-test", 8192)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := Open(a.File(), 8193); err == nil || err.Error() != "shared memory holds 8192 bytes, not 8193" {
		t.Error(err)
	}
}

func TestEmptyAndAnonymous(t *testing.T) {
	for _, bytes := range []int64{0, 1, 5000} {
		shared, err := New("gridloom-test", bytes)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := Anonymous(bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*Region{shared, alone} {
			if int64(len(r.Bytes())) != bytes {
				t.Errorf("%d bytes, want %d", len(r.Bytes()), bytes)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Anonymous(math.MaxInt64); err == nil ||
		err.Error() != "8.0 EiB of memory cannot be had: cannot allocate memory" {
		t.Error(err)
	}
}

func TestPopulate(t *testing.T) {
	r, err := New("gridloom-test", 300_000)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Bytes()[123] = 4
	if err := r.Protect(200_000, 300_000); err != nil {
		t.Fatal(err)
	}
	for _, part := range [][2]int64{{0, 0}, {100, 150_000}, {250_000, 300_000}, {0, 300_000}} {
		r.Populate(part[0], part[1])
	}
	if r.Bytes()[123] != 4 || r.Bytes()[299_999] != 0 {
		t.Error("what is there has changed")
	}
}

func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrays := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Span {
			return Span{rapid.Int64Range(0, 1<<20).Draw(t, "bytes"), rapid.Int64Range(0, Line-1).Draw(t, "phase")}
		}), 0, 20).Draw(t, "arrays")
		starts, bytes := Place(arrays)
		end := int64(0)
		for i, start := range starts {
			if start%Line != arrays[i].Phase || start < end {
				t.Fatalf("array %d starts at %d, after %d", i, start, end)
			}
			if start/4096*4096 < end {
				t.Fatalf("array %d shares a page with the one before", i)
			}
			end = start + arrays[i].Bytes
		}
		if bytes < end || bytes > end+64<<10 {
			t.Fatalf("%d bytes for an end at %d", bytes, end)
		}
		for i := range starts {
			for j := range i {
				if i-j < 12 && (starts[i]-starts[j])/Line*Line%4096 == 0 {
					t.Fatalf("arrays %d and %d compete for the same places", i, j)
				}
			}
		}
	})
}

// pretend writes the files of a pretended machine and returns its root.
func pretend(t *testing.T, files map[string]string) System {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return System(root)
}

const meminfo = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    500 kB\n"

func TestAvailable(t *testing.T) {
	const v1, v2 = "sys/fs/cgroup/memory/", "sys/fs/cgroup/"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no groups", nil, 500 * 1024},
		{"new groups", map[string]string{
			"proc/self/cgroup":           "0::/job/step\n",
			v2 + "job/step/memory.max":   "max\n",
			v2 + "job/memory.max":        "90000\n",
			v2 + "job/memory.current":    "50000\n",
			v2 + "job/memory.stat":       "anon 40000\ninactive_file 2000\n",
			v2 + "memory.max":            "80000\n",
			v2 + "memory.current":        "10000\n",
			v2 + "job/other/memory.max":  "1\n",
			v2 + "job/step/memory.usage": "1\n",
		}, 42000},
		{"old groups", map[string]string{
			"proc/self/cgroup":                "8:cpu,cpuacct:/x\n4:memory:/job\n0::/\n",
			v1 + "memory.limit_in_bytes":      "9223372036854771712\n",
			v1 + "memory.usage_in_bytes":      "70000\n",
			v1 + "job/memory.limit_in_bytes":  "60000\n",
			v1 + "job/memory.usage_in_bytes":  "20000\n",
			v1 + "job/memory.stat":            "inactive_file 1\ntotal_inactive_file 500\n",
			v1 + "x/memory.limit_in_bytes":    "1\n",
			"sys/fs/cgroup/unified/something": "",
		}, 40500},
		{"a container that sees its own group at the top", map[string]string{
			"proc/self/cgroup":           "4:memory:/docker/0123\n",
			v1 + "memory.limit_in_bytes": "60000\n",
			v1 + "memory.usage_in_bytes": "20000\n",
		}, 40000},
		{"nothing left", map[string]string{
			"proc/self/cgroup":    "0::/\n",
			v2 + "memory.max":     "1000\n",
			v2 + "memory.current": "4000\n",
		}, 0},
		{"the machine is the limit", map[string]string{
			"proc/self/cgroup":    "0::/\n",
			v2 + "memory.max":     "9000000\n",
			v2 + "memory.current": "4000\n",
		}, 500 * 1024},
	} {
		files := map[string]string{"proc/meminfo": meminfo}
		for name, text := range test.files {
			files[name] = text
		}
		if got, err := pretend(t, files).Available(); err != nil || got != test.want {
			t.Errorf("%s: %d, %v, want %d", test.name, got, err, test.want)
		}
	}
	if _, err := pretend(t, map[string]string{"proc/meminfo": "MemTotal: 1 kB\n"}).Available(); err == nil ||
		err.Error() != "proc/meminfo has no MemAvailable" {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	here := pretend(t, map[string]string{"proc/meminfo": meminfo})
	for _, test := range []struct {
		needs []Need
		want  string
	}{
		{nil, ""},
		{[]Need{{"u", 512_000}}, ""},
		{[]Need{{"u", 512_000}, {"flag", 1}},
			"this needs 500.0 KiB of memory (u 500.0 KiB, flag 1 bytes), but only 500.0 KiB is free"},
		{[]Need{{"a", 1 << 20}, {"b", 3 << 30}, {"c", 1 << 20}},
			"this needs 3.0 GiB of memory (b 3.0 GiB, a 1.0 MiB, c 1.0 MiB), but only 500.0 KiB is free"},
		{[]Need{{"a", 1 << 20}, {"b", 1 << 20}, {"c", 1 << 20}, {"d", 1 << 20}, {"e", 1 << 20}, {"f", 1 << 20},
			{"g", 1 << 21}},
			"this needs 8.0 MiB of memory (g 2.0 MiB, a 1.0 MiB, b 1.0 MiB, c 1.0 MiB, d 1.0 MiB, 2 more), but only " +
				"500.0 KiB is free"},
		{[]Need{{"a", math.MaxInt64}, {"b", math.MaxInt64}},
			"this needs 8.0 EiB of memory (a 8.0 EiB, b 8.0 EiB), but only 500.0 KiB is free"},
	} {
		err := here.Check(test.needs)
		if got := text(err); got != test.want {
			t.Errorf("%v\nwant %s", got, test.want)
		}
		if _, ok := errors.AsType[*Shortage](err); err != nil && !ok {
			t.Errorf("%T is no *Shortage", err)
		}
	}
	if err := System(t.TempDir()).Check([]Need{{"u", math.MaxInt64}}); err != nil {
		t.Errorf("where nothing is known, this is refused: %v", err)
	}
	if available, err := System("/").Available(); err != nil || available <= 0 {
		t.Errorf("this machine has %d bytes, %v", available, err)
	} else if Total() < available {
		t.Errorf("this machine has %d bytes, %d of them free", Total(), available)
	}
}

// limits are those of a process, as the system writes them.
func limits(space, processes string) string {
	return "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max processes             " + processes + "                1000                processes \n" +
		"Max address space         " + space + "           unlimited            bytes     \n"
}

// A limit of address space counts like memory, and messages name it.
func TestAddressSpace(t *testing.T) {
	const meminfo = "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n"
	here := pretend(t, map[string]string{"proc/meminfo": meminfo, "proc/self/limits": limits("3221225472",
		"unlimited")})
	if got, err := here.Available(); err != nil || got != 1<<30 {
		t.Errorf("%d, %v", got, err)
	}
	err := here.Check([]Need{{"u", 1<<30 + 1}})
	want := "this needs 1.0 GiB of memory (u 1.0 GiB), but the limit of address space (ulimit -v) leaves 1.0 GiB"
	if text(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if s, ok := errors.AsType[*Shortage](err); !ok || s.Transient() {
		t.Error("a limit of this process passes")
	}
	here = pretend(t, map[string]string{"proc/meminfo": meminfo, "proc/self/limits": limits("unlimited", "unlimited")})
	s, ok := errors.AsType[*Shortage](here.Check([]Need{{"u", 9_000_000 << 10}}))
	if !ok || !s.Transient() || s.Limited {
		t.Errorf("what others have now counts for ever: %+v", s)
	}
	if s, ok := errors.AsType[*Shortage](here.Check([]Need{{"u", 17_000_000 << 10}})); !ok || s.Transient() {
		t.Error("what the machine does not have passes")
	}
}

func TestCheckLimits(t *testing.T) {
	status := func(user, threads string) string {
		return "Name:\tx\nUid:\t" + user + "\t0\t0\t0\nThreads:\t" + threads + "\n"
	}
	for _, test := range []struct {
		space, processes, pids string
		user                   int
		want                   string
	}{
		{"unlimited", "unlimited", "max", 7, ""},
		{"2147483648", "62", "62", 7, ""},
		{"2147483647", "62", "62", 7,
			"the limit of address space is 2.0 GiB (ulimit -v), and this program needs 2.0 GiB and the memory of its grids"},
		{"500000000", "62", "62", 7,
			"the limit of address space is 476.8 MiB (ulimit -v), and this program needs 2.0 GiB and the memory of its grids"},
		{"unlimited", "61", "max", 7,
			"the limit of processes and threads is 61 (ulimit -u), of which this user has 30, and this program needs about 32"},
		{"unlimited", "61", "max", 0, ""},
		{"unlimited", "61", "max", 8, ""},
		{"unlimited", "unlimited", "61", 7,
			"the control group may have 61 processes and threads (pids.max), and has 30; this program needs about 32"},
	} {
		here := pretend(t, map[string]string{
			"proc/self/limits": limits(test.space, test.processes), "proc/self/cgroup": "0::/job\n",
			"sys/fs/cgroup/job/pids.max": test.pids + "\n", "sys/fs/cgroup/job/pids.current": "30\n",
			"proc/1/status": status("0", "500"), "proc/22/status": status("7", "10"),
			"proc/23/status": status("7", "20"),
		})
		if err := here.CheckLimits(test.user, 2); text(err) != test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSize(t *testing.T) {
	for _, test := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 bytes"}, {1023, "1023 bytes"}, {1024, "1.0 KiB"}, {1536, "1.5 KiB"},
		{1<<20 - 1, "1.0 MiB"}, {1 << 20, "1.0 MiB"}, {5 << 30, "5.0 GiB"}, {math.MaxInt64, "8.0 EiB"},
	} {
		if got := Size(test.bytes); got != test.want {
			t.Errorf("Size(%d) = %s, want %s", test.bytes, got, test.want)
		}
	}
}
