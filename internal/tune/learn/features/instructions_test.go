package features

import (
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// llvmText has what may stand in a function: numbers and quoted names, marks of calls, a switch over several lines,
// remarks, and lines around functions that look like instructions.
const llvmText = `; ModuleID = '-'
source_filename = "-"
%pair = type { i64, i64 }
@table = internal constant [2 x float] [float 1.0, float 2.0]

; Function Attrs: nounwind
define dso_local spir_kernel void @first(ptr addrspace(1) noundef %0, i64 %1) #0 !kernel_arg_type !4 {
  %3 = tail call spir_func i64 @_Z13get_global_idj(i32 noundef 0) #5
  %4 = icmp slt i64 %3, %1
  br i1 %4, label %5, label %12

5:                                                ; preds = %2
  %6 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %3
  %7 = load volatile float, ptr addrspace(1) %6, align 4, !tbaa !9
  ; %8 = fadd float %7, 1.0
  %8 = fadd float %7, 1.000000e+00
  %9 = fneg float %8
  %"a = b" = fmul contract float %8, %9
    #dbg_value(float %8, !9, !DIExpression(), !10)
  switch i64 %3, label %12 [
    i64 0, label %10
    i64 1, label %"in the middle"
  ]

10:                                               ; preds = %5
  store float %"a = b", ptr addrspace(1) %6, align 4
  br label %12

"in the middle":                                  ; preds = %5
  call void @llvm.assume(i1 true)
  br label %12

12:
  ret void
}

declare dso_local spir_func i64 @_Z13get_global_idj(i32 noundef) #1

define internal i64 @second(i64 %a) {
entry:
  %b = add nsw i64 %a, 1
  ret i64 %b
}

attributes #0 = { nounwind "call"="yes" }
!4 = !{!"float*"}
`

// Counts of a text are those that one counts by hand.
func TestReadLLVM(t *testing.T) {
	n, err := ReadLLVM(strings.NewReader(llvmText))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"call": 2, "icmp": 1, "br": 3, "getelementptr": 1, "load": 1, "fadd": 1, "fneg": 1, "fmul": 1, "switch": 1,
		"store": 1, "ret": 2, "add": 1,
	}
	if !maps.Equal(n.Of, want) || n.All != 16 || n.Blocks != 6 || n.Functions != 2 || n.Memory() != 5 || !n.Clang {
		t.Errorf("%+v, %d memory", n, n.Memory())
	}
}

func TestBadLLVM(t *testing.T) {
	for want, text := range map[string]string{
		"has no function":                           "; nothing\ndeclare void @f()\n",
		"ends within a function":                    "define void @f() {\n  ret void\n",
		"function without a body":                   "define void @f()\n",
		`line 2 of the LLVM IR: "%1 = fmagic float`: "define void @f() {\n  %1 = fmagic float %0\n  ret void\n}\n",
		"token too long":                            "define void @f() {\n  %1 = " + strings.Repeat("x", longestLine),
	} {
		if _, err := ReadLLVM(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

func clang(t *testing.T) *toolchain.Clang {
	t.Helper()
	c, err := toolchain.FindClang()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// written lowers a program for OpenCL by a family's defaults, and returns the launches of its only call.
func written(t *testing.T, b *ir.Binding, plan string) []*kernel.Launch {
	t.Helper()
	p, err := schedule.ParsePlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	o := lower.Options{Target: lower.GPU, Plan: p, Bound: b, Sized: true}
	o.Machine, o.Lacks = emit.OpenCL.On(m)
	module, err := lower.Program(b.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	return module.Calls[b.Program.Calls[0]]
}

const mixed = `
parameter M = 128, N = 512;
iterator j, i;
float u[M,N], v[M,N];
double w[M,N];
copyin u, w;
stencil s (out, in, map) {
  double x = in[j-1][i] * 0.25 - in[j+1][i] / map[j][i];
  out[j][i] = -x * map[j][i] + (x < 2.0 ? in[j][i+2] : 0.5 * in[j][i-1]);
}
s (v, u, w);
copyout v;
`

// What is written for a statement is what clang finds there before it optimises: as much floating-point arithmetic as
// the kernel IR has, and no other. Optimised, there is as much as a cell needs at least.
func TestInstructions(t *testing.T) {
	c := clang(t)
	for source, rows := range map[string]string{wide: "1x2", mixed: "2"} {
		for _, plan := range []string{"family=cells", "family=tile", "family=tile,vec=4,rows=" + rows} {
			for _, mode := range []arith.Mode{arith.Strict, arith.Contract} {
				b := bound(t, source, "")
				p := b.Program.In(mode)
				b, list := p.Bind(nil)
				if list.HasErrors() {
					t.Fatal(list)
				}
				launches := written(t, b, plan)
				if len(launches) != 1 {
					t.Fatalf("%d launches", len(launches))
				}
				kernels := []*kernel.Kernel{launches[0].Kernel}
				own := OfKernels(kernels)
				text := emit.Source(emit.OpenCL, &kernel.Module{Kernels: kernels})
				plain, err := Compiled(t.Context(), c, text, "-O0")
				if err != nil {
					t.Fatal(err)
				}
				optimised, err := InstructionsOf(t.Context(), c, launches)
				if err != nil {
					t.Fatal(err)
				}
				for _, opcode := range []string{"fadd", "fmul", "fdiv", "fsub"} {
					plainly, mine := plain.Of[opcode], own.Of[opcode]
					if opcode == "fsub" {
						plainly += plain.Of["fneg"]
					}
					if plainly != mine {
						t.Errorf("%s, %v: %d %s, by the kernel IR %d", plan, mode, plainly, opcode, mine)
					}
					if optimised.Of[opcode] > mine {
						t.Errorf("%s, %v: optimised, %d %s of %d", plan, mode, optimised.Of[opcode], opcode, mine)
					}
				}
				if own.Clang || !optimised.Clang || optimised.Of["load"] > elementsLoaded(kernels[0]) ||
					optimised.Of["load"] == 0 || optimised.Of["store"] == 0 || optimised.All >= plain.All {
					t.Errorf("%s, %v: %+v, optimised %+v", plan, mode, own, optimised)
				}
			}
		}
	}
}

// elementsLoaded counts the elements that a kernel's text loads: LLVM may take vectors apart.
func elementsLoaded(k *kernel.Kernel) int {
	n := 0
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if v, ok := s.(*kernel.LoadVector); ok {
			n += len(v.Vars)
		}
	}, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if _, ok := e.(*kernel.Load); ok {
				n++
			}
		})
	})
	return n
}

// Without clang, and for kernels that OpenCL has no words for, the kernel IR is counted.
func TestWithoutClang(t *testing.T) {
	b := bound(t, wide, "")
	launches := written(t, b, "family=cells")
	n, err := InstructionsOf(t.Context(), nil, launches)
	if err != nil || n.Clang || n.Functions != 1 || n.Of["fdiv"] == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := exec.LookPath("clang-19"); err == nil {
		t.Fatal("clang is still there")
	}
	if _, err := toolchain.FindClang(); err == nil || !strings.Contains(err.Error(), "clang is not installed") {
		t.Error(err)
	}
}

// A source that clang refuses is an error with what it says.
func TestRefusedByClang(t *testing.T) {
	if _, err := Compiled(t.Context(), clang(t), "__kernel void f(nothing x) {}"); err == nil ||
		!strings.Contains(err.Error(), "unknown type name") {
		t.Error(err)
	}
}

// What a driver tells of a device goes before the description that the compiler has of it, which takes a processor for
// a GPU where kernels are written in OpenCL.
func TestOmniTuneTold(t *testing.T) {
	b := bound(t, mixed, "")
	n := &Instructions{Of: map[string]int{}, All: 1}
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	const cpu, gpu, accelerator = 1 << 1, 1 << 2, 1 << 3
	told := map[string]int64{
		"TYPE": cpu, "LOCAL_MEM_TYPE": 2, "ENDIAN_LITTLE": 1, "EXECUTION_CAPABILITIES": 3, "HOST_UNIFIED_MEMORY": 1,
		"GLOBAL_MEM_CACHE_SIZE": 1 << 20, "GLOBAL_MEM_SIZE": 1 << 34, "MAX_CLOCK_FREQUENCY": 0,
		"MIN_DATA_TYPE_ALIGN_SIZE": 128, "PREFERRED_VECTOR_WIDTH_FLOAT": 16, "NATIVE_VECTOR_WIDTH_HALF": 0,
	}
	of := func() map[string]float64 {
		list := map[string]float64{}
		for i, v := range OmniTune(b, b.Program.Calls[0], n, h200, told) {
			list[OfOmniTune[i].Name] = v
		}
		return list
	}
	got := of()
	for name, want := range map[string]float64{
		"type": 0, "local_type": 1, "big_endian": 0, "native_kernels": 1, "unified_memory": 1, "cache_bytes": 1 << 20,
		"memory_bytes": 1 << 34, "type_alignment": 128, "preferred_width_float": 16, "native_width_half": 0,
		"max_threads_z": 64, "compute_units": 132, // by the description
	} {
		if v := got["device_"+name]; v != want {
			t.Errorf("%s is %v, not %v", name, v, want)
		}
	}
	for _, name := range []string{"clock", "vendor_id", "preferred_width_int"} {
		if v := got["device_"+name]; !math.IsNaN(v) {
			t.Errorf("%s is %v, though nobody tells it", name, v)
		}
	}
	told["TYPE"], told["LOCAL_MEM_TYPE"], told["EXECUTION_CAPABILITIES"] = gpu, 1, 1
	if got := of(); got["device_type"] != 1 || got["device_local_type"] != 2 || got["device_native_kernels"] != 0 {
		t.Errorf("a GPU is %v", got)
	}
	told["TYPE"], told["LOCAL_MEM_TYPE"] = accelerator, 0
	if got := of(); !math.IsNaN(got["device_type"]) || got["device_local_type"] != 0 {
		t.Errorf("an accelerator without local memory is %v", got)
	}
	for name := range toldAs {
		if !slices.ContainsFunc(OfOmniTune, func(f Feature) bool { return f.Name == "device_"+name }) {
			t.Errorf("there is no feature %s", name)
		}
	}
}

// What OmniTune describes is what one sees, and what a machine's description does not have is not known.
func TestOmniTune(t *testing.T) {
	b := bound(t, mixed, "")
	n := &Instructions{Of: map[string]int{"fsub": 2, "fneg": 1, "load": 4, "getelementptr": 5, "ret": 1}, All: 20,
		Blocks: 2, Functions: 1, Clang: true}
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*machine.Machine{h200, nil} {
		values := OmniTune(b, b.Program.Calls[0], n, m, nil)
		if len(values) != len(OfOmniTune) || len(values) != 102 {
			t.Fatalf("%d numbers of %d features", len(values), len(OfOmniTune))
		}
		unknown := 0
		known := slices.Clone(values)
		for i, v := range values {
			if math.IsNaN(v) {
				unknown++
				known[i] = -1
			}
		}
		got := named(t, OfOmniTune, known)
		want := map[string]float64{
			"columns": 509, "rows": 126, "input_type": 4, "output_type": 3, "border_north": 1, "border_south": 1,
			"border_east": 2, "border_west": 1, "instructions": 20, "density_fsub": 0.15, "density_load": 0.2,
			"density_memory": 0.45, "density_blocks": 0.1, "density_functions": 0.05, "density_alloca": 0,
			"by_clang": 1, "kernel_max_threads": -1, "device_vendor": -1, "device_native_width_float": -1,
			"device_compute_units": 132, "device_max_threads_z": 64, "device_local_bytes": 49152, "device_type": 1,
			"device_double": 1, "device_clock": 1980, "device_cache_line": 128, "device_unified_memory": -1,
		}
		for name, v := range want {
			if m == nil && strings.HasPrefix(name, "device_") {
				v = -1
			}
			if got[name] != v {
				t.Errorf("%s is %v, not %v", name, got[name], v)
			}
		}
		if m == nil && unknown != 56 || m != nil && unknown >= 56-15 {
			t.Errorf("%d numbers are not known", unknown)
		}
	}
}
