// the kernel bulk cannot be printed: opencl has no bulk-copy
