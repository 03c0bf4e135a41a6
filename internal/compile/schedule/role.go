package schedule

import "slices"

// Role says what a parameter is for, whatever its family calls it. Whoever
// reasons about configurations asks for roles, so that a new family needs no
// change elsewhere.
type Role uint8

const (
	NoRole Role = iota
	// Choice tells which family a kernel is of. Only search spaces have it as a
	// parameter: in a configuration it is the family itself.
	Choice

	// Threads are the threads of a GPU block on each axis.
	Threads
	// CacheBlock is the cells of a cache block on each axis; 0 does not cut it.
	CacheBlock
	// Tile is the cells that a block computes to the end on each axis, in kernels of several
	// iterations.
	Tile
	// Workers are the processor threads that share a loop; 0 leaves them open.
	Workers
	// Vector is the neighbours on the inner axis that a thread moves together.
	Vector
	// BlockedUnroll is the neighbouring cells of a thread on each axis.
	BlockedUnroll
	// CyclicUnroll is the cells of a thread at the distance of a block.
	CyclicUnroll
	// Unroll is how often a loop is unrolled; recorded spaces have it.
	Unroll

	// Stream is the axis that a block goes along; its values are names of axes.
	Stream
	// StreamLength is the planes of a block on that axis; 0 is the whole axis.
	StreamLength
	// StreamUnroll is the unroll factor of the streaming loop.
	StreamUnroll

	// Staging is how many steps ahead cells are copied to shared memory, or
	// whether they are; 0 keeps nothing there.
	Staging
	// ArrayStaging says whether one class of arrays may be staged.
	ArrayStaging
	// StagedPart says what is staged: AllCells or HaloCells.
	StagedPart
	// StagingCopy says who copies: AsyncCopies or a copy engine.
	StagingCopy
	// CopyIssue says when threads begin to copy later planes: AfterBarrier or BeforeBarrier.
	CopyIssue
	// ClusterBlocks is the blocks of a cluster, which have copies sent to each other or compute one tile.
	ClusterBlocks
	// Perspective says which cells the threads of a block stand for.
	Perspective
	// Prefetch is the prefetch distance: planes that are loaded early.
	Prefetch
	// Pointwise says where grids come from that are read at a cell's own position alone: PrefetchedOperands or
	// DirectOperands.
	Pointwise

	// PersistentBlocks is how many blocks of each multiprocessor share all tiles; 0 starts a
	// block for each.
	PersistentBlocks
	// BlockBarrier says how the threads of a block meet: SplitBarrier or WholeBarrier.
	BlockBarrier
	// RimPlacement says when a step puts cells that are not assigned in place: RowRims or StepRims.
	RimPlacement
	// RimVector is how many rows of a column of such cells a thread loads together.
	RimVector
	// RimTiles says which tiles put such cells in place: EdgeTiles or AllTiles.
	RimTiles
	// RimlessLoop says which loop blocks take that have no such cells: CommonLoop or OwnLoop.
	RimlessLoop
	// LoadOrder says whether threads load for all statements of a step together, for one after the other or for some of
	// its terms after others: TogetherLoads, FirstLoads, StatementLoads or TermLoads.
	LoadOrder
	// StoreOrder says when threads store what they compute: TogetherStores or RowStores.
	StoreOrder
	// HeldColumns says which columns of their own cells threads hold in registers where neighbours read the same planes
	// in shared memory: GridColumns, AllColumns, HaloColumns or NoColumns.
	HeldColumns
	// Refetch says whether planes that columns read before neighbours do are copied to shared memory again for those,
	// or stay there: RefetchedPlanes or KeptPlanes.
	Refetch
	// BlockWait says whom a block waits for between two rounds, in kernels whose blocks stay for many of them:
	// NeighbourWait or GridWait.
	BlockWait

	// LaneExchange says where neighbours on the inner axis come from.
	LaneExchange
	// LoadPath is the path of loads: PlainLoads, ReadOnlyLoads and others.
	LoadPath
	// ArrayLoadPath is the path of one class of arrays, or SameLoads.
	ArrayLoadPath
	// StorePath is the path of stores.
	StorePath

	// RowLayout says how the rows of grids lie in memory: PackedRows, PaddedRows or ShiftedRows.
	RowLayout
	// Sizes says whether sizes are arguments (SizeArguments) or literals
	// (SizeLiterals).
	Sizes
	// Indexing says whether indices are computed from each other.
	Indexing
	// RegisterLimit is the most registers of a thread; 0 is no limit.
	RegisterLimit

	// Retiming says whether statements are computed in pieces.
	Retiming
	// Folding says whether terms with one coefficient are added first.
	Folding

	roleCount
)

// The words that roles give a meaning to.
const (
	AllCells  = "all"   // StagedPart
	HaloCells = "halos" // StagedPart

	AsyncCopies = "async" // StagingCopy

	AfterBarrier  = "after"  // CopyIssue: into what nobody reads any more
	BeforeBarrier = "before" // CopyIssue: a plane earlier, while others work, into one slot more

	OutputThreads = "output" // Perspective: as many as the cells that a block computes
	InputThreads  = "input"  // Perspective: as many as those that it reads
	InnerThreads  = "inner"  // Perspective: that on the inner axis alone
	OuterThreads  = "outer"  // Perspective: that on all axes but the inner one

	SplitBarrier = "split" // BlockBarrier: arrive, do something else, wait
	WholeBarrier = "whole" // BlockBarrier: all wait at once

	RowRims  = "rows" // RimPlacement: after the rows that other warps wait for, and after the others
	StepRims = "step" // RimPlacement: after all rows

	EdgeTiles = "edge" // RimTiles: those at the edges of the domain
	AllTiles  = "all"  // RimTiles: all, at their ends, which takes no test

	CommonLoop = "common" // RimlessLoop: that of the others
	OwnLoop    = "own"    // RimlessLoop: one that does not look for them

	TogetherLoads  = "together"   // LoadOrder: as the compiler likes
	StatementLoads = "statements" // LoadOrder: for one statement after the other
	TermLoads      = "terms"      // LoadOrder: for some terms after others
	FirstLoads     = "first"      // LoadOrder: all of a step before anything is computed

	TogetherStores = "together" // StoreOrder: when all of a statement's cells are computed
	RowStores      = "rows"     // StoreOrder: each row when it is computed

	GridColumns = "grids" // HeldColumns: those of grids of memory
	AllColumns  = "all"   // HeldColumns: those of statements, too
	HaloColumns = "halos" // HeldColumns: those, and also for statements that are computed on a halo
	NoColumns   = "none"  // HeldColumns: neither, as far as the planes are there

	RefetchedPlanes = "yes" // Refetch
	KeptPlanes      = "no"  // Refetch

	PrefetchedOperands = "prefetch" // Pointwise: copied to shared memory before they are needed
	DirectOperands     = "direct"   // Pointwise: loaded where they are used

	NeighbourWait = "neighbours" // BlockWait: the blocks next to it
	GridWait      = "grid"       // BlockWait: all blocks

	PlainLoads    = "plain"    // LoadPath
	ReadOnlyLoads = "readonly" // LoadPath
	ImageLoads    = "image"    // LoadPath: as elements of a one-dimensional image
	ConstantLoads = "constant" // LoadPath: from constant memory
	SameLoads     = "same"     // ArrayLoadPath: as LoadPath says

	PackedRows  = "packed"  // RowLayout: as close to each other as vectors allow
	PaddedRows  = "padded"  // RowLayout: each begins a line of memory
	ShiftedRows = "shifted" // RowLayout: the first updated cell of each begins a line of memory

	SizeArguments = "arguments" // Sizes
	SizeLiterals  = "literals"  // Sizes
)

var roleNames = [roleCount]string{
	NoRole: "none", Choice: "family",
	Threads: "threads", CacheBlock: "cache block", Tile: "tile", Workers: "workers", Vector: "vector",
	BlockedUnroll: "blocked unroll", CyclicUnroll: "cyclic unroll", Unroll: "unroll",
	Stream: "stream", StreamLength: "stream length", StreamUnroll: "stream unroll",
	Staging: "staging", ArrayStaging: "array staging", StagedPart: "staged part", StagingCopy: "staging copy",
	CopyIssue:     "copy issue",
	ClusterBlocks: "cluster blocks",
	Perspective:   "perspective", Prefetch: "prefetch", Pointwise: "pointwise",
	PersistentBlocks: "persistent blocks", BlockBarrier: "block barrier",
	RimPlacement: "rim placement", RimVector: "rim vector", RimTiles: "rim tiles", RimlessLoop: "rimless loop",
	LoadOrder: "load order", StoreOrder: "store order", HeldColumns: "held columns", Refetch: "refetch",
	BlockWait:    "block wait",
	LaneExchange: "lane exchange", LoadPath: "load path", ArrayLoadPath: "array load path", StorePath: "store path",
	RowLayout: "row layout", Sizes: "sizes", Indexing: "indexing", RegisterLimit: "register limit",
	Retiming: "retiming", Folding: "folding",
}

// String returns the role in words.
func (r Role) String() string { return roleNames[r] }

// Axis says on which axes the numbers of a parameter act. The last number of a
// list acts on the axis that is named here, the one before on the next axis
// outwards, and so on.
type Axis uint8

const (
	NoAxis     Axis = iota // on none, or on all
	InnerAxis              // the innermost axis that threads are spread over
	OuterAxis              // the axis next to that one
	StreamAxis             // the axis that blocks go along
)

// FromInner counts the axes between the last number's axis and the innermost
// one; false if the numbers act on no axis that threads are spread over.
func (a Axis) FromInner() (int, bool) {
	switch a {
	case InnerAxis:
		return 0, true
	case OuterAxis:
		return 1, true
	}
	return 0, false
}

// For returns the family's parameter with a role, or nil. Parameters of single
// classes of arrays have roles of their own: see ForArray.
func (f *Family) For(r Role) *Param { return f.ForArray(r, "") }

// ForArray returns the parameter with a role for the class of arrays that is
// called after an array, or nil.
func (f *Family) ForArray(r Role, array string) *Param {
	if r == NoRole {
		return nil
	}
	if i := slices.IndexFunc(f.Params, func(p Param) bool { return p.Role == r && p.Array == array }); i >= 0 {
		return &f.Params[i]
	}
	return nil
}

// Index returns where the parameter with a role is in the family's list; -1 if
// there is none.
func (f *Family) Index(r Role) int {
	return slices.IndexFunc(f.Params, func(p Param) bool { return p.Role == r && p.Array == "" })
}

// Names returns the names of the parameters that have some roles, in the order
// of the roles.
func (f *Family) Names(roles ...Role) []string {
	var list []string
	for _, r := range roles {
		for i := range f.Params {
			if f.Params[i].Role == r {
				list = append(list, f.Params[i].Name)
			}
		}
	}
	return list
}

// Roles says how a family calls its parameters, and on which axes they act.
type Roles struct {
	names [roleCount]string
	axes  [roleCount]Axis
	order []namedRole // of all parameters
	// arrays are the parameters that are called after arrays.
	arrays []arrayRole
}

// namedRole is a parameter's name with its role; NoRole if it is called after an array.
type namedRole struct {
	name string
	role Role
}

// arrayRole is the name of a parameter that is called after an array.
type arrayRole struct {
	role        Role
	array, name string
}

// Roles returns how the family calls its parameters.
func (f *Family) Roles() *Roles {
	var r Roles
	for i := range f.Params {
		p := &f.Params[i]
		x := namedRole{p.Name, NoRole}
		if p.Array == "" {
			r.names[p.Role], r.axes[p.Role], x.role = p.Name, p.Axis, p.Role
		} else {
			r.arrays = append(r.arrays, arrayRole{p.Role, p.Array, p.Name})
		}
		r.order = append(r.order, x)
	}
	r.names[NoRole] = ""
	return &r
}

// Of returns a configuration by its roles.
func (r *Roles) Of(c Config) ByRole {
	b := ByRole{roles: r, config: c}
	next := 0 // most configurations have the parameters' order
	for k := range c.Values {
		for range r.order {
			x := &r.order[next]
			if next++; next == len(r.order) {
				next = 0
			}
			if x.name == c.Values[k].Name {
				b.at[x.role] = uint8(k + 1)
				break
			}
		}
	}
	return b
}

// ByRole is a configuration whose values are asked for by role. The zero value
// has none.
type ByRole struct {
	roles  *Roles
	config Config
	at     [roleCount]uint8 // by role, the place of its value, counted from 1; 0 if none is set
}

// FamilyRoles are the roles of a space's families by their names: many configurations are asked about by them.
type FamilyRoles map[string]*Roles

// Roles returns how all families call their parameters.
func (s Space) Roles() FamilyRoles {
	all := FamilyRoles{}
	for i := range s.Families {
		all[s.Families[i].Name] = s.Families[i].Roles()
	}
	return all
}

// Of returns a configuration by its roles; without any if its family is not known.
func (f FamilyRoles) Of(c Config) ByRole {
	if r := f[c.Family]; r != nil {
		return r.Of(c)
	}
	return ByRole{}
}

// ByRole returns a configuration of the space by its roles.
func (s Space) ByRole(c Config) ByRole {
	if f := s.Family(c.Family); f != nil {
		return f.Roles().Of(c)
	}
	return (&Roles{}).Of(c)
}

// HaloThreads reports whether blocks of a Perspective have threads for the halo on the inner axis, or on others.
func HaloThreads(perspective string, inner bool) bool {
	return perspective == InputThreads || inner && perspective == InnerThreads || !inner && perspective == OuterThreads
}

// ArrayWord returns the word that has a role for an array; "" if there is none.
func (b ByRole) ArrayWord(r Role, array string) string {
	if b.roles == nil {
		return ""
	}
	for i := range b.roles.arrays {
		if x := &b.roles.arrays[i]; x.role == r && x.array == array {
			if v, ok := b.config.Get(x.name); ok {
				return v.word
			}
		}
	}
	return ""
}

// Get returns the value that has a role, and whether it is set.
func (b ByRole) Get(r Role) (Value, bool) {
	if b.at[r] == 0 || r == NoRole {
		return Value{}, false
	}
	return b.config.Values[b.at[r]-1].Value, true
}

// With returns the configuration with the value that has a role; as it is if the
// family has no such parameter.
func (b ByRole) With(r Role, v Value) Config {
	if b.roles == nil || b.roles.names[r] == "" {
		return b.config
	}
	return b.config.With(b.roles.names[r], v)
}

// Has reports whether a value with the role is set.
func (b ByRole) Has(r Role) bool {
	_, ok := b.Get(r)
	return ok
}

// Int returns the number that has a role, or another one if there is none. For
// a list it is the product.
func (b ByRole) Int(r Role, otherwise int64) int64 {
	v, ok := b.Get(r)
	if !ok || !v.IsNumber() {
		return otherwise
	}
	n := int64(1)
	for _, k := range v.ints {
		n *= k
	}
	return n
}

// Ints returns the numbers that have a role; nil if there are none. The caller
// must not change them.
func (b ByRole) Ints(r Role) []int64 {
	v, _ := b.Get(r)
	return v.ints
}

// Word returns the word that has a role; "" if there is none.
func (b ByRole) Word(r Role) string {
	v, _ := b.Get(r)
	return v.word
}

// Is reports whether a switch with the role is set to yes.
func (b ByRole) Is(r Role) bool { return b.Word(r) == "yes" }
