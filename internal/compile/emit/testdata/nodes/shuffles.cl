// the kernel shuffles cannot be printed: opencl has no shuffle
