package emit

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// libraryDelicate is a delicate kernel, as kernel.Delicate says: configure refuses
// it if its registers were spilled. Name is a literal of C, Only what has to hold
// for it to be launched, and Instead what plans say so that it is not delicate.
type libraryDelicate struct{ Name, Function, Only, Instead string }

// delicate lists the kernels that a library for CUDA looks at before it launches any.
// Of several variants, those that are not picked are not looked at, because they are
// not launched; the initial block is the same for all.
func (l *library) delicate() []libraryDelicate {
	if !l.CUDA() {
		return nil
	}
	var list []libraryDelicate
	for _, k := range l.module.Kernels {
		if !kernel.Delicate(k) {
			continue
		}
		var instead []string
		if slices.ContainsFunc(k.Buffers, func(b *kernel.Buffer) bool { return b.Space == kernel.Image }) {
			instead = append(instead, "load=plain")
		}
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s.(type) {
			case *kernel.BulkCopy, *kernel.TensorCopy:
				if !slices.Contains(instead, "copy=async") {
					instead = append(instead, "copy=async")
				}
			}
		}, nil)
		list = append(list, libraryDelicate{
			quoteC(k.Name), kernelFunction(k), l.onlyFor(l.launchedBy(k)), strings.Join(instead, ","),
		})
	}
	return list
}

// launchedBy returns the variants that launch a kernel.
func (l *library) launchedBy(k *kernel.Kernel) variantSet {
	set := variantSet(0)
	uses := func(x *kernel.Launch) bool { return x.Kernel == k }
	for _, s := range l.spans {
		if s.variant >= 0 && slices.ContainsFunc(slices.Concat(s.Launches, s.Prepare), uses) {
			set |= 1 << s.variant
		}
	}
	for i, v := range l.Variants {
		for s, launches := range v.launches {
			switch {
			case !slices.ContainsFunc(launches, uses):
			case s == l.module.Program.Initial:
				return allVariants
			default:
				set |= 1 << i
			}
		}
	}
	return set
}
