package features

import (
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// OfOmniTune are the features of OmniTune: of the dataset, the kernel and the device, in the order of OmniTune's
// numbers, and at the end who has counted the instructions.
var OfOmniTune = omniTuneFeatures()

// densities are the kinds of instructions whose part of all instructions is a feature, by LLVM's opcodes.
var densities = strings.Fields(`ashr add alloca and br call fadd fcmp fdiv fmul fpext fptosi fsub getelementptr icmp
	insertvalue load mul or phi ret sdiv sext sitofp srem select shl store sub trunc udiv xor zext`)

// vectorTypes are the types for which OpenCL tells widths of vectors.
var vectorTypes = strings.Fields("char double float half int long short")

// widthKinds are the widths that it tells of each.
var widthKinds = []string{"native", "preferred"}

const cummins = "Cummins et al. 2018, table 5.1"

func omniTuneFeatures() []Feature {
	var list []Feature
	say := func(name, unit, doc, example string) { list = append(list, Feature{name, unit, doc, example, cummins}) }
	say("columns", "cells", "Cells of the domain along x.", "512 x 1,024: 1,024")
	say("rows", "rows", "Rows of the domain: its cells along all other axes.", "64 planes of 512 x 512: 32,768")
	const codes = "1 byte, 2 int, 3 float, 4 double"
	say("input_type", "code", "The widest element that is read: "+codes+".", "float: 3")
	say("output_type", "code", "The widest element that is written: "+codes+".", "double: 4")
	say("border_north", "cells", "The halo towards smaller y.", "in[j-2][i] is read: 2")
	say("border_south", "cells", "The halo towards larger y.", "in[j+1][i] is read: 1")
	say("border_east", "cells", "The halo towards larger x.", "in[j][i+3] is read: 3")
	say("border_west", "cells", "The halo towards smaller x.", "in[j][i-1] is read: 1")
	say("instructions", "instructions", "Instructions of the kernel's functions, of any kind.", "a star in 2D: 150")
	for _, opcode := range densities {
		doc, example := "The part of the instructions that are "+opcode+".", "6 of 120: 0.05"
		if opcode == "fsub" {
			doc = "The part of the instructions that are fsub, or fneg, which LLVM had as fsub in its day."
		}
		say("density_"+opcode, "", doc, example)
	}
	say("density_blocks", "", "Basic blocks by instructions.", "6 of 120 instructions: 0.05")
	say("density_memory", "", "The part of the instructions that are accesses, addresses, calls or alloca.",
		"40 of 120: 0.33")
	say("density_functions", "", "Functions that have a body, by instructions.", "1 of 100 instructions: 0.01")
	say("kernel_max_threads", "threads", "The most threads of a work-group that the driver gives the compiled kernel.",
		"256")
	for _, d := range deviceProperties {
		say("device_"+d.name, d.unit, d.doc, d.example)
	}
	for _, kind := range widthKinds {
		for _, t := range vectorTypes {
			say("device_"+kind+"_width_"+t, "elements", "The "+kind+" width of vectors of "+t+".", "4")
		}
	}
	list = append(list, Feature{"by_clang", "0 or 1",
		"1 if instructions are those of the LLVM IR that clang makes of OpenCL; 0 if they are counted on the kernel IR.",
		"clang is installed: 1", own})
	return list
}

// absent stands for what is not known.
var absent = math.NaN()

// OmniTune returns the features of a call at its sizes on a machine, which may be nil. told is what an OpenCL driver
// says of the device (device.Properties), which goes before the machine's description; nil if none is asked. NaN is
// what is not known: a description has some of a device's properties alone.
func OmniTune(b *ir.Binding, call *ir.Call, n *Instructions, m *machine.Machine, told map[string]int64) []float64 {
	f := analysis.Analyze(b.Program, b).Call(call)
	domain := domainOf(b, call)
	columns, rows := 1.0, 1.0
	for axis, cells := range domain {
		if axis == len(domain)-1 {
			columns = float64(cells)
		} else {
			rows *= float64(max(1, cells))
		}
	}
	in, out := elementCodes(f)
	var x, y analysis.Halo
	if i := len(f.Shape.Halo) - 1; i >= 0 {
		x = f.Shape.Halo[i]
		if i > 0 {
			y = f.Shape.Halo[i-1]
		}
	}
	list := []float64{
		columns, rows, in, out,
		float64(y.Low), float64(y.High), float64(x.High), float64(x.Low),
	}
	return append(append(append(list, n.densities()...), absent), n.device(m, told)...)
}

// elementCodes are the codes of the widest elements that are read and written.
func elementCodes(f *analysis.CallFacts) (in, out float64) {
	code := map[types.Type]float64{types.U8: 1, types.I32: 2, types.F32: 3, types.F64: 4}
	for _, a := range f.Arrays {
		if a.Shape.Points > 0 {
			in = max(in, code[a.IR.Type])
		}
		if a.Stores > 0 {
			out = max(out, code[a.IR.Type])
		}
	}
	return in, out
}

// densities are the number of instructions and the parts of it.
func (n *Instructions) densities() []float64 {
	all := float64(n.All)
	list := []float64{all}
	for _, opcode := range densities {
		times := n.Of[opcode]
		if opcode == "fsub" {
			times += n.Of["fneg"]
		}
		list = append(list, float64(times)/all)
	}
	return append(list, float64(n.Blocks)/all, float64(n.Memory())/all, float64(n.Functions)/all)
}

// device are a device's properties, and who has counted.
func (n *Instructions) device(m *machine.Machine, told map[string]int64) []float64 {
	var list []float64
	for _, d := range deviceProperties {
		v, ok := toldOf(told, d.name)
		switch {
		case ok:
		case m != nil && d.of != nil:
			v = d.of(m)
		default:
			v = absent
		}
		list = append(list, v)
	}
	for _, kind := range widthKinds {
		for _, t := range vectorTypes {
			list = append(list, toldWidth(told, kind, t))
		}
	}
	if n.Clang {
		return append(list, 1)
	}
	return append(list, 0)
}
