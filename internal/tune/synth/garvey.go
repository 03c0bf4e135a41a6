package synth

// Garvey and Abdelrahman 2018, "A Strategy for Automatic Performance Tuning of
// Stencil Computations on GPUs": section 7.1 and Table 2 describe the kernels,
// sections 8.3.6 and 8.3.8 the sizes and the amounts of work.

func garvey() Suite {
	s := garveySuite("garvey", "the 104 kernels of Garvey 2018: weighted sums of five patterns in three dimensions")
	s.list = func() []Program {
		var list []Program
		for _, k := range Kernels() {
			list = append(list, Intense{k, 1, 1}.program(k.Name()))
		}
		return list
	}
	return s
}

func garvey416() Suite {
	s := garveySuite("garvey416", "the same with 1 or 2 additions and multiplications for each cell that is read")
	s.list = func() []Program {
		var list []Program
		for _, k := range IntenseKernels() {
			list = append(list, k.program(k.Name()))
		}
		return list
	}
	return s
}

func garveySuite(name, doc string) Suite {
	return Suite{
		Name: name, Doc: doc, Axes: []string{"NZ", "NY", "NX"}, Sizes: []int{32, 64, 128, 256, 512}, Edge: 256,
		Types: []string{"float", "double"}, Seeded: true,
	}
}

func (k Intense) program(name string) Program {
	var cells [][]int
	for _, o := range k.Cells() {
		cells = append(cells, o[:])
	}
	return Program{
		Name: name, Group: k.Kernel.Name(), Pattern: string(k.Pattern), Points: len(cells), Type: "float",
		least: leastFor(3, cells),
		write: func(size []int, typ string, seed uint64) string { return k.Source([3]int(size), typ, seed) },
	}
}
