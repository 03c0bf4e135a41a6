package fission

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// The names of the versions, as options, plans and results have them.
const (
	MaxFuseVersion   = "maxfuse"
	TrivialVersion   = "trivial"
	RecomputeVersion = "recompute"
	StatementVersion = "statements"
	CIREVersion      = "cire"
	InlineVersion    = "inline"
	RetimeVersion    = "retime"
)

// allShared is the version cire with all that may be shared, worth it or not: it is for proofs.
const allShared = CIREVersion + "-all"

// Names returns the names of all versions.
func Names() []string {
	return []string{MaxFuseVersion, TrivialVersion, RecomputeVersion, StatementVersion, CIREVersion, InlineVersion,
		RetimeVersion}
}

// Version is a version of a source text.
type Version struct {
	Name   string
	Source *diag.Source
	Made   []string // what was joined, split or shared, for people
	Saved  float64  // the part of the operations and loads that sharing saves
}

// UnknownVersion is the error for a name that no version has.
type UnknownVersion struct{ Name string }

// Error lists the names that there are.
func (e *UnknownVersion) Error() string {
	return fmt.Sprintf("fission makes no version %s; it makes %s, %s-N of N parts, and %s-N of N values", e.Name,
		strings.Join(Names(), ", "), StatementVersion, CIREVersion)
}

// limitOf returns the limit that a name such as statements-3 has, and the name without it.
func limitOf(name string) (string, Limit) {
	kind, text, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(text)
	exact := err == nil && strconv.Itoa(n) == text
	switch {
	case exact && kind == StatementVersion && n > 1 && n <= MostParts:
		return kind, Limit{Parts: n}
	case exact && kind == CIREVersion && n > 0:
		return kind, Limit{Values: n}
	}
	return name, Limit{Parts: FewParts}
}

// Make makes the version of a name of a text that was checked: one of Names, statements-3, cire-8 and so on. The
// version is nil where there is nothing to join, to split or to share. An error that is no UnknownVersion is a mistake
// of Gridloom: the text that was made is no program, or another one. The mode of arithmetic is that in which the
// version equals the program: cire depends on it.
func Make(name string, src *diag.Source, mode arith.Mode) (*Version, error) {
	kind, limit := limitOf(name)
	return makeVersion(name, kind, src, limit, mode)
}

// MakeWithin makes the version statements or cire within a limit.
func MakeWithin(name string, src *diag.Source, l Limit, mode arith.Mode) (*Version, error) {
	return makeVersion(name, name, src, l, mode)
}

func makeVersion(name, kind string, src *diag.Source, l Limit, mode arith.Mode) (*Version, error) {
	f, _ := lang.Parse(src)
	v := &Version{Name: name}
	text := ""
	tell := func(splits []*Split) {
		for _, s := range splits {
			v.Made = append(v.Made, s.parts()...)
		}
	}
	switch kind {
	case MaxFuseVersion:
		joints := MaxFuse(f)
		for _, j := range joints {
			v.Made = append(v.Made, j.String())
		}
		text = WriteFused(f, joints)
	case TrivialVersion:
		splits := Trivial(f)
		tell(splits)
		text = Write(f, splits)
	case RecomputeVersion:
		joined := diag.NewSource(src.Name, WriteFused(f, MaxFuse(f)))
		p, err := reload(joined)
		if err != nil {
			return nil, err
		}
		whole, _ := lang.Parse(joined)
		splits := Recompute(whole, p)
		tell(splits)
		text = Write(whole, splits)
	case StatementVersion:
		p, err := reload(src)
		if err != nil {
			return nil, err
		}
		cuts := Statements(f, p, l)
		for _, c := range cuts {
			v.Made = append(v.Made, c.String())
		}
		text = WriteCuts(f, cuts)
	case InlineVersion:
		p, err := reload(src)
		if err != nil {
			return nil, err
		}
		list := Inline(f, p)
		before, after := 0, 0
		for _, in := range list {
			v.Made = append(v.Made, in.Lines()...)
			before, after = before+in.Before, after+in.After
		}
		v.Saved = 1 - float64(after)/float64(max(1, before))
		text = WriteInlined(f, list)
	case CIREVersion, allShared, RetimeVersion:
		return makeShared(f, v, l, mode)
	default:
		return nil, &UnknownVersion{name}
	}
	if len(v.Made) == 0 {
		return nil, nil
	}
	v.Source = diag.NewSource(src.Name, text)
	_, err := reload(v.Source)
	return v, err
}

// reload checks a text that fission has made.
func reload(made *diag.Source) (*ir.Program, error) {
	p, wrong := lang.Load(made)
	if wrong.HasErrors() {
		return nil, fmt.Errorf("fission makes a wrong text, which is a mistake of Gridloom:\n%s",
			diag.Render(made, wrong, diag.Style{}))
	}
	return p, nil
}

// makeShared makes the version cire, that with all that may be shared, or retime.
func makeShared(f *lang.File, v *Version, l Limit, mode arith.Mode) (*Version, error) {
	p, err := reload(f.Source)
	if err != nil {
		return nil, err
	}
	var list []*Sharing
	if v.Name == RetimeVersion {
		list = Retime(f, p.In(mode))
	} else {
		list = Share(f, p.In(mode), l.Values, v.Name == allShared)
	}
	if len(list) == 0 {
		return nil, nil
	}
	before, after := 0.0, 0.0
	for _, s := range list {
		v.Made = append(v.Made, s.Lines()...)
		before, after = before+s.Before.Sum(), after+s.After.Sum()
	}
	v.Saved = 1 - after/before
	v.Source, err = writeChecked(f, list, mode)
	return v, err
}

// writeChecked writes a file in which values are shared, and checks that the statements are the same but for that.
func writeChecked(f *lang.File, list []*Sharing, mode arith.Mode) (*diag.Source, error) {
	for {
		text, err := WriteShared(f, list)
		if err != nil {
			return nil, err
		}
		src := diag.NewSource(f.Source.Name, text)
		p, err := reload(src)
		if err != nil {
			return nil, err
		}
		again, err := verifyShared(list, p.In(mode))
		if err != nil {
			return nil, fmt.Errorf("sharing makes another program, which is a mistake of Gridloom: %w\n%s", err, text)
		}
		if !again {
			return src, nil
		}
	}
}
