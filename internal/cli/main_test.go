package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	Worker() // a process that a test has started as one serves and exits here
	testscript.Main(m, map[string]func(){
		"gridloom":  func() { os.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"grid":      gridTool,
		"interrupt": interruptTool,
	})
}
