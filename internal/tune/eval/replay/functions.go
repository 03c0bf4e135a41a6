package replay

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// functions are what expressions may call.
var functions map[string]func(args []Value) (Value, error)

func init() { // the functions' names stand in messages of the parser
	functions = map[string]func(args []Value) (Value, error){
		"range":  rangeOf,
		"list":   listOf,
		"tuple":  listOf,
		"sorted": sortedOf,
		"min":    extreme(-1),
		"max":    extreme(1),
		"sum":    sumOf,
		"pow":    func(args []Value) (Value, error) { return of2(args, "**") },
		"len": func(args []Value) (Value, error) {
			l, err := onlyList(args)
			return Whole(int64(len(l))), err
		},
		"any": func(args []Value) (Value, error) {
			l, err := onlyList(args)
			return Truth(slices.ContainsFunc(l, Value.true)), err
		},
		"all": func(args []Value) (Value, error) {
			l, err := onlyList(args)
			return Truth(!slices.ContainsFunc(l, func(v Value) bool { return !v.true() })), err
		},
		"bool": func(args []Value) (Value, error) {
			if len(args) != 1 {
				return Value{}, errors.New("one argument is needed")
			}
			return Truth(args[0].true()), nil
		},
		"abs":   numeric(func(v Value) Value { return Value{kind: max(v.kind, whole), number: math.Abs(v.number)} }),
		"float": numeric(func(v Value) Value { return Decimal(v.number) }),
		"int":   numeric(func(v Value) Value { return Value{kind: whole, number: math.Trunc(v.number)} }),
		"round": numeric(func(v Value) Value { return Value{kind: whole, number: math.RoundToEven(v.number)} }),
	}
}

// numeric makes a function of one number.
func numeric(f func(Value) Value) func([]Value) (Value, error) {
	return func(args []Value) (Value, error) {
		if len(args) != 1 || !args[0].isNumber() {
			return Value{}, errors.New("one number is needed")
		}
		v := f(args[0])
		if v.kind == whole && math.Abs(v.number) > maxWhole {
			return Value{}, errors.New("the result is out of range")
		}
		return v, nil
	}
}

func of2(args []Value, op string) (Value, error) {
	if len(args) != 2 || !args[0].isNumber() || !args[1].isNumber() {
		return Value{}, errors.New("two numbers are needed")
	}
	return arithmetic(op, args[0], args[1])
}

func onlyList(args []Value) ([]Value, error) {
	if len(args) != 1 || args[0].kind != list {
		return nil, errors.New("one list is needed")
	}
	return args[0].list, nil
}

func rangeOf(args []Value) (Value, error) {
	if len(args) < 1 || len(args) > 3 {
		return Value{}, errors.New("one to three numbers are needed")
	}
	for _, a := range args {
		if a.kind != whole && a.kind != truth {
			return Value{}, fmt.Errorf("whole numbers are needed, not %s", a)
		}
	}
	from, to, step := 0.0, args[0].number, 1.0
	if len(args) > 1 {
		from, to = to, args[1].number
	}
	if len(args) > 2 {
		step = args[2].number
	}
	if step == 0 {
		return Value{}, errors.New("the step is zero")
	}
	if (to-from)/step > maxValues {
		return Value{}, fmt.Errorf("more than %d values", maxValues)
	}
	out := Value{kind: list}
	for x := from; step > 0 && x < to || step < 0 && x > to; x += step {
		out.list = append(out.list, Value{kind: whole, number: x})
	}
	return out, nil
}

func listOf(args []Value) (Value, error) {
	if len(args) == 0 {
		return Value{kind: list}, nil
	}
	l, err := onlyList(args)
	return Value{kind: list, list: l}, err
}

func sortedOf(args []Value) (Value, error) {
	l, err := numbersOf(args)
	if err != nil {
		return Value{}, err
	}
	l = slices.Clone(l)
	slices.SortStableFunc(l, order)
	return Value{kind: list, list: l}, nil
}

// numbersOf returns the numbers of one list, or those that are the arguments.
func numbersOf(args []Value) ([]Value, error) {
	if len(args) == 1 && args[0].kind == list {
		args = args[0].list
	}
	if slices.ContainsFunc(args, func(v Value) bool { return !v.isNumber() }) {
		return nil, errors.New("numbers are needed, or a list of them")
	}
	return args, nil
}

// extreme finds the greatest number, or the least.
func extreme(sign int) func([]Value) (Value, error) {
	return func(args []Value) (Value, error) {
		// max(filter_width) of a definition has the list of values, or one of them.
		l, err := numbersOf(args)
		if err != nil {
			return Value{}, err
		}
		if len(l) == 0 {
			return Value{}, errors.New("there is nothing to choose from")
		}
		return slices.MaxFunc(l, func(a, b Value) int { return sign * order(a, b) }), nil
	}
}

func sumOf(args []Value) (Value, error) {
	l, err := onlyList(args)
	if err != nil {
		return Value{}, err
	}
	total := Whole(0)
	for _, v := range l {
		if !v.isNumber() {
			return Value{}, fmt.Errorf("%s is no number", v)
		}
		if total, err = arithmetic("+", total, v); err != nil {
			return Value{}, err
		}
	}
	return total, nil
}
