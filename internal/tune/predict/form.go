package predict

import (
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// formOf names the form of a kernel: its family, whether it stages cells in shared memory and who copies them, whether
// its threads load vectors, and the path of its loads. The four techniques of Garvey and Abdelrahman 2018 (section 4.7)
// are forms of the family tile: global, vector, local, image.
func formOf(set schedule.ByRole, family string) string {
	parts := []string{family}
	if set.Int(schedule.Staging, 0) > 0 {
		copy := "staged"
		if word := set.Word(schedule.StagingCopy); word != "" && word != schedule.AsyncCopies {
			copy += " by " + word
		}
		parts = append(parts, copy)
	}
	if set.Int(schedule.Vector, 1) > 1 {
		parts = append(parts, "vectors")
	}
	if set.Word(schedule.LoadPath) == schedule.ImageLoads {
		parts = append(parts, "images")
	}
	return strings.Join(parts, ", ")
}

// FormOf returns what names the form that a configuration of the kernel gives it: how it reads cells, without sizes of
// blocks and tiles.
func (k *Kernel) FormOf() func(schedule.Config) string {
	roles := k.Space.Roles()
	return func(c schedule.Config) string { return formOf(roles.Of(c), c.Family) }
}
