package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// tensorHelpers are for copies by tensor maps. A tensor map is what the driver's cuTensorMapEncodeTiled
// writes. Kernels take it as an argument that stays in constant memory, because the copy engine reads it there.
func tensorHelpers() []helperText {
	list := []helperText{{name: "tensor_map", bare: true,
		text: "struct __align__(64) gl_tensor_map { uint64_t words[16]; }; // as the driver encodes it"}}
	for axes := 1; axes <= kernel.MaxTensorAxes; axes++ {
		list = append(list, tensorHelper(axes, false), tensorHelper(axes, true))
	}
	return list
}

// tensorHelper copies a box along so many axes, to the block's own shared memory or to that of several blocks of
// its cluster.
func tensorHelper(axes int, multicast bool) helperText {
	var params, places, bounds []string
	for i := range axes {
		params = append(params, fmt.Sprintf("int32_t x%d", i))
		places = append(places, fmt.Sprintf("%%%d", 3+i))
		bounds = append(bounds, fmt.Sprintf("\"r\"(x%d)", i))
	}
	name, to, param, place, bound := "", "complete_tx::bytes", "", "", ""
	if multicast {
		name, to, param = "_multicast", to+".multicast::cluster", ", int32_t blocks"
		place, bound = fmt.Sprintf(", %%%d", 3+axes), `, "h"((unsigned short)blocks)`
	}
	return helperText{name: fmt.Sprintf("copy_tensor%d%s", axes, name), uses: "shared_at", text: fmt.Sprintf(
		"void gl_copy_tensor%d%s(void *to, const gl_tensor_map *from, %s, int64_t *mbarrier%s)\n{\n"+
			"    asm volatile(\"cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::%s\"\n"+
			"            \" [%%0], [%%1, {%s}], [%%2]%s;\"\n"+
			"            :: \"r\"(gl_shared_at(to)), \"l\"(from), \"r\"(gl_shared_at(mbarrier)), %s%s : \"memory\");\n}",
		axes, name, strings.Join(params, ", "), param, axes, to, strings.Join(places, ", "), place,
		strings.Join(bounds, ", "), bound)}
}
