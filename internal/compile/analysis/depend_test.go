package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// edgesText prints dependences as "0>1 flow a [0 0 1]", carried ones with "'".
func edgesText(edges []Edge) string {
	var out []string
	for _, e := range edges {
		mark := ""
		if e.Carried {
			mark = "'"
		}
		text := fmt.Sprintf("%d>%d%s %s %s", e.From, e.To, mark, e.Kind, e.On)
		for _, o := range e.Offsets {
			text += " " + strings.Trim(fmt.Sprint(o), "[]")
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func TestEdges(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"none", "a[k][j][i] = b[k][j][i]; c[k][j][i] = b[k][j][i+1];", ""},
		{"flow", "a[k][j][i] = b[k][j][i]; c[k][j][i] = a[k][j][i+1] + a[k][j-1][i];", "0>1 flow a 0 -1 0 0 0 1"},
		{"anti", "a[k][j][i] = b[k][j][i+1]; b[k][j][i] = c[k][j][i];", "0>1 anti b 0 0 1"},
		{"output", "a[k][j][i] = b[k][j][i]; a[k][j][i] = c[k][j][i];", "0>1 output a"},
		{"update", "a[k][j][i] = b[k][j][i]; a[k][j][i] += c[k][j][i];", "0>1 flow a 0 0 0; 0>1 output a"},
		{"overwritten", "a[k][j][i] = b[k][j][i]; a[k][j][i] = c[k][j][i]; b[k][j][i] = a[k][j][i];",
			"0>1 output a; 0>2 anti b 0 0 0; 1>2 flow a 0 0 0"},
		{"partly overwritten", "a[k][j][i] = b[k][j][i]; [0:0,0:N-1,0:N-1] : a[k][j][i] = 1; c[k][j][i] = a[k][j][i];",
			"0>1 output a; 0>2 flow a 0 0 0; 1>2 flow a 0 0 0"},
		{"planes apart",
			"[0:0,0:N-1,0:N-1] : a[k][j][i] = b[k][j][i]; [1:1,0:N-1,0:N-1] : c[k][j][i] = a[k][j][i]; " +
				"[1:1,0:N-1,0:N-1] : a[k][j][i] = 2;", "1>2 anti a 0 0 0"},
		{"temps", "double r = b[k][j][i+1]; double q = 2*r; a[k][j][i] = q + r;",
			"0>1 flow r 0 0 0; 0>2 flow r 0 0 0; 1>2 flow q 0 0 0"},
		{"reduction", "reduce sum s = b[k][j][i]; a[k][j][i] = s; reduce max s = a[k][j][i];",
			"0>1 flow s; 0>2 output s; 1>2 flow a 0 0 0; 1>2 anti s"},
		{"fixed plane", "a[k][j][i] = b[k][j][i]; c[k][j][i] = a[0][j][i];", "0>1 flow a"},
		{"red and black", "color (k+j+i) % 2 == each : a[k][j][i] = a[k][j][i+1];",
			"0>1 flow a 0 0 1; 0>1 anti a 0 0 1; 0>1 output a"},
	} {
		_, call := oneCall(t, "", c.body)
		if got := edgesText(call.Edges); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	p := irCall(t, "", "(set a (load a k j i-1))")
	if got := edgesText(Analyze(p, nil).Calls[0].Edges); got != "0>0 anti a 0 0 -1" {
		t.Errorf("in place: %s", got)
	}
}

func TestHomogenizable(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		// Rawat, section III-B2: the first can be homogenized, the second not.
		{"a[k][j][i] = b[k-1][j][i];", "k 1/1; j 1/1; i 1/1"},
		{"a[k][j][i] = b[k+1][j][i]*c[k-1][j][i];", "k no: b[k+1][j][i] * c[k-1][j][i]; j 1/1; i 1/1"},
		{"a[k][j][i] = 1;", "k 1/0; j 1/0; i 1/0"},
		{"a[k][j][i] = s*(b[k+1][j][i] - 2*b[k][j][i])/t;", "k 2/2; j 1/1; i 1/1"},
		{"a[k][j][i] = -(b[k+1][j][i] + b[k][j][i]);", "k 2/2; j 2/1; i 2/1"},
		{"a[k][j][i] = (b[k+1][j][i] + c[k][j][i])*(s + p[i]);", "k 4/2; j 1/1; i 1/1"},
		{"a[k][j][i] = (b[k+1][j][i] + b[k][j][i])*c[k+1][j][i];",
			"k no: (b[k+1][j][i] + b[k][j][i]) * c[k+1][j][i]; j 1/1; i 1/1"},
		{"a[k][j][i] = max(b[k+1][j][i], b[k][j][i]);", "k no: max(b[k+1][j][i], b[k][j][i]); j 1/1; i 1/1"},
		{"a[k][j][i] = max(b[k+1][j][i], c[k+1][j][i]) + b[k][j][i];", "k 2/2; j 2/1; i 2/1"},
		{"a[k][j][i] = b[k+1][j][i]/b[k][j][i];", "k no: b[k+1][j][i] / b[k][j][i]; j 1/1; i 1/1"},
		{"a[k][j][i] = s/(b[k+1][j][i] + b[k][j][i]);", "k no: b[k+1][j][i] + b[k][j][i]; j 1/1; i 1/1"},
		{"double r = b[k+1][j][i] + b[k][j][i]; a[k][j][i] = s*r;", "k 2/2; j 1/1; i 1/1"},
		{"double r = b[k+1][j][i] + b[k][j][i]; a[k][j][i] = r*r;", "k no: r * r; j 1/1; i 1/1"},
		{"a[k][j][i] = b[0][j][i] + b[k+1][j][i]*p[i-1];", "k 2/1; j 2/1; i no: b[k+1][j][i] * p[i-1]"},
		{"m[k][j][i] = (m[k][j][i]*3)/2 + i;", "k 2/1; j 2/1; i 2/1"},
		{"a[k][j][i] = b[k+1][j][i]; c[k][j][i] = b[k+1][j][i]/b[k][j][i];",
			"k no: b[k+1][j][i] / b[k][j][i]; j 2/1; i 2/1"},
	} {
		_, call := oneCall(t, "", c.body)
		_, got, _ := strings.Cut(summary(call), "homogenizable ")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}
