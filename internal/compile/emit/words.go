package emit

import "strings"

const cWords = `
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool bool true false INFINITY NAN int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t
main args errno signgam stdin stdout stderr
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc abs
j0 j1 jn y0 y1 yn gamma exp10 pow10 drem significand isnan isinf isfinite isnormal signbit fpclassify finite scalb
M_PI M_E HUGE_VAL HUGE_VALL linux unix
NULL EOF BUFSIZ FILE FILENAME_MAX FOPEN_MAX L_tmpnam P_tmpdir SEEK_SET SEEK_CUR SEEK_END TMP_MAX RAND_MAX MB_CUR_MAX
EXIT_SUCCESS EXIT_FAILURE INT8_MIN INT8_MAX INT16_MIN INT16_MAX INT32_MIN INT32_MAX INT64_MIN INT64_MAX UINT8_MAX
UINT16_MAX UINT32_MAX UINT64_MAX INTPTR_MIN INTPTR_MAX UINTPTR_MAX INTMAX_MIN INTMAX_MAX UINTMAX_MAX PTRDIFF_MIN
PTRDIFF_MAX SIZE_MAX SIG_ATOMIC_MIN SIG_ATOMIC_MAX WCHAR_MIN WCHAR_MAX WINT_MIN WINT_MAX INT64_C FLT_EVAL_METHOD
FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL MATH_ERRNO MATH_ERREXCEPT math_errhandling
asm class delete new this template operator namespace try catch throw using virtual public private protected
typename explicit export friend mutable and or not xor bitand bitor compl and_eq or_eq not_eq xor_eq
const_cast dynamic_cast static_cast reinterpret_cast typeid wchar_t nullptr constexpr decltype noexcept alignas
alignof static_assert thread_local typeof complex imaginary I`

const cudaWords = `
char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4 short2 short3 short4 ushort2 ushort3 ushort4
int1 int2 int3 int4 uint1 uint2 uint3 uint4 long2 long3 long4 ulong2 longlong1 longlong2 longlong3 longlong4
ulonglong2 float1 float2 float3 float4 double1 double2 double3 double4
threadIdx blockIdx blockDim gridDim warpSize dim3 half clock clock64 min max umin umax llmin llmax ullmin ullmax
printf assert malloc free memcpy memmove memset memcmp trap brkpt prof_trigger nanosleep
norm norm3d norm4d rnorm rnorm3d rnorm4d rhypot rsqrt rcbrt sincos sincospi sinpi cospi erfinv erfcinv erfcx normcdf
normcdfinv cyl_bessel_i0 cyl_bessel_i1 fdivide saturate mulhi umulhi mul64hi umul64hi mul24 umul24 labs llabs
int_as_float float_as_int uint_as_float float_as_uint float2int int2float uint2float float2uint
atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd atomicOr atomicXor`

const openclWords = `
kernel global local constant private read_only write_only read_write generic uniform pipe
uchar ushort uint ulong half quad size_t ptrdiff_t intptr_t uintptr_t sampler_t event_t queue_t
image1d_t image1d_buffer_t image1d_array_t image2d_t image2d_array_t image3d_t
char2 char3 char4 char8 char16 uchar2 uchar3 uchar4 uchar8 uchar16 short2 short3 short4 short8 short16
ushort2 ushort3 ushort4 ushort8 ushort16 int2 int3 int4 int8 int16 uint2 uint3 uint4 uint8 uint16
long2 long3 long4 long8 long16 ulong2 ulong3 ulong4 ulong8 ulong16 float2 float3 float4 float8 float16
double2 double3 double4 double8 double16 half2 half3 half4 half8 half16
get_work_dim get_global_size get_global_id get_local_size get_local_id get_num_groups get_group_id get_global_offset
barrier mem_fence read_mem_fence write_mem_fence prefetch async_work_group_copy wait_group_events
abs_diff add_sat hadd rhadd clamp clz mad_hi mad_sat max min mul_hi rotate sub_sat upsample popcount mad24 mul24
degrees mix radians step smoothstep sign cross dot distance length normalize fast_distance fast_length fast_normalize
acospi asinpi atanpi atan2pi cospi sinpi tanpi fract mad maxmag minmag nan pown powr rootn rsqrt sincos
isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered any all
bitselect select shuffle shuffle2 vec_step printf M_PI_F MAXFLOAT HUGE_VALF CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE`

func reserved(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
		set[w+"f"] = true
	}
	return set
}

// legal returns a name that the dialect lets a program use, with an underscore
// added where the source's name is a word of the language.
func (d *Dialect) legal(name string) string {
	name = strings.NewReplacer(".", "_", "-", "_").Replace(name)
	if d.Reserved[name] || strings.HasPrefix(name, "gl_") || strings.HasPrefix(name, "_") {
		return "v_" + strings.TrimLeft(name, "_")
	}
	return name
}
