package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

const twice = `#include <stdint.h>
void gl_twice(void **args)
{
	double *u = *(double **)args[0];
	const int64_t n = *(int64_t *)args[1];
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++)
		u[i] = 2 * u[i];
}
`

// compiler returns the system's compiler.
func compiler(t *testing.T, cache *Cache) *Compiler {
	t.Helper()
	c, err := Find(t.Context(), os.Getenv, cache)
	if err != nil {
		t.Skip(err)
	}
	return c
}

func newCache(t *testing.T) *Cache {
	t.Helper()
	c, err := OpenCache(t.TempDir())
	if err != nil || c.Note != "" {
		t.Fatal(err, c.Note)
	}
	return c
}

// script writes a program into a folder of its own and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// cc returns a getenv in which CC has a value.
func cc(value string) func(string) string {
	return func(name string) string {
		if name == "CC" {
			return value
		}
		return ""
	}
}

func TestFindTheSystemsCompiler(t *testing.T) {
	cache := newCache(t)
	first := compiler(t, cache)
	if first.Version == "" || strings.Contains(first.Version, "\n") {
		t.Errorf("Version = %q", first.Version)
	}
	// What was found is remembered, not only found again.
	again := compiler(t, cache)
	for _, a := range []arith.Mode{arith.Strict, arith.Contract, arith.Fast} {
		if x, y := first.Flags(a), again.Flags(a); !slices.Equal(x, y) {
			t.Errorf("%v: %v, then %v", a, x, y)
		}
	}
	if files := names(t, cache.Dir); len(files) != 1 || !strings.HasPrefix(files[0], "probe-") {
		t.Errorf("the cache holds %v", files)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestNoCompiler(t *testing.T) {
	mute := script(t, "mute", "exit 3\n")
	static := script(t, "static",
		"case $1 in --version) echo 'Tiny C 1.0'; exit;; esac\necho 'tiny: no shared objects here'\nexit 1\n")
	data := filepath.Join(filepath.Dir(mute), "data")
	if err := os.WriteFile(data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	const named = " (correct or unset the environment variable CC)"
	for _, test := range []struct{ cc, want string }{
		{"",
			"no C compiler could be used: cc: not found; gcc: not found; clang: not found (install one, on Debian " +
				"and Ubuntu with: apt-get install gcc; or name one with the environment variable CC)"},
		{"no-such-cc", "no C compiler could be used: no-such-cc: not found" + named},
		{"/no/such/cc -m64", "no C compiler could be used: /no/such/cc -m64: not found" + named},
		{data, "no C compiler could be used: " + data + ": not an executable file" + named},
		{mute, "no C compiler could be used: " + mute + ": it does not say its version: it ended with status 3" +
			named},
		{static, "no C compiler could be used: " + static +
			": it does not make shared objects: tiny: no shared objects here" + named},
	} {
		_, err := Find(t.Context(), cc(test.cc), nil)
		if _, ok := errors.AsType[*Missing](err); !ok || err.Error() != test.want {
			t.Errorf("CC=%q: %v\nwant %s", test.cc, err, test.want)
		}
	}
}

// An old or small compiler loses options, with a note, not the whole program.
func TestUnknownOptions(t *testing.T) {
	real := compiler(t, nil)
	old := script(t, "old", fmt.Sprintf(`for a in "$@"; do
	case $a in -march=native|-fassociative-math|-fopenmp) echo "old: unknown option $a"; exit 1;; esac
done
exec %s "$@"
`, real.Path))
	c, err := Find(t.Context(), cc(old+" -DX=1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.OpenMP || !slices.Equal(c.Args, []string{"-DX=1"}) {
		t.Errorf("OpenMP %v, Args %v", c.OpenMP, c.Args)
	}
	want := []string{old + " does not take -march=native", old + " does not take -fassociative-math",
		old + " has no OpenMP: programs run on one thread"}
	if runtime.GOARCH == "amd64" { // without -march=native
		want = append(want, "code of "+old+" has no fused multiply-add: products are rounded before they are added")
	}
	if c.FMA != (runtime.GOARCH != "amd64") {
		t.Errorf("FMA %v", c.FMA)
	}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("Notes = %q", c.Notes)
	}
	for _, a := range []arith.Mode{arith.Strict, arith.Fast} {
		for _, flag := range []string{"-march=native", "-fassociative-math", "-fopenmp"} {
			if slices.Contains(c.Flags(a), flag) {
				t.Errorf("%v has %s", a, flag)
			}
		}
	}
	if _, err := c.Build(t.Context(), newCache(t), Source{Text: []byte(twice), Arithmetic: arith.Fast}, 0); err != nil {
		t.Error(err)
	}
}

func TestStrictIsRequired(t *testing.T) {
	real := compiler(t, nil)
	loose := script(t, "loose", fmt.Sprintf(`for a in "$@"; do
	case $a in -ffp-contract=*) echo "loose: unknown option $a"; exit 1;; esac
done
exec %s "$@"
`, real.Path))
	_, err := Find(t.Context(), cc(loose), nil)
	want := "no C compiler could be used: " + loose +
		": it does not take -ffp-contract=off: loose: unknown option -ffp-contract=off (correct or unset the " +
		"environment variable CC)"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestModes(t *testing.T) {
	c := &Compiler{general: []string{"-O3"}, refused: []string{"-freciprocal-math"}}
	for _, test := range []struct {
		name string
		want []string
	}{
		{"strict", []string{"-O3", "-ffp-contract=off"}},
		{"contract", []string{"-O3", "-ffp-contract=off"}},
		{"fast", []string{"-O3", "-ffp-contract=fast", "-fno-signed-zeros", "-fassociative-math"}},
	} {
		a, err := arith.Parse(test.name)
		if err != nil || !slices.Equal(c.Flags(a), test.want) {
			t.Errorf("%s: %v %v %v", test.name, a, err, c.Flags(a))
		}
	}
}

func TestBuildOnce(t *testing.T) {
	cache := newCache(t)
	c := compiler(t, cache)
	source := Source{Text: []byte(twice)}
	first, err := c.Build(t.Context(), cache, source, 0)
	if err != nil || first.Cached {
		t.Fatal(first, err)
	}
	again, err := c.Build(t.Context(), cache, source, 0)
	if err != nil || !again.Cached || again.Path != first.Path {
		t.Fatal(again, err)
	}
	// All that the object depends on makes another object.
	seen := []string{first.Path}
	for _, s := range []Source{
		{Text: []byte(twice + "\n")},
		{Text: []byte(twice), Arithmetic: arith.Fast},
		{Text: []byte(twice), Extra: []string{"-DA"}},
		{Text: []byte(twice), Extra: []string{"-DA", "-DB"}},
	} {
		o, err := c.Build(t.Context(), cache, s, 0)
		if err != nil || o.Cached || slices.Contains(seen, o.Path) {
			t.Errorf("%v: %v, %v", s, o, err)
		}
		seen = append(seen, o.Path)
	}
	for _, name := range names(t, cache.Dir) {
		if strings.HasPrefix(name, "tmp-") {
			t.Errorf("%s was left", name)
		}
	}
}

func TestDamagedObjects(t *testing.T) {
	cache := newCache(t)
	c := compiler(t, cache)
	for name, damage := range map[string]func([]byte) []byte{
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":     func([]byte) []byte { return nil },
		"flipped":   func(b []byte) []byte { b[len(b)/3] ^= 1; return b },
		"short":     func([]byte) []byte { return []byte(sealMark) },
	} {
		o, err := c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.Path, damage(slices.Clone(good)), 0o700); err != nil {
			t.Fatal(err)
		}
		if o, err = c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0); err != nil || o.Cached {
			t.Errorf("%s: %v %v", name, o, err)
		}
		if o, err = c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0); err != nil || !o.Cached {
			t.Errorf("%s: it was not replaced: %v %v", name, o, err)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	cache := newCache(t)
	c := compiler(t, cache)
	paths := make([]string, 4)
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() {
			o, err := c.Build(context.Background(), cache, Source{Text: []byte(twice)}, 0)
			if err != nil {
				t.Error(err)
			}
			paths[i] = o.Path
		})
	}
	wg.Wait()
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("%v", paths)
		}
	}
}

func TestNowhereToKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	cache, err := OpenCache("")
	if err != nil {
		t.Fatal(err)
	}
	if want := "compiled code is not kept for the next time: mkdir " + file + ": not a directory"; cache.Note != want {
		t.Errorf("Note = %q, want %q", cache.Note, want)
	}
	c := compiler(t, cache)
	o, err := c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.Path); !os.IsNotExist(err) {
		t.Errorf("the temporary cache is still there: %v", err)
	}
}

func TestCompileError(t *testing.T) {
	cache := newCache(t)
	c := compiler(t, cache)
	text := "void gl_f(void **args)\n{\n\tnonsense(here;\n}\n"
	_, err := c.Build(t.Context(), cache, Source{Text: []byte(text)}, 0)
	ce, ok := errors.AsType[*CompileError](err)
	if !ok {
		t.Fatal(err)
	}
	if left, err := os.ReadFile(ce.Source); err != nil || string(left) != text {
		t.Errorf("%s holds %q, %v", ce.Source, left, err)
	}
	head := fmt.Sprintf("%s could not compile the generated code, which is left in %s:\n  kernels.c:", c.Path,
		ce.Source)
	if !strings.HasPrefix(err.Error(), head) || !strings.Contains(err.Error(), "nonsense(here;") {
		t.Errorf("%v\nwant it to start with %s", err, head)
	}
}

func TestLongComplaints(t *testing.T) {
	e := &CompileError{Compiler: "/bin/cc", Said: strings.Repeat("no\n", 15), Err: errors.New("exit status 1")}
	want := "/bin/cc could not compile the generated code:" + strings.Repeat("\n  no", 12) + "\n  ... and 3 more lines"
	if e.Error() != want {
		t.Errorf("%q", e.Error())
	}
}

// stuck is a compiler that works, and then hangs with a child.
func stuck(t *testing.T) *Compiler {
	real := compiler(t, nil)
	path := script(t, "stuck", fmt.Sprintf(`case "$*" in *kernels.c*) sleep 1000; exit 1;; esac
exec %s "$@"
`, real.Path))
	c, err := Find(t.Context(), cc(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDeadline(t *testing.T) {
	c, cache := stuck(t), newCache(t)
	_, err := c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 20*time.Millisecond)
	ce, ok := errors.AsType[*CompileError](err)
	if !ok {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s could not compile the generated code, which is left in %s:\n  it was stopped after 20ms",
		c.Path, ce.Source)
	if err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestInterrupted(t *testing.T) {
	c, cache := stuck(t), newCache(t)
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := c.Build(ctx, cache, Source{Text: []byte(twice)}, 0); !errors.Is(err, why) {
		t.Error(err)
	}
	if left := names(t, cache.Dir); len(left) != 0 {
		t.Errorf("%v was left", left)
	}
}

// ailing is a compiler that works but for generated code.
func ailing(t *testing.T, text string) *Compiler {
	real := compiler(t, nil)
	c := *real
	c.Path = script(t, "ailing", fmt.Sprintf("case \"$*\" in *kernels.c*)\n%s\n;; esac\nexec %s \"$@\"\n", text,
		real.Path))
	return &c
}

// A compiler that was killed, or lacked something of the machine's, says nothing
// of the source.
func TestWhoseFaultItIs(t *testing.T) {
	for _, test := range []struct {
		text   string
		memory int64
		want   verdict.Verdict
		says   string
	}{
		{"echo 'kernels.c:1:1: error: no'; exit 1", 0, verdict.Compiler, "kernels.c:1:1: error: no"},
		{"echo 'cc: fatal error: Killed signal terminated program cc1'; exit 1", 0, verdict.Transient, "Killed signal"},
		{"kill -KILL $$", 0, verdict.Transient, "something killed it"},
		{"echo 'cc: internal compiler error: Segmentation fault signal terminated program cc1'; exit 4", 0,
			verdict.Compiler, "Segmentation fault"},
		{"kill -SEGV $$", 0, verdict.Compiler, "memory that is not its own"},
		{"echo \"as: $TMPDIR/x.o: No space left on device\"; exit 1", 0, verdict.Transient, "No space left"},
		{"echo 'cc1: out of memory allocating 64 bytes after a total of 999 bytes'; exit 1", 0, verdict.Transient,
			"the machine has none left"},
		{"echo 'cc1: out of memory allocating 64 bytes after a total of 999 bytes'; exit 1", 1 << 40, verdict.Compiler,
			"it needs more than 1.0 TiB to compile it"},
	} {
		c := ailing(t, test.text)
		c.Memory = test.memory
		_, err := c.Build(t.Context(), newCache(t), Source{Text: []byte(twice)}, time.Hour)
		if verdict.Of(err) != test.want || !strings.Contains(fmt.Sprint(err), test.says) {
			t.Errorf("%s: %s: %v", test.text, verdict.Of(err), err)
		}
		// It is recorded in these words, and known by them again.
		if got := verdict.Passing(fmt.Sprint(err)); got != (test.want == verdict.Transient) {
			t.Errorf("%s: the text tells that it passes: %v", test.text, got)
		}
	}
}

// The limit of memory holds for what the compiler starts, too, and what meets it is
// refused. A line of so many zeros does not fit into tail.
func TestCompilersMemory(t *testing.T) {
	c := compiler(t, nil)
	c.Memory = 256 << 20
	if _, err := c.Build(t.Context(), newCache(t), Source{Text: []byte(twice)}, 0); err != nil {
		t.Fatal(err)
	}
	c = ailing(t, "head -c 1000000000 /dev/zero | tail; exit 1")
	c.Memory = 32 << 20
	_, err := c.Build(t.Context(), newCache(t), Source{Text: []byte(twice)}, 0)
	if verdict.Of(err) != verdict.Compiler ||
		!strings.Contains(fmt.Sprint(err), "it needs more than 32.0 MiB to compile it") {
		t.Errorf("%s: %v", verdict.Of(err), err)
	}
}

func TestTrim(t *testing.T) {
	cache := newCache(t)
	for i, name := range []string{"c.so", "a.so", "b.so"} {
		cache.write(name, make([]byte, 100))
		when := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(cache.Dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		most int64
		want []string
	}{{300, []string{"a.so", "b.so", "c.so"}}, {299, []string{"a.so", "b.so"}}, {150, []string{"b.so"}}, {0, nil}} {
		if err := cache.Trim(test.most); err != nil {
			t.Fatal(err)
		}
		if got := names(t, cache.Dir); !slices.Equal(got, test.want) {
			t.Errorf("within %d bytes there is %v, want %v", test.most, got, test.want)
		}
	}
}

func TestProcessor(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "cpuinfo")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const one = "processor\t: 0\nmodel name\t: Fast\ncpu MHz\t\t: 2600.0\nflags\t\t: fpu avx2\n\n"
	x := processor(file(one + "processor\t: 1\nmodel name\t: Other\n"))
	if want := "\nmodel name=Fast\nflags=fpu avx2"; !strings.HasSuffix(x, want) || strings.Count(x, "\n") != 2 {
		t.Errorf("%q", x)
	}
	if y := processor(file(strings.Replace(one, "2600", "3100", 1))); y != x {
		t.Errorf("the clock makes another processor: %q", y)
	}
	if y := processor(file(strings.Replace(one, " avx2", "", 1))); y == x {
		t.Error("fewer instructions make the same processor")
	}
	if y := processor("/no/such/file"); y == "" {
		t.Error("nothing is known")
	}
}

func TestDigest(t *testing.T) {
	if digest("ab", "c") == digest("a", "bc") || digest("a") == digest("a", "") {
		t.Error("parts run together")
	}
}

// full is a compiler that has no room in a folder.
func full(t *testing.T, dir string) *Compiler {
	return ailing(t, fmt.Sprintf("case $PWD in %s/*) echo 'as: kernels.o: No space left on device'; exit 1;; esac",
		dir))
}

// Where the cache's disk is full, code goes to a temporary folder, which is said.
func TestFullCache(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cache := newCache(t)
	c := full(t, cache.Dir)
	o, err := c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0)
	if err != nil || !strings.HasPrefix(o.Path, os.Getenv("TMPDIR")) {
		t.Fatal(o, err)
	}
	if want := "compiled code is not kept for the next time: the disk of " + cache.Dir +
		" is full; it is in "; !strings.HasPrefix(cache.Elsewhere(), want) {
		t.Errorf("%q", cache.Elsewhere())
	}
	if again, err := c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0); err != nil || !again.Cached ||
		again.Path != o.Path {
		t.Error(again, err)
	}
	path, err := cache.Keep("x.bin", []byte("code"))
	if found, ok := cache.Kept("x.bin"); err != nil || !ok || found != path {
		t.Error(path, found, err)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{cache.Dir, os.Getenv("TMPDIR")} {
		if left := names(t, dir); len(left) != 0 {
			t.Errorf("%v is left in %s", left, dir)
		}
	}
	// Where there is no room either, both are named, and the source is not blamed.
	cache = newCache(t)
	c = ailing(t, "echo 'as: kernels.o: No space left on device'; exit 1")
	_, err = c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0)
	if want := "there is no room in " + cache.Dir + ", and none in " + os.Getenv("TMPDIR") +
		": "; verdict.Of(err) != verdict.Transient || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%s: %v", verdict.Of(err), err)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
}

// An option that a compiler was kept from trying is not unknown to it.
func TestProbingThatPasses(t *testing.T) {
	real := compiler(t, nil)
	once := filepath.Join(t.TempDir(), "once")
	killed := script(t, "killed", fmt.Sprintf(`case "$*" in *probe.c*)
	if test ! -e %s; then touch %[1]s; echo 'cc: fatal error: Killed signal terminated program cc1'; exit 1; fi;;
esac
exec %s "$@"
`, once, real.Path))
	cache := newCache(t)
	if _, err := Find(t.Context(), cc(killed), cache); verdict.Of(err) != verdict.Transient ||
		!strings.Contains(err.Error(), "Killed signal") {
		t.Errorf("%s: %v", verdict.Of(err), err)
	}
	c, err := Find(t.Context(), cc(killed), cache)
	if err != nil || !c.OpenMP || len(c.Notes) != 0 {
		t.Error(c, err)
	}
}

// Code that others could have planted is not loaded.
func TestOthersCannotWrite(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cache := newCache(t)
	path, err := cache.Keep("x.bin", []byte("code"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok := cache.Kept("x.bin"); ok {
		t.Error("a file that others can write to is taken")
	}
	if err := os.Chmod(cache.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCache(cache.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Dir == cache.Dir || !strings.Contains(c.Note,
		"belongs to another user, or others can write to it (mode 777)") {
		t.Errorf("%s: %q", c.Dir, c.Note)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// What a killed process has left in the cache is gone when the cache is opened.
func TestCleanCache(t *testing.T) {
	cache := newCache(t)
	left := filepath.Join(cache.Dir, "tmp-123")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(left, "kernels.c"), filepath.Join(cache.Dir, ".x.so.12-0.tmp")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenCache(cache.Dir); err != nil {
		t.Fatal(err)
	}
	if left := names(t, cache.Dir); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// A compiler and a cache that are named from this folder are found from others.
func TestRelativePaths(t *testing.T) {
	real := compiler(t, nil)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("wrapper", []byte("#!/bin/sh\nexec "+real.Path+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "home")
	cache, err := OpenCache("")
	if err != nil || cache.Note != "" || !filepath.IsAbs(cache.Dir) {
		t.Fatal(cache, err)
	}
	c, err := Find(t.Context(), cc("./wrapper -DX=1"), cache)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := c.Build(t.Context(), cache, Source{Text: []byte(twice)}, 0); err != nil || !filepath.IsAbs(o.Path) {
		t.Error(o, err)
	}
}
