package schedule

import "strings"

// minSettings is the number of settings of a seed, its family included, that a kernel must have: with fewer
// it is another kind of kernel.
const minSettings = 4

// Each seed has been the best for some stencil (docs/performance-log.md has the measurements): a search that begins
// with them does not depend on finding it by chance.

// SeedConfigs returns the configurations of the space that are nearest to the seeds of its families. Settings of a
// seed are in order of importance: what the space does not have is left out from the end.
func (s Space) SeedConfigs() []Config {
	var list []Config
	for _, text := range s.Seeds() {
		if c, ok := s.NearSeed(text); ok {
			list = append(list, c)
		}
	}
	return list
}

// NearSeed returns the configuration of the space that is nearest to a seed; false if none is near.
func (s Space) NearSeed(text string) (Config, bool) {
	settings := strings.Split(text, ",")
	for ; len(settings) >= minSettings; settings = settings[:len(settings)-1] {
		c, err := ParseConfig(strings.Join(settings, ","))
		if err != nil {
			panic(err)
		}
		if c, err := s.Complete(c); err == nil {
			return c, true
		}
	}
	return Config{}, false
}
