// the kernel clusters cannot be printed: opencl has no cluster
