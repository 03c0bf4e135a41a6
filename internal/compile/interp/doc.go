// Package interp is the reference executor: what it computes is what a program
// means, at every cell. It follows the words of the language definition and
// nothing else: calls run one after the other, each statement is evaluated at
// all its cells before the next begins, every floating-point operation is
// rounded on its own to the type of its operands, and sums are taken in the
// fixed tree that ir.Reduce describes.
//
// Expressions are compiled once to closures that evaluate a row of cells at a
// time, and rows are shared out over processors. No result depends on how.
//
// # Bounds
//
// With Options.Bounds, every cell carries beside its value r a number B such
// that a device which computes the same program in the stated mode of
// arithmetic gets a value d with |d - r| <= B. Bounds follow the data through
// grids, temps and reductions, step by step. They are rigorous rather than
// tight, and +Inf says that nothing can be said.
//
// Let u be half the distance from 1 to the next number of the type (2^-24,
// 2^-53), eta its smallest positive number, and let the operands x, y of an
// operation have device values within X, Y of the reference's. The exact
// results on the two sides differ by at most
//
//	P(x+y) = P(x-y) = X + Y
//	P(x*y) = |x| Y + |y| X + X Y
//	P(x/y) = (X + |x/y| Y) / (|y| - Y)          if |y| > Y, else +Inf
//	P(min) = P(max) = max(X, Y)
//
// If P is 0 both sides round the same real number and B is 0. Otherwise each
// side rounds once, by at most u times its result plus eta, so
//
//	B = P + 2 u (1+u) |r| + u P + 2 eta.
//
// Exact is this and no more, with P(x*y + z) = P(x*y) + Z for a fused
// multiply-add, which rounds once: only the functions whose op.Func.ULP is not
// zero ever start a bound. Reductions are taken over the tree that ir.Reduce
// describes.
//
// Unfused lets a device round the product of a fused multiply-add before it is
// added. That adds to P what the rounding loses: exactly, where the factors are
// known, and else no more than u (1+u) (|x*y| + P) + eta.
//
// Fast lets a device rearrange sums and products as if they were exact, within
// one statement and the temps and local grids it uses, and take sums over cells in
// any order; what passes through a grid is rounded there. Let an expression of sums, differences and products
// over leaves (loads, constants, results of other operations) have n
// operations, and let S be its value when every leaf is replaced by its
// largest possible magnitude and every difference by a sum. However it is
// rearranged, no term meets more than n roundings, so each side is within
// n u / (1 - n u) * S of the exact value. With M the value when every leaf is
// replaced by its magnitude or 1, whichever is larger, an underflow of eta is
// magnified to no more than eta M, and no intermediate result exceeds M. So
//
//	B = P + 2 n u / (1 - n u) * S + 2 n eta M
//
// where eta is now the smallest normal number, because fast code may flush to
// zero. A quotient is a product with a reciprocal that is within 4 units in
// the last place.
//
// A function f whose device versions are within k units in the last place,
// and whose values over [x-X, x+X] are within L of f(x), gives
//
//	B = L + 4 k u (|r| + L) + 2 k eta.
//
// L comes from the interval's ends where f is monotone, and from a Lipschitz
// constant elsewhere. A comparison that the bounds cannot decide has the bound
// 1, and a select on it the larger of both outcomes' distances from r. An
// integer whose bound reaches over the ends of its type has the bound +Inf,
// and so has everything after an iterate whose end cannot be decided, unless
// Options.SamePath says that the device has ended it at the same iteration.
//
// Bounds follow the worst case, which may grow from step to step even where
// the computation is stable. A long run is therefore checked leaf by leaf
// (State.ClearBounds).
//
// Bounds themselves are computed in float64 and rounded outwards.
package interp
