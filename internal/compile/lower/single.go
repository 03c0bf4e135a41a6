package lower

import "github.com/gridloom/gridloom/internal/compile/kernel"

func init() {
	register(&family{
		name: "single", doc: "one cell, by one thread", place: 0,
		target: CPU, rank: func(rank int) bool { return rank == 0 },
		build: (*nest).single,
	})
}

// single builds the kernel of a group that runs over no axis: a reduction of
// one cell, or assignments to grids of which every index is a constant.
func (n *nest) single() ([]kernel.Stmt, []func()) {
	parts := map[*statement]*partials{}
	var after []func()
	for _, s := range n.reductions() {
		p := n.newPartials(s, kernel.I(1))
		parts[s] = p
		after = append(after, func() { n.tree(p) })
	}
	n.strided = nil
	row := newScope(nil)
	c := n.newCell(nil, map[int]kernel.Expr{}, row)
	stmts := c.statements(func(s *statement, value kernel.Expr) kernel.Stmt {
		return &kernel.Store{Buffer: n.partialBuffer(parts[s]).buffer, Index: kernel.I(0), Value: value}
	})
	return append(row.stmts, stmts...), after
}
