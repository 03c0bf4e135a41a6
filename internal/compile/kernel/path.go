package kernel

import (
	"fmt"
	"strings"
)

// Label names statement i of a list for a reader of messages: its head and
// what it works on, numbered from the second where siblings are alike, as in
// "for i", "store u#2". Labels joined by slashes, below the kernel's name and
// with "then" and "else" for the lists of an If, are a statement's path.
func Label(list []Stmt, i int) string {
	name := label(list[i])
	same := 1
	for _, s := range list[:i] {
		if label(s) == name {
			same++
		}
	}
	if same > 1 {
		return fmt.Sprintf("%s#%d", name, same)
	}
	return name
}

// Labels returns the labels of all statements of a list.
func Labels(list []Stmt) []string {
	out := make([]string, len(list))
	same := map[string]int{}
	for i, s := range list {
		name := label(s)
		out[i] = name
		if same[name]++; same[name] > 1 {
			out[i] = fmt.Sprintf("%s#%d", name, same[name])
		}
	}
	return out
}

// trail is the way to a statement: its path, written out when it is needed.
type trail []step

// step is a statement of a list, or a name.
type step struct {
	list []Stmt
	i    int
	name string
}

// under returns the path below a kernel's name.
func (t trail) under(kernel string) string {
	parts := []string{kernel}
	for _, s := range t {
		if s.list != nil {
			parts = append(parts, Label(s.list, s.i))
		} else {
			parts = append(parts, s.name)
		}
	}
	return strings.Join(parts, "/")
}

func label(s Stmt) string {
	switch s := s.(type) {
	case *Let:
		return "let " + s.Var.Name
	case *Declare:
		return "var " + s.Var.Name
	case *Assign:
		return "set " + s.Var.Name
	case *Store:
		return "store " + s.Buffer.Name
	case *LoadVector:
		return "loads " + s.Buffer.Name
	case *StoreVector:
		return "stores " + s.Buffer.Name
	case *Shuffle:
		return "shuffle " + s.Var.Name
	case *Prefetch:
		return "prefetch " + s.Buffer.Name
	case *AsyncCopy:
		return "async " + s.To.Name
	case *AsyncCommit:
		return "async.commit"
	case *AsyncWait:
		return "async.wait"
	case *AsyncFence:
		return "async.fence"
	case *BulkCopy:
		return "bulk " + s.To.Name
	case *TensorCopy:
		return "tensor " + s.To.Name
	case *MbarrierInit:
		return "mbarrier.init " + s.Mbarrier.Name
	case *MbarrierArrive:
		return "mbarrier.arrive " + s.Mbarrier.Name
	case *MbarrierWait:
		return "mbarrier.wait " + s.Mbarrier.Name
	case *FlagSet:
		return "flag.set " + s.Buffer.Name
	case *FlagWait:
		return "flag.wait " + s.Buffer.Name
	case *Alloc:
		return "alloc " + s.Buffer.Name
	case *Loop:
		return "for " + s.Var.Name
	case *If:
		return "if"
	case *Barrier:
		return "barrier"
	case *Comment:
		return "comment"
	}
	panic("kernel: unknown statement")
}
