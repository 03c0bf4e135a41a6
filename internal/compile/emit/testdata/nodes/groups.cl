// the kernel groups cannot be printed: opencl has no async-copy
