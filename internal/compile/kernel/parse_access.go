package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/sexpr"
)

// how reads what an access says beside its index: (via w) and, where there may
// be one, (rank r).
func (p *parser) how(rest []sexpr.Node, ranked bool) (via Via, rank Expr) {
	if len(rest) > 0 && rest[0].Head() == "via" {
		a := p.form(rest[0], "via", 1, false)
		via = Via(p.index(a[0], "a way to memory", viaNames[:]))
		rest = rest[1:]
	}
	if len(rest) > 0 && ranked && rest[0].Head() == "rank" {
		rank = p.part(rest[0], "rank")
		rest = rest[1:]
	}
	p.end(rest)
	return via, rank
}

// part reads an expression with a head before it.
func (p *parser) part(n sexpr.Node, head string) Expr { return p.expr(p.form(n, head, 1, false)[0]) }

// end checks that nothing is left of a list.
func (p *parser) end(rest []sexpr.Node) {
	if len(rest) > 0 {
		p.fail(rest[0], "not expected here: %s", brief(rest[0]))
	}
}

// among returns the parts of a list without a head.
func (p *parser) among(n sexpr.Node, what string) []sexpr.Node {
	if n.Kind != sexpr.List {
		p.fail(n, "not a list of %s: %s", what, brief(n))
	}
	return n.List
}

// vector reads an access to consecutive elements.
func (p *parser) vector(n sexpr.Node) Stmt {
	a := p.form(n, n.Head(), 3, true)
	if n.Head() == "stores" {
		s := &StoreVector{Buffer: p.buffer(a[0]), Index: p.expr(a[1]), Values: p.exprs(p.among(a[2], "values"))}
		s.Via, s.Rank = p.how(a[3:], true)
		return s
	}
	s := &LoadVector{Buffer: p.buffer(a[1]), Index: p.expr(a[2])}
	s.Via, _ = p.how(a[3:], false)
	for _, name := range p.among(a[0], "names") {
		s.Vars = append(s.Vars, NewVar(p.name(name), s.Buffer.Elem))
	}
	p.vars = append(p.vars, s.Vars...)
	return s
}

func (p *parser) shuffle(n sexpr.Node) Stmt {
	a := p.form(n, "shuffle", 5, false)
	s := &Shuffle{
		Var: NewVar(p.name(a[0]), p.typ(a[1])), Kind: ShuffleKind(p.index(a[2], "a shuffle", shuffleNames[:])),
	}
	s.Value, s.By = p.expr(a[3]), p.expr(a[4])
	p.vars = append(p.vars, s.Var)
	return s
}

func (p *parser) barrier(n sexpr.Node) Stmt {
	a := p.form(n, "barrier", 1, true)
	b := &Barrier{Scope: Scope(p.index(a[0], "a scope", scopeNames[:]))}
	rest := a[1:]
	if len(rest) == 2 {
		b.Number = p.count(p.form(rest[0], "number", 1, false)[0])
		b.Threads = p.count(p.form(rest[1], "threads", 1, false)[0])
		rest = nil
	}
	p.end(rest)
	return b
}

// async reads a statement about prefetches, asynchronous copies and mbarriers; nil if it
// is none.
func (p *parser) async(n sexpr.Node) Stmt {
	switch head := n.Head(); head {
	case "prefetch":
		a := p.form(n, head, 2, false)
		return &Prefetch{p.buffer(a[0]), p.expr(a[1])}
	case "async":
		a := p.form(n, head, 5, false)
		return &AsyncCopy{p.buffer(a[0]), p.expr(a[1]), p.buffer(a[2]), p.expr(a[3]), p.count(a[4])}
	case "async.commit":
		p.form(n, head, 0, false)
		return &AsyncCommit{}
	case "async.wait":
		return &AsyncWait{p.count(p.form(n, head, 1, false)[0])}
	case "async.fence":
		p.form(n, head, 0, false)
		return &AsyncFence{}
	case "bulk":
		a := p.form(n, head, 7, false)
		return &BulkCopy{
			p.buffer(a[0]), p.expr(a[1]), p.buffer(a[2]), p.expr(a[3]), p.expr(a[4]), p.buffer(a[5]), p.expr(a[6]),
		}
	case "tensor":
		a := p.form(n, head, 6, true)
		s := &TensorCopy{To: p.buffer(a[0]), At: p.expr(a[1]), From: p.buffer(a[2])}
		s.Corner, s.Mbarrier, s.Slot = p.exprs(p.among(a[3], "indices")), p.buffer(a[4]), p.expr(a[5])
		rest := a[6:]
		if len(rest) > 0 && rest[0].Head() == "blocks" {
			s.Blocks = p.part(rest[0], "blocks")
			rest = rest[1:]
		}
		p.end(rest)
		return s
	case "mbarrier.init":
		a := p.form(n, head, 3, false)
		return &MbarrierInit{p.buffer(a[0]), p.expr(a[1]), p.expr(a[2])}
	case "mbarrier.arrive":
		a := p.form(n, head, 2, true)
		s := &MbarrierArrive{Mbarrier: p.buffer(a[0]), Slot: p.expr(a[1])}
		rest := a[2:]
		if len(rest) > 0 && rest[0].Head() == "bytes" {
			s.Bytes = p.part(rest[0], "bytes")
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].Head() == "rank" {
			s.Rank = p.part(rest[0], "rank")
			rest = rest[1:]
		}
		p.end(rest)
		return s
	case "mbarrier.wait":
		a := p.form(n, head, 3, false)
		return &MbarrierWait{p.buffer(a[0]), p.expr(a[1]), p.expr(a[2])}
	case "flag.set":
		a := p.form(n, head, 3, false)
		return &FlagSet{p.buffer(a[0]), p.expr(a[1]), p.expr(a[2])}
	case "flag.wait":
		a := p.form(n, head, 3, false)
		return &FlagWait{p.buffer(a[0]), p.expr(a[1]), p.expr(a[2])}
	}
	return nil
}
