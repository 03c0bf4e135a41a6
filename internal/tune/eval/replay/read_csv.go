package replay

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// readCSV reads a table whose parameters are the columns before time_ms.
// status is "ok" or why there is no time; the columns of costs end in _ms.
func readCSV(in *bufio.Reader, c *collector) error {
	part := parts(in)
	r := csv.NewReader(part)
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return notATable(err)
	}
	head = slices.Clone(head)
	params := slices.Index(head, "time_ms")
	if params < 1 {
		return errors.New("neither JSON nor a table: no column is called time_ms, with the parameters before it")
	}
	for _, name := range head[:params] {
		if err := c.param(name); err != nil {
			return err
		}
	}
	values := make([]Value, params)
	for {
		part.Next()
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return notATable(err)
		}
		for i := range values {
			values[i] = cell(row[i])
		}
		number := func(column string) float64 {
			i := slices.Index(head, column)
			if i < 0 || row[i] == "" {
				return 0
			}
			f, e := strconv.ParseFloat(row[i], 64)
			if e != nil && err == nil {
				line, _ := r.FieldPos(i)
				err = fmt.Errorf("line %d: %s is %q, which is no number", line, column, row[i])
			}
			return seconds(&f)
		}
		t := Trial{Cost: Cost{
			Compile:    number("compile_ms"),
			Runs:       number("times_sum_ms"),
			Framework:  number("framework_ms"),
			Search:     number("search_ms"),
			Validation: number("verification_ms"),
		}}
		if i := slices.Index(head, "status"); i >= 0 && row[i] != "ok" {
			t.Failure = row[i]
		}
		if t.Failure == "" {
			t.Seconds = number("time_ms")
			if row[params] == "" {
				t.Failure = "no time"
			}
		}
		if err != nil {
			return err
		}
		if err := c.add(values, t); err != nil {
			return err
		}
	}
}

// cell returns a parameter's value.
func cell(s string) Value {
	if v, err := fromJSON(json.Number(s)); err == nil {
		return v
	}
	return Text(s)
}

func notATable(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fmt.Errorf("neither JSON nor a table: line %d, column %d: %w", p.Line, p.Column, p.Err)
	}
	return err
}
