package lang

import "github.com/gridloom/gridloom/internal/compile/diag"

// Node is any part of a parsed file.
type Node interface {
	Span() diag.Range
}

// span is embedded in every node: where it stands in the text.
type span diag.Range

// Span returns the node's place in the text.
func (s span) Span() diag.Range { return diag.Range(s) }

// File is a parsed source text.
type File struct {
	Source *diag.Source
	Items  []Item

	tokens []Token // all of them, comments and roles included, for the formatter

	damaged  bool            // there are syntax errors, so that parts are missing
	doubtful map[string]bool // names that a missing part may have declared
}

// Item is what stands at the top level of a file: a declaration, a stencil, an
// initial block or a step.
type Item interface {
	Node
	item()
}

// Stmt is what stands in the body of a stencil or an initial block.
type Stmt interface {
	Node
	stmt()
}

// Step is what stands in an iterate; it may stand at the top level as well.
type Step interface {
	Item
	step()
}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Declarations.

// ParameterDecl declares sizes.
//
// Example printed form:
//
//	parameter L = 256, M = L/2, N;
type ParameterDecl struct {
	span
	Params []*Parameter
}

// Parameter is one name of a ParameterDecl.
//
// Example printed form:
//
//	L = 256
type Parameter struct {
	span
	Name  *Ident
	Value Expr // nil if it has none
}

// IteratorDecl names the axes, outermost first.
//
// Example printed form:
//
//	iterator k, j, i;
type IteratorDecl struct {
	span
	Names []*Ident
}

// VarDecl declares scalars, grids and tables.
//
// Example printed form:
//
//	double u[L,M,N], a = 0.1, c[3] = {1, 2, 1};
type VarDecl struct {
	span
	Domain *Domain // of the values of scalar locals; nil if none
	Type   *Ident
	Vars   []*Declarator
}

// Declarator is one name of a VarDecl. At most one of Value and Table is set.
//
// Example printed form:
//
//	u[L][0:M+1]
type Declarator struct {
	span
	Name  *Ident
	Dims  []*Dim
	Value Expr
	Table *Table
}

// Dim is one dimension of a Declarator: Hi cells, or those from Lo to Hi
// inclusive.
//
// Example printed form:
//
//	0:M+1
type Dim struct {
	span
	Lo Expr // nil for a plain size
	Hi Expr
}

// Table is the initial value of a table. Its entries are Tables or Exprs.
//
// Example printed form:
//
//	{{1, 2}, {3, 4}}
type Table struct {
	span
	Entries []Node
}

// BoundaryDecl gives grids their values beyond their edges.
//
// Example printed form:
//
//	boundary u, v : clamp on j, periodic on i;
type BoundaryDecl struct {
	span
	Grids []*Ident
	Rules []*BoundaryRule
}

// BoundaryRule is one condition of a BoundaryDecl.
//
// Example printed form:
//
//	constant(0) on k.low
type BoundaryRule struct {
	span
	Kind  *Ident
	Value Expr   // of constant
	Axis  *Ident // nil for every axis
	Side  *Ident // low or high; nil for both
}

// AttributeDecl says something about grids or scalars declared elsewhere.
//
// Example printed form:
//
//	copyin u, f;
type AttributeDecl struct {
	span
	Word  *Ident // allocin, copyin, copyout, constant or coefficient
	Names []*Ident
}

// Stencils.

// StencilDef defines a stencil.
//
// Example printed form:
//
//	stencil f (out, in, inout:g) { ... }
type StencilDef struct {
	span
	Pragma  *Pragma // nil if none
	Name    *Ident
	Formals []*Formal
	Body    []Stmt
	Damaged bool // some formals are missing
}

// Formal is a formal argument.
//
// Example printed form:
//
//	inout:g
type Formal struct {
	span
	InOut bool
	Name  *Ident
}

// Pragma is what the user fixes about the schedule of a stencil.
//
// Example printed form:
//
//	#pragma stream k block (32,16) unroll j=2,i=4 occupancy 0.5
type Pragma struct {
	span
	Stream    *Ident // nil if not given; so are the others
	Block     []*NumberLit
	Unroll    []*Unroll
	Occupancy *NumberLit
}

// Unroll is one factor of a Pragma.
//
// Example printed form:
//
//	j=2
type Unroll struct {
	span
	Axis   *Ident
	Factor *NumberLit
}

// InitialDef gives grids their first values.
//
// Example printed form:
//
//	initial { u[k][j][i] = sin(0.1*i); }
type InitialDef struct {
	span
	Body []Stmt
}

// Statements; VarDecl and BoundaryDecl are two more.

// Storage says where arrays are held.
//
// Example printed form:
//
//	shmem u, v;
type Storage struct {
	span
	Word  string // shmem, gmem or no-shmem
	Names []*Ident
}

// AssignDirective is a line of storage hints.
//
// Example printed form:
//
//	#assign shmem (u0,u1), gmem (mu,la)
type AssignDirective struct {
	span
	Groups []*Storage
}

// Assignment gives a scalar local or the cells of a grid a value.
//
// Example printed form:
//
//	[1:N-2] : color (i) % 2 == 0 : u[i] += 0.5*v[i];
type Assignment struct {
	span
	Domain *Domain // nil if none
	Color  *Color  // nil if none
	Target Expr    // *Ident or *Index
	Op     Kind    // Assign, AddAssign, ...
	Value  Expr
}

// Assigned returns the name of what is assigned.
func (a *Assignment) Assigned() *Ident { return rootOf(a.Target) }

// Reduction folds the values of an expression over a domain into a scalar.
//
// Example printed form:
//
//	reduce max res = abs(r[k][j][i]);
type Reduction struct {
	span
	Domain *Domain
	Color  *Color
	Op     *Ident // sum, max or min
	Target *Ident
	Value  Expr
}

// Domain is a box of cells, bounds inclusive.
//
// Example printed form:
//
//	[1:L-2, 1:M-2, 1:N-2]
type Domain struct {
	span
	Ranges []*Bounds
}

// Bounds is one axis of a Domain.
//
// Example printed form:
//
//	1:N-2
type Bounds struct {
	span
	Lo, Hi Expr
}

// Color picks the cells of one colour, or, without Rem, of each in turn.
//
// Example printed form:
//
//	color (k+j+i) % 2 == each
type Color struct {
	span
	Sum Expr
	Mod *NumberLit
	Rem *NumberLit // nil for each
}

// Steps.

// CallStep runs a stencil.
//
// Example printed form:
//
//	[0:0, 0:M-1, 0:N-1] : edge (out, in);
type CallStep struct {
	span
	Domain *Domain
	Name   *Ident
	Args   []Expr
}

// RotateStep exchanges the contents of grids.
//
// Example printed form:
//
//	rotate (a, b, c);
type RotateStep struct {
	span
	Word  *Ident // swap or rotate
	Grids []*Ident
}

// IterateStep repeats steps: Hi times, or Hi-Lo+1 times where Lo is given.
//
// Example printed form:
//
//	iterate (1:12) { ... }
type IterateStep struct {
	span
	Lo, Hi Expr
	Body   []Step
}

// UntilStep repeats steps until a condition holds.
//
// Example printed form:
//
//	iterate until (res < 1e-6) check 50 max 10000 { ... }
type UntilStep struct {
	span
	Cond  Expr
	Check Expr // nil for 1
	Max   Expr // nil for no limit
	Body  []Step
}

// Expressions.

// Ident is a name.
//
// Example printed form:
//
//	u
type Ident struct {
	span
	Name string
}

// NumberLit is a number as it is written.
//
// Example printed form:
//
//	1.5e-3
type NumberLit struct {
	span
	Text string
}

// ParenExpr is an expression in parentheses.
//
// Example printed form:
//
//	(a + b)
type ParenExpr struct {
	span
	X Expr
}

// UnaryExpr is an operator and its operand.
//
// Example printed form:
//
//	-a
type UnaryExpr struct {
	span
	Op Kind // Minus, Plus or Bang
	X  Expr
}

// BinaryExpr is an operator between two operands.
//
// Example printed form:
//
//	a + b
type BinaryExpr struct {
	span
	Op   Kind
	X, Y Expr
}

// CondExpr chooses between two values.
//
// Example printed form:
//
//	c ? x : y
type CondExpr struct {
	span
	Cond, X, Y Expr
}

// CallExpr calls a function or converts to a type.
//
// Example printed form:
//
//	sqrt(x)
type CallExpr struct {
	span
	Func *Ident
	Args []Expr
}

// IndexExpr is a cell of a grid or an entry of a table.
//
// Example printed form:
//
//	u[k+1][j][i-2]
type IndexExpr struct {
	span
	Name    *Ident
	Indices []Expr
}

// SumExpr is a sum over a constant range, bounds inclusive.
//
// Example printed form:
//
//	sum (r in 1..4) c[r]*u[i+r]
type SumExpr struct {
	span
	Var    *Ident
	Lo, Hi Expr
	Body   Expr
}

func (*ParameterDecl) item() {}
func (*IteratorDecl) item()  {}
func (*VarDecl) item()       {}
func (*BoundaryDecl) item()  {}
func (*AttributeDecl) item() {}
func (*StencilDef) item()    {}
func (*InitialDef) item()    {}
func (*CallStep) item()      {}
func (*RotateStep) item()    {}
func (*IterateStep) item()   {}
func (*UntilStep) item()     {}

func (*VarDecl) stmt()         {}
func (*BoundaryDecl) stmt()    {}
func (*Storage) stmt()         {}
func (*AssignDirective) stmt() {}
func (*Assignment) stmt()      {}
func (*Reduction) stmt()       {}

func (*CallStep) step()    {}
func (*RotateStep) step()  {}
func (*IterateStep) step() {}
func (*UntilStep) step()   {}

func (*Ident) expr()      {}
func (*NumberLit) expr()  {}
func (*ParenExpr) expr()  {}
func (*UnaryExpr) expr()  {}
func (*BinaryExpr) expr() {}
func (*CondExpr) expr()   {}
func (*CallExpr) expr()   {}
func (*IndexExpr) expr()  {}
func (*SumExpr) expr()    {}
