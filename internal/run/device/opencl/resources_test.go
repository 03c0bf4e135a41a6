package opencl

import "testing"

func TestAssembled(t *testing.T) {
	const log = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'light' for 'sm_90'
ptxas info    : Function properties for light
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'heavy' for 'sm_90'
ptxas info    : Function properties for heavy
    128 bytes stack frame, 96 bytes spill stores, 104 bytes spill loads
ptxas info    : Used 255 registers, 400 bytes cmem[0]
ptxas info    : Function properties for helper
    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads`
	for kernel, want := range map[string][2]int{"light": {24, 0}, "heavy": {255, 200}, "absent": {}} {
		if regs, spilled := assembled(log, kernel); regs != want[0] || spilled != want[1] {
			t.Errorf("%s: %d registers, %d bytes spilled", kernel, regs, spilled)
		}
	}
	for _, log := range []string{"", "kernels.cl:1: warning"} {
		if regs, spilled := assembled(log, "light"); regs != 0 || spilled != 0 {
			t.Errorf("%q: %d %d", log, regs, spilled)
		}
	}
}
