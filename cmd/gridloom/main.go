// Command gridloom compiles and tunes stencil computations.
package main

import (
	"os"

	"github.com/gridloom/gridloom/internal/cli"
)

func main() {
	cli.Worker()
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
