package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/transform"
)

func TestStorageFolds(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"w[j][i] = u[j][i-1]*v[j][i-1] + u[j][i+1]*v[j][i+1];", "u v: u[j][i] * v[j][i] at [[0 -1] [0 1]]"},
		{"w[j][i] = r*(2*u[j-1][i]*v[j-1][i] - 2*u[j][i]*v[j][i]);", "u v: 2 * u[j][i] * v[j][i] at [[-1 0] [0 0]]"},
		{"w[j][i] = u[j][i-1]*v[j][i-1] + u[j][i+1]*v[j][i+1]; reduce sum r = u[j][i]*v[j][i];", "u v: u[j][i] * v[j][i] at [[0 -1] [0 0] [0 1]]"},
		{"w[j][i] = sqrt(u[j][i-1]/v[j][i-1] + j) + sqrt(u[j][i+1]/v[j][i+1] + j);", "u v: sqrt(u[j][i] / v[j][i] + j) at [[0 -1] [0 1]]"},
		{"w[j][i] = sqrt(u[j-1][i]/v[j-1][i] + j - 1) + sqrt(u[j][i]/v[j][i] + j);", "u v: u[j][i] / v[j][i] at [[-1 0] [0 0]]"},
		// One read apart from the rest, or a single offset: nothing to gain.
		{"w[j][i] = u[j][i-1]*v[j][i-1] + u[j][i+1]*v[j][i+1] + u[j][i];", ""},
		{"w[j][i] = u[j][i]*v[j][i];", ""},
		{"w[j][i] = u[j][i-1]*v[j][i-1] + v[j][i+1]*u[j][i+1];", ""},
		{"w[j][i] = u[j][i-1]*u[j][i-1] + u[j][i+1]*u[j][i+1];", ""},
		{"w[j][i] = u[j][i-1]*v[j][i+1] + u[j][i+1]*v[j][i+3];", ""},
		// What changes under way cannot be kept.
		{"w[j][i] = u[j][i-1]*v[j][i-1] + u[j][i+1]*v[j][i+1]; v[j][i] = 0;", ""},
		{"w[j][i] = u[j][i-1]*v[j][i-1]*r + u[j][i+1]*v[j][i+1]*r;  reduce sum r = w[j][i];", "u v: u[j][i] * v[j][i] at [[0 -1] [0 1]]"},
		{"double d = i; w[j][i] = (u[j][i-1] - d)*v[j][i-1] + (u[j][i+1] - d)*v[j][i+1];", ""},
	} {
		p := load(t, head+c.body+tail)
		var got []string
		for _, f := range transform.StorageFolds(p, p.Stages[0]) {
			var names []string
			for _, a := range f.Arrays {
				names = append(names, a.Name)
			}
			got = append(got, fmt.Sprintf("%s: %s at %v", strings.Join(names, " "), p.InfixExpr(f.Value), f.Offsets))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s\n%s\nwant\n%s", c.body, text, c.want)
		}
	}
}
