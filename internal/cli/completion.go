package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) Help() string {
	return `Examples:
  source <(gridloom completion bash)
  gridloom completion fish > ~/.config/fish/completions/gridloom.fish`
}

// Run prints a script made from the command line's own grammar, so that it
// always knows every command and option.
func (c *completionCmd) Run(a *app) error {
	var names []string
	options := map[string][]string{}
	help := map[string]string{}
	for _, n := range a.parser.Model.Children {
		if n.Type != kong.CommandNode || n.Hidden {
			continue
		}
		names = append(names, n.Name)
		help[n.Name] = n.Help
		for _, f := range n.Flags {
			options[n.Name] = append(options[n.Name], "--"+f.Name)
		}
		options[n.Name] = append(options[n.Name], "--help")
	}
	switch c.Shell {
	case "bash":
		c.bash(a, names, options)
	case "zsh":
		fmt.Fprintln(a.stdout, "#compdef gridloom\nautoload -U +X bashcompinit && bashcompinit")
		c.bash(a, names, options)
	case "fish":
		for _, n := range names {
			fmt.Fprintf(a.stdout, "complete -c gridloom -n __fish_use_subcommand -a %s -d '%s'\n", n, strings.ReplaceAll(help[n], "'", `\'`))
			for _, o := range options[n] {
				fmt.Fprintf(a.stdout, "complete -c gridloom -n '__fish_seen_subcommand_from %s' -l %s\n", n, strings.TrimPrefix(o, "--"))
			}
		}
	}
	return nil
}

func (c *completionCmd) bash(a *app, names []string, options map[string][]string) {
	w := func(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }
	w("_gridloom() {")
	w(`    local word="${COMP_WORDS[COMP_CWORD]}"`)
	w(`    if [ "$COMP_CWORD" -eq 1 ]; then`)
	w(`        COMPREPLY=($(compgen -W "%s" -- "$word"))`, strings.Join(names, " "))
	w("        return")
	w("    fi")
	w(`    case "$word" in -*) ;; *) COMPREPLY=($(compgen -f -- "$word")); return ;; esac`)
	w(`    case "${COMP_WORDS[1]}" in`)
	for _, n := range names {
		w(`        %s) COMPREPLY=($(compgen -W "%s" -- "$word")) ;;`, n, strings.Join(options[n], " "))
	}
	w("    esac")
	w("}")
	w("complete -o filenames -F _gridloom gridloom")
}
