package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// cudaHelpers are functions for what CUDA C++ can say by PTX alone.
func cudaHelpers() []helperText {
	list := []helperText{
		{name: "uchar8", bare: true,
			text: "struct __align__(8) gl_uchar8 { uint8_t s0, s1, s2, s3, s4, s5, s6, s7; };"},
		{name: "barrier", head: "template <int number, int count> ",
			text: `void gl_barrier() // for those of the block's threads that call it
{
    asm volatile("bar.sync %0, %1;" :: "n"(number), "n"(count) : "memory");
}`},
		{name: "same_i32", text: sameInt},
		{name: "policy_resident",
			text: `uint64_t gl_policy_resident() // for lines that stay in the L2 cache before others
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}`},
	}
	for _, t := range []types.Type{types.F32, types.F64} {
		list = append(list, helperText{name: "fma_rn_" + t.String(), t: t, text: fmaRN(t)},
			helperText{name: "div_rn_" + t.String(), t: t, text: divRN(t)})
	}
	list = append(list, rootHelpers...)
	list = append(list, imageHelpers...)
	list = append(list, clusterHelpers...)
	list = append(list, flagHelpers...)
	list = append(list, asyncHelpers...)
	list = append(list, tensorHelpers()...)
	for _, w := range wide {
		list = append(list, w.load(), w.store())
	}
	return list
}

// fmaRN is a fused multiply-add. The compiler moves calls of fma into branches,
// where what they need stays in registers, and constants with it: a star of order
// 8 in double spilled, at two thirds of the speed. It leaves PTX in its place.
func fmaRN(t types.Type) string {
	letter := map[types.Type]string{types.F32: "f", types.F64: "d"}[t]
	return strings.ReplaceAll(`%[1]s gl_fma_rn_%[2]s(%[1]s a, %[1]s b, %[1]s c)
{
    %[1]s sum;
    asm("fma.rn.%[2]s %%0, %%1, %%2, %%3;" : "=LETTER"(sum) : "LETTER"(a), "LETTER"(b), "LETTER"(c));
    return sum;
}`, "LETTER", letter)
}

// divRN is a division that is hardly ever needed. The compiler takes divisions to be
// one instruction, and moves them out of branches. It leaves PTX in its place.
func divRN(t types.Type) string {
	letter := map[types.Type]string{types.F32: "f", types.F64: "d"}[t]
	return strings.ReplaceAll(`%[1]s gl_div_rn_%[2]s(%[1]s a, %[1]s b)
{
    %[1]s quotient;
    asm("div.rn.%[2]s %%0, %%1, %%2;" : "=LETTER"(quotient) : "LETTER"(a), "LETTER"(b));
    return quotient;
}`, "LETTER", letter)
}

// rootHelpers are 1 over a square root, both of them rounded. From the machine's approximation of that, one step of
// the fourth order comes to within little more than half a unit of the last place. The root is refined from there as
// by the compiler, and so is its reciprocal (Markstein, IBM Journal of Research and Development 34(1), 1990), where the
// compiler divides. That is right for all roots but those with a significand of ones alone: those of numbers whose low
// word is 0xfffffffe or 0xffffffff at the most. TestInverseRoots has all numbers at which it could fail. Such numbers,
// and those so large or small that something could underflow, take the compiler's way.
var rootHelpers = []helperText{
	{name: "rsqrt_seed_f64", text: `double gl_rsqrt_seed_f64(double x) // 1 / sqrt(x), to about 20 bits
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}`},
	{name: "invsqrt_plain_f64", text: `double gl_invsqrt_plain_f64(double x)
{
    double y;
    asm("{\n\t.reg .f64 root;\n\tsqrt.rn.f64 root, %1;\n\trcp.rn.f64 %0, root;\n\t}" : "=d"(y) : "d"(x));
    return y;
}`},
	{name: "high_f64", text: `uint32_t gl_high_f64(double x) // the word of the sign and the exponent
{
    uint32_t word;
    asm("{\n\t.reg .b32 low;\n\tmov.b64 {low, %0}, %1;\n\t}" : "=r"(word) : "d"(x));
    return word;
}`},
	{name: "low_f64", text: `uint32_t gl_low_f64(double x)
{
    uint32_t word;
    asm("{\n\t.reg .b32 high;\n\tmov.b64 {%0, high}, %1;\n\t}" : "=r"(word) : "d"(x));
    return word;
}`},
	{name: "invsqrt_rn_f64", uses: "fma_rn_f64 rsqrt_seed_f64 invsqrt_plain_f64 high_f64 low_f64",
		text: `double gl_invsqrt_rn_f64(double x) // 1 / sqrt(x), the root and the quotient rounded to nearest
{
    const double y = gl_rsqrt_seed_f64(x);
    const double e = gl_fma_rn_f64(-x, y * y, 1.0);
    const double z = gl_fma_rn_f64(gl_fma_rn_f64(gl_fma_rn_f64(e, 0.3125, 0.375), e, 0.5), y * e, y);
    const double near = x * z;
    const double root = gl_fma_rn_f64(gl_fma_rn_f64(-near, near, x), 0.5 * z, near);
    const double inverse = gl_fma_rn_f64(gl_fma_rn_f64(-root, z, 1.0), z, z);
    const bool within = gl_high_f64(x) - 0x07b00000u < 0x76c00000u; // from 2^-900 to 2^1000
    const bool refined = within & (gl_low_f64(x) < 0xfffffffeu); // the root is not of ones alone
    return refined ? inverse : gl_invsqrt_plain_f64(x);
}`},
}

// wide is every type that can be moved with a cache policy.
var wide = []ptxType{
	{"float", types.F32, 1}, {"float2", types.F32, 2}, {"float4", types.F32, 4},
	{"double", types.F64, 1}, {"double2", types.F64, 2},
	{"int32_t", types.I32, 1}, {"int2", types.I32, 2}, {"int4", types.I32, 4},
	{"int64_t", types.I64, 1}, {"longlong2", types.I64, 2},
}

// ptxType is a type of so many elements.
type ptxType struct {
	name  string
	elem  types.Type
	count int
}

// operands returns the type in PTX and the operands of an access to a value v:
// how they are written in the text, and what they are bound to.
func (t ptxType) operands(first int, out string) (suffix, text, bound string) {
	letter := map[types.Type]string{types.F32: "f", types.F64: "d", types.I32: "r", types.I64: "l"}[t.elem]
	suffix = map[types.Type]string{types.F32: "f32", types.F64: "f64", types.I32: "s32", types.I64: "s64"}[t.elem]
	if t.count == 1 {
		return suffix, fmt.Sprintf("%%%d", first), fmt.Sprintf("%q(v)", out+letter)
	}
	var texts, bounds []string
	for i := range t.count {
		texts = append(texts, fmt.Sprintf("%%%d", first+i))
		bounds = append(bounds, fmt.Sprintf("%q(v.%s)", out+letter, component(t.count, i)))
	}
	return fmt.Sprintf("v%d.%s", t.count, suffix), "{" + strings.Join(texts, ", ") + "}", strings.Join(bounds, ", ")
}

func (t ptxType) load() helperText {
	suffix, text, bound := t.operands(0, "=")
	return helperText{name: "load_resident_" + t.name, uses: "policy_resident", text: fmt.Sprintf(
		"%s gl_load_resident_%[1]s(const %[1]s *p)\n{\n    %[1]s v;\n"+
			"    asm(\"ld.global.L2::cache_hint.%s %s, [%%%d], %%%d;\" : %s : "+
			"\"l\"(p), \"l\"(gl_policy_resident()));\n    return v;\n}",
		t.name, suffix, text, t.count, t.count+1, bound)}
}

func (t ptxType) store() helperText {
	suffix, text, bound := t.operands(1, "")
	return helperText{name: "store_resident_" + t.name, uses: "policy_resident", text: fmt.Sprintf(
		"void gl_store_resident_%s(%[1]s *p, %[1]s v)\n{\n"+
			"    asm volatile(\"st.global.L2::cache_hint.%s [%%0], %s, %%%d;\" :: "+
			"\"l\"(p), %s, \"l\"(gl_policy_resident()) : \"memory\");\n}",
		t.name, suffix, text, t.count+1, bound)}
}

// clusterHelpers are for blocks that work together. A cluster's blocks reach
// each other's shared memory. The blocks of a grid count themselves in a word
// whose highest bit says which of two barriers in a row it is: the first block
// adds what, with one from each other, flips that bit and leaves no count.
var clusterHelpers = []helperText{
	{name: "barrier_cluster", text: `void gl_barrier_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}`},
	{name: "remote", head: "template <class T> ",
		text: `T *gl_remote(T *p, int32_t rank) // where the cluster's block of that rank has its own
{
    uint64_t at;
    asm("mapa.u64 %0, %1, %2;" : "=l"(at) : "l"(p), "r"(rank));
    return reinterpret_cast<T *>(at);
}`},
	{name: "arrived", bare: true, text: "static __device__ uint32_t gl_arrived; // blocks at a barrier of the grid"},
	{name: "barrier_grid", uses: "arrived",
		text: `void gl_barrier_grid() // all blocks have to run at once: launch cooperatively
{
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        const uint32_t others = gridDim.x * gridDim.y * gridDim.z - 1;
        const uint32_t add = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - others : 1u;
        __threadfence();
        const uint32_t before = atomicAdd(&gl_arrived, add);
        while (((before ^ *(volatile uint32_t *)&gl_arrived) & 0x80000000u) == 0)
            ;
        __threadfence();
    }
    __syncthreads();
}`},
}

// flagHelpers are for flags in global memory, by which blocks tell each other how far they have come.
var flagHelpers = []helperText{
	{name: "flag_set", text: `void gl_flag_set(int32_t *flag, int32_t value)
{
#if __CUDA_ARCH__ >= 700
    asm volatile("st.release.gpu.s32 [%0], %1;" :: "l"(flag), "r"(value) : "memory");
#else
    __threadfence();
    *(volatile int32_t *)flag = value;
#endif
}`},
	{name: "flag_wait", text: `void gl_flag_wait(const int32_t *flag, int32_t value) // all blocks have to run at once
{
#if __CUDA_ARCH__ >= 700
    int32_t now;
    do { // a load that acquires would empty the cache each time
        asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(now) : "l"(flag) : "memory");
    } while (now < value);
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    while (*(const volatile int32_t *)flag < value)
        ;
    __threadfence();
#endif
}`},
}

// asyncHelpers are for what threads do not wait for: prefetches and copies, and for the
// mbarriers that count them.
var asyncHelpers = []helperText{
	{name: "shared_at", text: `uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}`},
	{name: "prefetch", text: `void gl_prefetch(const void *p)
{
    asm volatile("prefetch.global.L1 [%0];" :: "l"(p));
}`},
	{name: "copy_async", uses: "shared_at", head: "template <int bytes, int to_bytes = 0, int from_bytes = 0> ",
		text: `void gl_copy_async(void *to, const void *from) // both so many bytes further, where 16 are copied
{
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0+%2], [%1+%3], 16;"
            :: "r"(gl_shared_at(to)), "l"(from), "n"(to_bytes), "n"(from_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(gl_shared_at(to)), "l"(from), "n"(bytes) : "memory");
}`},
	{name: "commit_async", text: `void gl_commit_async() // ends a group of copies
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}`},
	{name: "wait_async", head: "template <int pending> ",
		text: `void gl_wait_async() // for all groups of the thread but the latest
{
    asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}`},
	{name: "fence_async", text: `void gl_fence_async() // bulk copies come after what the thread has loaded and stored
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}`},
	{name: "copy_bulk", uses: "shared_at",
		text: `void gl_copy_bulk(void *to, const void *from, uint32_t bytes, int64_t *mbarrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(bytes), "r"(gl_shared_at(mbarrier)) : "memory");
}`},
	{name: "mbarrier_init", uses: "shared_at", text: `void gl_mbarrier_init(int64_t *mbarrier, int32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;"
            :: "r"(gl_shared_at(mbarrier)), "r"(count) : "memory");
}`},
	{name: "mbarrier_arrive", uses: "shared_at", text: `void gl_mbarrier_arrive(int64_t *mbarrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(gl_shared_at(mbarrier)) : "memory");
}`},
	{name: "mbarrier_expect", uses: "shared_at",
		text: `void gl_mbarrier_expect(int64_t *mbarrier, int32_t bytes) // arrives, and says what else is to come
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(gl_shared_at(mbarrier)), "r"(bytes) : "memory");
}`},
	{name: "mbarrier_arrive_remote", uses: "shared_at",
		text: `void gl_mbarrier_arrive_remote(int64_t *mbarrier, int32_t rank) // at that of another block of the cluster
{
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}"
            :: "r"(gl_shared_at(mbarrier)), "r"(rank) : "memory");
}`},
	{name: "mbarrier_signal_remote", uses: "shared_at",
		text: `void gl_mbarrier_signal_remote(int64_t *mbarrier, int32_t rank) // likewise, but stores may be seen there later
{
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
            "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}"
            :: "r"(gl_shared_at(mbarrier)), "r"(rank) : "memory");
}`},
	{name: "mbarrier_wait", uses: "shared_at", text: waitText("", "")},
	{name: "mbarrier_wait_cluster", uses: "shared_at", text: waitText("_cluster", ".acquire.cluster")},
}

// waitText waits for a phase of an mbarrier, at which threads of the block
// arrive, or those of the cluster.
func waitText(name, scope string) string {
	return `void gl_mbarrier_wait` + name + `(int64_t *mbarrier, int32_t parity)
{
    int32_t done;
    do
        asm volatile("{\n\t.reg .pred done;\n\tmbarrier.try_wait.parity` + scope + `.shared::cta.b64 done, [%1], %2;\n\t"
                "selp.s32 %0, 1, 0, done;\n\t}"
                : "=r"(done) : "r"(gl_shared_at(mbarrier)), "r"(parity) : "memory");
    while (!done);
}`
}
