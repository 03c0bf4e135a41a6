package lang

// Kind classes a token. Every word is a Name: which words mean something is a
// matter of where they stand, so that a grid may be called step or sum.
type Kind uint8

const (
	EOF          Kind = iota
	LineComment       // // to the end of the line
	BlockComment      // /* ... */
	Name              // u_0
	Number            // 1 0x1F 1.5e-3 2.0f

	Plus      // +
	Minus     // -
	Star      // *
	Slash     // /
	Percent   // %
	Caret     // ^
	Amp       // &
	Bar       // |
	AndAnd    // &&
	OrOr      // ||
	Bang      // !
	Eq        // ==
	Ne        // !=
	Lt        // <
	Le        // <=
	Gt        // >
	Ge        // >=
	Assign    // =
	AddAssign // +=
	SubAssign // -=
	MulAssign // *=
	DivAssign // /=
	AndAssign // &=
	OrAssign  // |=
	Question  // ?
	Colon     // :
	Semicolon // ;
	Comma     // ,
	Dot       // .
	DotDot    // ..
	Hash      // #
	LParen    // (
	RParen    // )
	LBracket  // [
	RBracket  // ]
	LBrace    // {
	RBrace    // }
)

var kindNames = [...]string{
	EOF: "the end of the file", LineComment: "a comment", BlockComment: "a comment", Name: "a name", Number: "a number",
	Plus: "+", Minus: "-", Star: "*", Slash: "/", Percent: "%", Caret: "^", Amp: "&", Bar: "|",
	AndAnd: "&&", OrOr: "||", Bang: "!", Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=",
	Assign: "=", AddAssign: "+=", SubAssign: "-=", MulAssign: "*=", DivAssign: "/=", AndAssign: "&=", OrAssign: "|=",
	Question: "?", Colon: ":", Semicolon: ";", Comma: ",", Dot: ".", DotDot: "..", Hash: "#",
	LParen: "(", RParen: ")", LBracket: "[", RBracket: "]", LBrace: "{", RBrace: "}",
}

// String returns the token's spelling in quotes, or a word for its class.
func (k Kind) String() string {
	if k <= Number {
		return kindNames[k]
	}
	return `"` + kindNames[k] + `"`
}

// Token is one token of a source text.
type Token struct {
	Kind       Kind
	Start, End int // byte offsets
	Line       int // on which it starts, from 1
	role       role
}

func (t Token) isComment() bool { return t.Kind == LineComment || t.Kind == BlockComment }

// role is what the parser found a token to be; the formatter spaces by it.
type role uint8

const (
	plain     role = iota
	prefix         // an operator before its operand: no space after it
	tight          // no space on either side
	loose          // a space on either side
	callParen      // an opening parenthesis that touches its function
	blockOpen      // the { of a stencil, an iterate, an initial
	blockClose
	stmtEnd // the ; of a statement
	empty   // a ; that ends nothing
)
