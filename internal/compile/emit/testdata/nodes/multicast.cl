// the kernel multicast cannot be printed: opencl has no bulk-copy
