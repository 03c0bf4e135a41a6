// the kernel grid cannot be printed: opencl has no grid-barrier
