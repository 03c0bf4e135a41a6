package proof

import (
	"encoding/json"
	"slices"
	"strings"
)

// Names are those of the machines, compilers or commits of a proof that several calls went on with. One name is a
// text in JSON, several are a list.
type Names []string

// with returns the names and those of a later part, each once. An empty name is none.
func (n Names) with(later Names) Names {
	var all Names
	for _, name := range slices.Concat(n, later) {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// String lists the names.
func (n Names) String() string { return strings.Join(n, ", ") }

// MarshalJSON writes one name as a text, none as an empty one.
func (n Names) MarshalJSON() ([]byte, error) {
	if len(n) < 2 {
		return json.Marshal(n.String())
	}
	return json.Marshal([]string(n))
}

// UnmarshalJSON also reads the names of proofs that earlier versions have written, which joined several with commas.
func (n *Names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) != nil {
		return json.Unmarshal(text, (*[]string)(n))
	}
	if *n = nil; one != "" {
		*n = strings.Split(one, ", ")
	}
	return nil
}
