package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// Programs that scripts use besides gridloom.

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// gridTool makes grids and shows them:
//
//	grid make u.npy double 4x5 ramp     0, 1, 2 ...
//	grid make u.npy float 9 random      in [0, 1), always the same
//	grid make u.npy double 2x2 1 NaN 3 4
//	grid show u.npy                     type, shape and cells on a line
func gridTool() {
	args := os.Args[1:]
	switch {
	case len(args) >= 5 && args[0] == "make":
		makeGrid(args[1], args[2], args[3], args[4:])
	case len(args) == 2 && args[0] == "show":
		a, err := gridio.Read(args[1], gridio.Want{})
		if err != nil {
			fail("%v", err)
		}
		fmt.Print(a.Type.Word(), " ", gridio.FormatShape(a.Shape), ":")
		for i := range a.Len() {
			fmt.Print(" ", a.At(i))
		}
		fmt.Println()
	default:
		fail("grid make FILE TYPE SHAPE CELLS... | grid show FILE")
	}
}

func makeGrid(path, word, size string, cells []string) {
	kinds := map[string]types.Type{
		"double": types.F64, "float": types.F32, "int": types.I32, "byte": types.U8, "bool": types.Bool,
	}
	var shape []int
	for _, n := range strings.Split(size, "x") {
		v, err := strconv.Atoi(n)
		if err != nil {
			fail("%v", err)
		}
		shape = append(shape, v)
	}
	a, err := gridio.New(kinds[word], shape...)
	if err != nil {
		fail("%v", err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	value := func(i int) float64 {
		switch cells[0] {
		case "ramp":
			return float64(i)
		case "random":
			return rng.Float64()
		}
		v, err := strconv.ParseFloat(cells[i%len(cells)], 64)
		if err != nil {
			fail("%v", err)
		}
		return v
	}
	for i := range a.Len() {
		v := value(i)
		switch a.Type {
		case types.F64:
			gridio.View[float64](a)[i] = v
		case types.F32:
			gridio.View[float32](a)[i] = float32(v)
		case types.I32:
			gridio.View[int32](a)[i] = int32(v)
		default:
			a.Data[i] = byte(int(math.Mod(v, 256)))
		}
	}
	if err := gridio.Write(path, a, gridio.Options{}); err != nil {
		fail("%v", err)
	}
}

// interruptTool starts a command and, once a file is there, interrupts it and
// its children as a terminal does:
//
//	interrupt FILE COMMAND...
func interruptTool() {
	file, args := os.Args[1], os.Args[2:]
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fail("%v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Minute)
	for {
		select {
		case <-ended:
			fail("the command ended before %s was there", file)
		case <-limit:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			fail("%s was not there after ten minutes", file)
		case <-tick.C:
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
			select {
			case <-ended:
				os.Exit(cmd.ProcessState.ExitCode())
			case <-limit:
				syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				fail("the command did not end when it was interrupted")
			}
		}
	}
}
