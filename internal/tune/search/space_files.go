package search

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed spaces
var spaces embed.FS

const spaceSuffix = ".space"

// SpaceFile returns the text of a file of restrictions that comes with gridloom: the search space of a publication, as
// far as ours has it. It is false if there is none of that name.
func SpaceFile(name string) (string, bool) {
	if strings.Contains(name, "/") {
		return "", false
	}
	text, err := spaces.ReadFile("spaces/" + name + spaceSuffix)
	return string(text), err == nil
}

// SpaceFiles returns the names of those files.
func SpaceFiles() []string {
	list, _ := fs.Glob(spaces, "spaces/*"+spaceSuffix)
	for i, path := range list {
		list[i] = strings.TrimSuffix(strings.TrimPrefix(path, "spaces/"), spaceSuffix)
	}
	return list
}
