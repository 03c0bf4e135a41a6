package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/target"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) Help() string {
	return `Examples:

	source <(gridloom completion bash)
	source <(gridloom completion zsh)
	gridloom completion fish > ~/.config/fish/completions/gridloom.fish`
}

// Run prints a script made from the command line's own grammar, so that it
// always knows every command and option.
func (c *completionCmd) Run(a *app) error {
	script := completion{app: a, commands: completable(a.parser.Model.Node)}
	switch c.Shell {
	case "bash":
		script.bash()
	case "zsh":
		script.line("autoload -U +X compinit && compinit")
		script.line("autoload -U +X bashcompinit && bashcompinit")
		script.bash()
	case "fish":
		script.fish()
	}
	return nil
}

// completion is a shell script in the making.
type completion struct {
	*app
	commands []command
}

// command is what can be completed after a command.
type command struct {
	name, help string
	words      []string // subcommands, or words that an argument may be
	options    []option
}

type option struct {
	name, help string
	bool       bool
	values     []string // that it takes; none if there are too many
}

// completable lists the commands with their options, those of subcommands
// included.
func completable(root *kong.Node) []command {
	var list []command
	for _, n := range root.Children {
		if n.Type != kong.CommandNode || n.Hidden {
			continue
		}
		c := command{name: n.Name, help: n.Help}
		for _, sub := range completable(n) {
			c.words = append(c.words, sub.name)
			c.options = append(c.options, sub.options...)
		}
		for _, p := range n.Positional {
			if p.Enum != "" {
				c.words = append(c.words, p.EnumSlice()...)
			}
		}
		for _, f := range n.Flags {
			o := option{name: "--" + f.Name, help: f.Help, bool: f.IsBool(), values: choices(f)}
			c.options = append(c.options, o)
		}
		c.options = append(c.options, option{name: "--help", help: "Show help.", bool: true})
		list = append(list, c)
	}
	return list
}

// choices returns the words that an option takes.
func choices(f *kong.Flag) []string {
	switch {
	case f.Enum != "":
		return f.EnumSlice()
	case f.Name == "device":
		return target.Names()
	case f.Name == "machine":
		return machine.Names()
	case f.Name == "map":
		return colourMaps()
	}
	return nil
}

func (c *completion) line(format string, args ...any) {
	fmt.Fprintf(c.data, format+"\n", args...)
}

// bash prints a function for bash. The shell takes "=" for the end of a word,
// so that a file after "u=" is a word of its own.
func (c *completion) bash() {
	var names []string
	for _, cmd := range c.commands {
		names = append(names, cmd.name)
	}
	c.line(`_gridloom() {`)
	c.line(`    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"`)
	c.line(`    COMPREPLY=()`)
	c.line(`    if [ "$COMP_CWORD" -eq 1 ]; then`)
	c.line(`        COMPREPLY=($(compgen -W "%s --help" -- "$word"))`, strings.Join(names, " "))
	c.line(`        return`)
	c.line(`    fi`)
	c.line(`    if [ "$word" = "=" ]; then word=""; elif [ "$before" = "=" ]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi`)
	c.line(`    case "${COMP_WORDS[1]} $before" in`)
	for _, cmd := range c.commands {
		for _, o := range cmd.options {
			if len(o.values) > 0 {
				c.line(`    "%s %s") COMPREPLY=($(compgen -W "%s" -- "$word")); return ;;`, cmd.name, o.name, strings.Join(o.values, " "))
			}
		}
	}
	c.line(`    esac`)
	c.line(`    case "$word" in`)
	c.line(`    -*)`)
	c.line(`        case "${COMP_WORDS[1]}" in`)
	for _, cmd := range c.commands {
		var options []string
		for _, o := range cmd.options {
			options = append(options, o.name)
		}
		c.line(`        %s) COMPREPLY=($(compgen -W "%s" -- "$word")) ;;`, cmd.name, strings.Join(options, " "))
	}
	c.line(`        esac ;;`)
	c.line(`    *)`)
	c.line(`        case "${COMP_WORDS[1]}" in`)
	for _, cmd := range c.commands {
		if len(cmd.words) > 0 {
			c.line(`        %s) COMPREPLY=($(compgen -W "%s" -- "$word")) ;;`, cmd.name, strings.Join(cmd.words, " "))
		}
	}
	c.line(`        *) COMPREPLY=($(compgen -f -- "$word")) ;;`)
	c.line(`        esac ;;`)
	c.line(`    esac`)
	c.line(`}`)
	c.line(`complete -o filenames -F _gridloom gridloom`)
}

func (c *completion) fish() {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	for _, cmd := range c.commands {
		c.line("complete -c gridloom -f -n __fish_use_subcommand -a %s -d %s", cmd.name, quote(cmd.help))
		when := quote("__fish_seen_subcommand_from " + cmd.name)
		if len(cmd.words) > 0 {
			c.line("complete -c gridloom -f -n %s -a %s", when, quote(strings.Join(cmd.words, " ")))
		}
		for _, o := range cmd.options {
			takes := ""
			switch {
			case len(o.values) > 0:
				takes = " -x -a " + quote(strings.Join(o.values, " "))
			case !o.bool:
				takes = " -r"
			}
			help, _, _ := strings.Cut(o.help, ". ")
			name := strings.TrimPrefix(o.name, "--")
			c.line("complete -c gridloom -n %s -l %s -d %s%s", when, name, quote(help), takes)
		}
	}
}
