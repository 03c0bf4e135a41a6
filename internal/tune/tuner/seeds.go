package tuner

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// seeds are configurations that a search on a GPU begins with: one of each kind of kernel that has been the
// best for some stencil (docs/performance-log.md has the measurements), so that a search does not depend on
// finding it by chance. They are listed by number of axes. Their settings are in order of importance: what a
// kernel does not have is left out from the end. W stands for the cells of a 16-byte access, H for half of it.
var seeds = [][]string{
	{},
	{
		"family=tile,vec=W,block=256,sizes=baked,load=plain",
	},
	{
		"family=tile,vec=W,block=4x64,rows=2,sizes=baked,load=plain",
		"family=tile,vec=W,block=1x128,rows=8,sizes=baked,share=yes",
		"family=stream,stream=j,vec=W,block=128,chunk=64,sizes=baked,rotate=yes",
	},
	{
		"family=tile,vec=W,block=1x8x32,rows=4x2,sizes=baked,load=plain",                                                                   // little is reused
		"family=tile,vec=W,block=1x2x64,rows=1x1,sizes=baked,load=plain",                                                                   // many grids
		"family=stream,stream=k,vec=W,block=16x32,rows=2,chunk=12,sizes=baked,shared=0,rotate=yes",                                         // planes in registers
		"family=stream,stream=k,vec=W,block=8x32,rows=2,chunk=256,sizes=baked,shared=1,stage=all,fetch=async,perspective=output",           // planes in shared memory
		"family=stream,stream=k,vec=W,block=16x16,rows=4,chunk=256,sizes=baked,shared=2,stage=all,fetch=async,perspective=output",          // and long reach
		"family=stream,stream=k,vec=2,block=4x64,rows=8,chunk=64,sizes=baked,shared=1,stage=halos,share=yes,rotate=yes,ahead=1,retime=yes", // boxes, in sums
		"family=stream,stream=k,vec=H,block=1x512,rows=4,chunk=0,sizes=args,shared=3,stage=all,fetch=async,perspective=input,share=yes",    // boxes, as they come
	},
}

// minSettings is the number of settings of a seed, its family included, that a kernel must have: with fewer
// it is another kind of kernel.
const minSettings = 4

// seedWidths replaces W and H by numbers of cells.
func seedWidths(w int64) *strings.Replacer {
	return strings.NewReplacer("vec=W", fmt.Sprintf("vec=%d", max(1, w)), "vec=H", fmt.Sprintf("vec=%d", max(1, w/2)))
}

// seedConfigs returns the configurations of the kernel's space that are nearest to the seeds.
func (k *kernelSearch) seedConfigs() []schedule.Config {
	dims := len(k.stage.subject.bound.Program.Axes)
	if k.about.Target != lower.GPU || dims >= len(seeds) {
		return nil
	}
	wide := int64(1)
	for _, a := range analysis.Analyze(k.stage.bound.Program, k.stage.bound).Stage(k.stage.stage).Arrays {
		wide = max(wide, int64(a.IR.Type.Size()))
	}
	var list []schedule.Config
	for _, text := range seeds[dims] {
		settings := strings.Split(seedWidths(16/wide).Replace(text), ",")
		for ; len(settings) >= minSettings; settings = settings[:len(settings)-1] {
			c, err := schedule.ParseConfig(strings.Join(settings, ","))
			if err != nil {
				panic(err)
			}
			if c, err := k.space.Schedule().Complete(c); err == nil {
				list = append(list, c)
				break
			}
		}
	}
	return list
}
