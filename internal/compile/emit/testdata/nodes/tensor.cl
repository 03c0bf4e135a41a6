// the kernel tensor cannot be printed: opencl has no mbarrier
