package lang

import "strings"

// exprText returns an expression as text without a choice in its layout, so
// that equal texts are equal expressions.
func exprText(x Expr) string {
	var b strings.Builder
	writeExpr(&b, x)
	return b.String()
}

func writeExpr(b *strings.Builder, x Expr) {
	switch x := x.(type) {
	case *Ident:
		b.WriteString(x.Name)
	case *NumberLit:
		b.WriteString(x.Text)
	case *ParenExpr:
		writeExpr(b, x.X)
	case *UnaryExpr:
		b.WriteString("(" + kindNames[x.Op])
		writeExpr(b, x.X)
		b.WriteString(")")
	case *BinaryExpr:
		b.WriteString("(")
		writeExpr(b, x.X)
		b.WriteString(" " + kindNames[x.Op] + " ")
		writeExpr(b, x.Y)
		b.WriteString(")")
	case *CondExpr:
		b.WriteString("(")
		writeExpr(b, x.Cond)
		b.WriteString(" ? ")
		writeExpr(b, x.X)
		b.WriteString(" : ")
		writeExpr(b, x.Y)
		b.WriteString(")")
	case *CallExpr:
		b.WriteString(x.Func.Name)
		writeList(b, "(", x.Args, ")")
	case *IndexExpr:
		b.WriteString(x.Name.Name)
		writeList(b, "[", x.Indices, "]")
	case *SumExpr:
		b.WriteString("sum (" + x.Var.Name + " in ")
		writeExpr(b, x.Lo)
		b.WriteString("..")
		writeExpr(b, x.Hi)
		b.WriteString(") (")
		writeExpr(b, x.Body)
		b.WriteString(")")
	}
}

func writeList(b *strings.Builder, open string, list []Expr, end string) {
	b.WriteString(open)
	for i, x := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		writeExpr(b, x)
	}
	b.WriteString(end)
}
