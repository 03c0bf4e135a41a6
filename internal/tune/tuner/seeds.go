package tuner

import (
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A search on a GPU begins with the seeds of the kernel's families: each has been the best for some stencil
// (docs/performance-log.md has the measurements), so that a search does not depend on finding it by chance.
// Their settings are in order of importance: what a kernel does not have is left out from the end.

// minSettings is the number of settings of a seed, its family included, that a kernel must have: with fewer
// it is another kind of kernel.
const minSettings = 4

// seedConfigs returns the configurations of the kernel's space that are nearest to the seeds of its families.
func (k *kernelSearch) seedConfigs() []schedule.Config {
	var list []schedule.Config
	for _, text := range k.space.Schedule().Seeds() {
		if c, ok := k.nearSeed(text); ok {
			list = append(list, c)
		}
	}
	return list
}

// nearSeed returns the configuration of the kernel's space that is nearest to a seed; false if none is near.
func (k *kernelSearch) nearSeed(text string) (schedule.Config, bool) {
	settings := strings.Split(text, ",")
	for ; len(settings) >= minSettings; settings = settings[:len(settings)-1] {
		c, err := schedule.ParseConfig(strings.Join(settings, ","))
		if err != nil {
			panic(err)
		}
		if c, err := k.space.Schedule().Complete(c); err == nil {
			return c, true
		}
	}
	return schedule.Config{}, false
}
