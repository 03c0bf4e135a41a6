// the kernel numbered cannot be printed: opencl has no mbarrier
