package bench

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// toolSource is the suite's own CUDA: copies of 16 bytes a thread and of four
// times 16 bytes; random values in [0, 1) by cell number and seed, in rows that
// lie a pitch apart; the comparison of such rows with dense ones by 65536
// threads, each of which counts the cells that differ by more than the margin
// and notes the first of them and the largest difference within it.
const toolSource = `
extern "C" __global__ void copy_1(int4 *__restrict__ out, const int4 *__restrict__ in, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}

extern "C" __global__ void copy_4(int4 *__restrict__ out, const int4 *__restrict__ in, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * 1024 + threadIdx.x;
    if (i + 768 < n) {
        const int4 a = in[i], b = in[i + 256], c = in[i + 512], d = in[i + 768];
        out[i] = a;
        out[i + 256] = b;
        out[i + 512] = c;
        out[i + 768] = d;
    } else {
        for (int64_t j = i; j < n; j += 256)
            out[j] = in[j];
    }
}

static __device__ inline uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

extern "C" __global__ void fill_f64(double *u, int64_t rows, int64_t n, int64_t pitch, int64_t lead, int64_t seed)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < rows * n)
        u[lead + i / n * pitch + i % n] = (double)(mix((uint64_t)i + mix((uint64_t)seed)) >> 11) / 9007199254740992.0;
}

extern "C" __global__ void compare_f64(int64_t *bad, const double *got, const double *want, int64_t rows, int64_t n, int64_t pitch, int64_t lead, double margin)
{
    const int64_t t = (int64_t)blockIdx.x * 256 + threadIdx.x;
    int64_t count = 0, first = -1;
    double most = 0;
    for (int64_t i = t; i < rows * n; i += 65536) {
        const double a = got[lead + i / n * pitch + i % n], b = want[i], d = a > b ? a - b : b - a;
        if (*(const int64_t *)&a == *(const int64_t *)&b)
            continue;
        if (d <= margin) {
            most = d > most ? d : most;
            continue;
        }
        count++;
        if (first < 0)
            first = i;
    }
    bad[3 * t] = count;
    bad[3 * t + 1] = first;
    ((double *)bad)[3 * t + 2] = (double)most;
}

extern "C" __global__ void fill_f32(float *u, int64_t rows, int64_t n, int64_t pitch, int64_t lead, int64_t seed)
{
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < rows * n)
        u[lead + i / n * pitch + i % n] = (float)(mix((uint64_t)i + mix((uint64_t)seed)) >> 40) / 16777216.0f;
}

extern "C" __global__ void compare_f32(int64_t *bad, const float *got, const float *want, int64_t rows, int64_t n, int64_t pitch, int64_t lead, float margin)
{
    const int64_t t = (int64_t)blockIdx.x * 256 + threadIdx.x;
    int64_t count = 0, first = -1;
    float most = 0;
    for (int64_t i = t; i < rows * n; i += 65536) {
        const float a = got[lead + i / n * pitch + i % n], b = want[i], d = a > b ? a - b : b - a;
        if (*(const int32_t *)&a == *(const int32_t *)&b)
            continue;
        if (d <= margin) {
            most = d > most ? d : most;
            continue;
        }
        count++;
        if (first < 0)
            first = i;
    }
    bad[3 * t] = count;
    bad[3 * t + 1] = first;
    ((double *)bad)[3 * t + 2] = (double)most;
}
`

// toolThreads are the threads of their blocks.
const toolThreads = 256

func blocksOf(n, block int64) kernel.Geometry {
	return kernel.Geometry{Blocks: [3]int64{(n + block - 1) / block, 1, 1}, Threads: [3]int64{toolThreads, 1, 1}}
}

// copyBound measures copies of that many bytes: by the driver, and by the
// better of two kernels.
func (b *gpuBench) copyBound(bytes int64, row *GPURow) error {
	items := bytes / 16
	bytes = items * 16
	var bufs []*cuda.Buffer
	defer func() { freeAll(bufs) }()
	for range 2 {
		buf, err := b.random(bytes)
		if err != nil {
			return err
		}
		bufs = append(bufs, buf)
	}
	rate := func(f func() error) (float64, error) {
		times, _, err := b.batches(f, b.opts.Batches, b.opts.Batch)
		if err != nil {
			return 0, err
		}
		return 2 * float64(bytes) / median(times) / 1e9, nil
	}
	var err error
	if row.CopyDriverGBs, err = rate(func() error { return bufs[0].CopyFrom(bufs[1]) }); err != nil {
		return err
	}
	count := &device.Value{}
	count.Set(op.Int(types.I64, items))
	args := []device.Arg{&device.Slot{Buffer: bufs[0]}, &device.Slot{Buffer: bufs[1]}, count}
	for _, k := range []struct {
		name  string
		block int64 // items
	}{{"copy_1", toolThreads}, {"copy_4", 4 * toolThreads}} {
		c, err := b.tools.PrepareGrid(k.name, blocksOf(items, k.block), args)
		if err != nil {
			return err
		}
		r, err := rate(c.Launch)
		if err != nil {
			return err
		}
		row.CopyKernelGBs = max(row.CopyKernelGBs, r)
	}
	row.CopyGBs = max(row.CopyDriverGBs, row.CopyKernelGBs)
	return nil
}
