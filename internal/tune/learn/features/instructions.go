package features

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Instructions are the instructions of a program's functions, by the opcodes of LLVM: what its pass instcount counts.
type Instructions struct {
	Of        map[string]int // by opcode, as LLVM's texts have it: "fadd"
	All       int            // of any opcode
	Blocks    int            // basic blocks
	Functions int            // those that have a body
	Clang     bool           // clang has made them; otherwise they stand for statements of the kernel IR
}

// Memory is how many may touch memory. Calls and addresses are among them, as in instcount.
func (n *Instructions) Memory() int {
	return n.Of["getelementptr"] + n.Of["load"] + n.Of["store"] + n.Of["call"] + n.Of["invoke"] + n.Of["alloca"]
}

// add counts an instruction, so many times.
func (n *Instructions) add(opcode string, times int) {
	n.Of[opcode] += times
	n.All += times
}

// opcodes are all of LLVM 19.
var opcodes = setOf(`ret br switch indirectbr invoke callbr resume catchswitch catchret cleanupret unreachable fneg add
	fadd sub fsub mul fmul udiv sdiv fdiv urem srem frem shl lshr ashr and or xor extractelement insertelement
	shufflevector extractvalue insertvalue alloca load store fence cmpxchg atomicrmw getelementptr trunc zext sext
	fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast addrspacecast icmp fcmp phi select freeze call
	va_arg landingpad catchpad cleanuppad`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// longestLine bounds a line of LLVM IR, in bytes. Those of large kernels have some kilobytes.
const longestLine = 4 << 20

// ReadLLVM counts the instructions of LLVM IR in its text form, as clang writes it. It refuses what it does not know.
func ReadLLVM(r io.Reader) (*Instructions, error) {
	n := &Instructions{Of: map[string]int{}, Clang: true}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	var inside, began, list bool // in a function; past its first line; in the cases of a switch
	at := 0
	for lines.Scan() {
		at++
		line := strings.TrimRight(lines.Text(), " \t")
		text := strings.TrimLeft(line, " \t")
		switch {
		case !inside:
			if strings.HasPrefix(line, "define ") {
				if !strings.HasSuffix(line, "{") {
					return nil, fmt.Errorf("line %d of the LLVM IR: a function without a body", at)
				}
				inside, began = true, false
				n.Functions++
			}
		case text == "", strings.HasPrefix(text, ";"), strings.HasPrefix(text, "#dbg_"):
		case list:
			list = !strings.HasPrefix(text, "]")
		case line == "}":
			inside = false
		case isLabel(line):
			n.Blocks++
			began = true
		default:
			if !began { // the first block needs no label
				n.Blocks++
				began = true
			}
			opcode := opcodeOf(text)
			if !opcodes[opcode] {
				return nil, fmt.Errorf("line %d of the LLVM IR: %.60q is no instruction that is known", at, text)
			}
			n.add(opcode, 1)
			list = (opcode == "switch" || opcode == "indirectbr") && strings.HasSuffix(text, "[")
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d of the LLVM IR: %w", at+1, err)
	}
	if inside {
		return nil, fmt.Errorf("the LLVM IR ends within a function, after line %d", at)
	}
	if n.Functions == 0 {
		return nil, errors.New("the LLVM IR has no function")
	}
	return n, nil
}

// isLabel reports whether a line begins a block: "17:   ; preds = %4".
func isLabel(line string) bool {
	if line[0] == ' ' || line[0] == '\t' {
		return false
	}
	if line[0] == '"' {
		_, rest, ok := strings.Cut(line[1:], `"`)
		return ok && strings.HasPrefix(rest, ":")
	}
	name, _, ok := strings.Cut(line, ":")
	return ok && !strings.ContainsAny(name, " \t")
}

// opcodeOf returns the first word of an instruction, without the name of its result and the marks of calls.
func opcodeOf(text string) string {
	if strings.HasPrefix(text, "%") {
		name := text
		if strings.HasPrefix(text, `%"`) {
			_, name, _ = strings.Cut(text[2:], `"`)
		}
		_, text, _ = strings.Cut(name, " = ")
	}
	word, rest, _ := strings.Cut(text, " ")
	if word == "tail" || word == "musttail" || word == "notail" {
		word, _, _ = strings.Cut(rest, " ")
	}
	return word
}

// Compiled counts the instructions that clang makes of a source in OpenCL C, which is not run.
func Compiled(ctx context.Context, c *toolchain.Clang, source string, options ...string) (*Instructions, error) {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := c.LLVM(ctx, source, w, options...)
		w.Close()
		done <- err
	}()
	n, err := ReadLLVM(r)
	r.CloseWithError(io.ErrClosedPipe) // clang is not kept waiting
	if failed := <-done; failed != nil && (err == nil || !errors.Is(failed, io.ErrClosedPipe)) {
		return nil, failed
	}
	return n, err
}

// InstructionsOf counts the instructions of the kernels of some launches: those that clang makes of them, or what
// stands in the kernels if clang is nil or OpenCL has no words for one of them.
func InstructionsOf(ctx context.Context, c *toolchain.Clang, launches []*kernel.Launch) (*Instructions, error) {
	var kernels []*kernel.Kernel
	for _, x := range launches {
		if !slices.Contains(kernels, x.Kernel) {
			kernels = append(kernels, x.Kernel)
		}
	}
	lacks := func(k *kernel.Kernel) bool { return emit.OpenCL.Lacks(k) != nil }
	if c == nil || slices.ContainsFunc(kernels, lacks) {
		return OfKernels(kernels), nil
	}
	return Compiled(ctx, c, emit.Source(emit.OpenCL, &kernel.Module{Kernels: kernels}))
}
