package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// pretendedEntry is what a pretended CUDA runtime lacks of what tensor maps take.
const pretendedEntry = `
#define __grid_constant__
#define CUDART_VERSION 13000
typedef enum { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound } cudaDriverEntryPointQueryResult;
enum { cudaEnableDefault = 0 };
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, cudaDriverEntryPointQueryResult *);
size_t __cvta_generic_to_shared(const void *);
`

// A library makes tensor maps by the driver: its kernels compile for an H200, and its host code for the host. It is not
// run here, because no pretended runtime has copy engines.
func TestLibraryTensor(t *testing.T) {
	needClang(t)
	p, diags := lang.Load(diag.NewSource("reach.loom", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], next[L,M,N];
copyin u; copyout u;
stencil reach (out, in) { out[k][j][i] = 0.5*in[k+1][j][i] - 0.25*in[k][j-2][i] + 0.125*in[k][j+2][i-1]; }
iterate 3 { reach (next, u); swap (next, u); }`))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	plan, err := schedule.ParsePlan("family=planes,stream=k,block=2x64,rows=4,vec=4,stages=1,copy=tensor")
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	files, err := emit.Library(m, emit.LibraryOptions{Dialect: emit.CUDA})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f.Name != "reach.cu" {
			continue
		}
		// Rows of 256 cells and what is read around them are more than 256, so that two cells are one element.
		const call = "gl_tensor(h, g->u, " +
			"{ 8, 3, { (h->size.N + 3) / 4 * 4 / 2, h->size.M, h->size.L }, { 130, 12, 1 } })"
		if !strings.Contains(strings.Join(strings.Fields(f.Text), " "), call) {
			t.Errorf("there is no %s", call)
		}
		code := ptx(t, kernelsOf(f.Text), "-Wno-unused-but-set-variable")
		for _, want := range []string{".entry reach_kernel(", "cp.async.bulk.tensor.3d"} {
			if !strings.Contains(code, want) {
				t.Errorf("the compiled kernels have no %s", want)
			}
		}
	}
	runtime, err := os.ReadFile("testdata/cuda/cuda_runtime.h")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(runtime), "#endif")
	header := string(runtime[:at]) + pretendedEntry + string(runtime[at:])
	if err := os.WriteFile(filepath.Join(dir, "cuda_runtime.h"), []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
		"-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unknown-pragmas", "-fsyntax-only", "-I", dir,
		"-x", "c++", filepath.Join(dir, "reach.cu")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%.3000s", err, said)
	}
}
