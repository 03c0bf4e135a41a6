package predict

import (
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// FormOf names the form of a kernel: its family, whether it stages cells in shared memory and who copies them, whether
// its threads load vectors, and the path of its loads. The four techniques of Garvey and Abdelrahman 2018 (section 4.7)
// are forms of the family tile: global, vector, local, image.
func FormOf(set schedule.ByRole, family string) string {
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
