// the kernel multicast cannot be printed: opencl has no cluster
