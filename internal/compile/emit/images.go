package emit

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// images is how a dialect reads memory as one-dimensional images. Images of
// 32-bit words hold the bits of wider types in two of them.
type images struct {
	param string // the type of an argument
	fetch map[texel]fetch
}

// texel is what one access takes: so many elements of a type.
type texel struct {
	elem  types.Type
	count int
}

// fetch spells an access: %s of the image, at the texel %s.
type fetch struct {
	call   string
	helper string // that the call is to; "" for none
}

var cudaImages = &images{
	param: "cudaTextureObject_t",
	fetch: map[texel]fetch{
		{types.F32, 1}:  {call: "tex1Dfetch<float>(%s, %s)"},
		{types.F32, 2}:  {call: "tex1Dfetch<float2>(%s, %s)"},
		{types.F32, 4}:  {call: "tex1Dfetch<float4>(%s, %s)"},
		{types.F64, 1}:  {call: "(%s, %s)", helper: "image_double"},
		{types.F64, 2}:  {call: "(%s, %s)", helper: "image_double2"},
		{types.I32, 1}:  {call: "tex1Dfetch<int>(%s, %s)"},
		{types.I32, 2}:  {call: "tex1Dfetch<int2>(%s, %s)"},
		{types.I32, 4}:  {call: "tex1Dfetch<int4>(%s, %s)"},
		{types.I64, 1}:  {call: "(%s, %s)", helper: "image_long"},
		{types.I64, 2}:  {call: "(%s, %s)", helper: "image_long2"},
		{types.U8, 1}:   {call: "tex1Dfetch<unsigned char>(%s, %s)"},
		{types.U8, 2}:   {call: "tex1Dfetch<uchar2>(%s, %s)"},
		{types.U8, 4}:   {call: "tex1Dfetch<uchar4>(%s, %s)"},
		{types.Bool, 1}: {call: "tex1Dfetch<unsigned char>(%s, %s)"},
		{types.Bool, 2}: {call: "tex1Dfetch<uchar2>(%s, %s)"},
		{types.Bool, 4}: {call: "tex1Dfetch<uchar4>(%s, %s)"},
	},
}

// imageHelpers put the words of an image together.
var imageHelpers = []helperText{
	{name: "image_double", text: `double gl_image_double(cudaTextureObject_t image, int texel)
{
    const int2 words = tex1Dfetch<int2>(image, texel);
    return __hiloint2double(words.y, words.x);
}`},
	{name: "image_double2", text: `double2 gl_image_double2(cudaTextureObject_t image, int texel)
{
    const int4 words = tex1Dfetch<int4>(image, texel);
    return make_double2(__hiloint2double(words.y, words.x), __hiloint2double(words.w, words.z));
}`},
	{name: "image_long", text: `int64_t gl_image_long(cudaTextureObject_t image, int texel)
{
    const int2 words = tex1Dfetch<int2>(image, texel);
    return (int64_t)((uint64_t)(uint32_t)words.y << 32 | (uint32_t)words.x);
}`},
	{name: "image_long2", text: `longlong2 gl_image_long2(cudaTextureObject_t image, int texel)
{
    const int4 words = tex1Dfetch<int4>(image, texel);
    return make_longlong2((int64_t)((uint64_t)(uint32_t)words.y << 32 | (uint32_t)words.x),
                          (int64_t)((uint64_t)(uint32_t)words.w << 32 | (uint32_t)words.z));
}`},
}

// Floats are read as words, too: images of floats may lose what is denormal.
var openclImages = &images{
	param: "__read_only image1d_buffer_t",
	fetch: map[texel]fetch{
		{types.F32, 1}:  {call: "as_float(read_imagei(%s, %s).x)"},
		{types.F32, 2}:  {call: "as_float2(read_imagei(%s, %s).xy)"},
		{types.F32, 4}:  {call: "as_float4(read_imagei(%s, %s))"},
		{types.F64, 1}:  {call: "as_double(read_imagei(%s, %s).xy)"},
		{types.F64, 2}:  {call: "as_double2(read_imagei(%s, %s))"},
		{types.I32, 1}:  {call: "read_imagei(%s, %s).x"},
		{types.I32, 2}:  {call: "read_imagei(%s, %s).xy"},
		{types.I32, 4}:  {call: "read_imagei(%s, %s)"},
		{types.I64, 1}:  {call: "as_long(read_imagei(%s, %s).xy)"},
		{types.I64, 2}:  {call: "as_long2(read_imagei(%s, %s))"},
		{types.U8, 1}:   {call: "convert_uchar(read_imageui(%s, %s).x)"},
		{types.U8, 2}:   {call: "convert_uchar2(read_imageui(%s, %s).xy)"},
		{types.U8, 4}:   {call: "convert_uchar4(read_imageui(%s, %s))"},
		{types.Bool, 1}: {call: "convert_uchar(read_imageui(%s, %s).x)"},
		{types.Bool, 2}: {call: "convert_uchar2(read_imageui(%s, %s).xy)"},
		{types.Bool, 4}: {call: "convert_uchar4(read_imageui(%s, %s))"},
	},
}

// fetched spells the texel that starts at an index.
func (p *printer) fetched(b *kernel.Buffer, index kernel.Expr) string {
	if p.Images == nil {
		p.lacks("images")
	}
	f := p.Images.fetch[texel{b.Elem, b.Texel}]
	if b.Texel > 1 {
		index = kernel.Bin(op.Div, index, offset(index, b.Texel))
	}
	at := p.expr(index)
	if index.Type() != types.I32 {
		at = fmt.Sprintf("(%s)%s", p.Types[types.I32], p.operand(index, precUnary))
	}
	call := fmt.Sprintf(f.call, p.names[b], at)
	if f.helper != "" {
		call = p.helper(f.helper) + call
	}
	return call
}

// ConstantSymbol is the name of the memory that a kernel in CUDA has for a
// buffer in constant memory whose size is a literal. Such a buffer is no
// argument of the printed function: whoever launches it fills the memory.
func ConstantSymbol(kernel, buffer string) string {
	return fmt.Sprintf("gl_constant_%s_%s", kernel, buffer)
}

// outside reports whether a buffer is declared outside of its kernel.
func (d *Dialect) outside(b *kernel.Buffer) bool {
	_, fixed := b.Fixed()
	return d.Constants != "" && b.Space == kernel.Constant && fixed
}

// constants declares what is outside of a kernel.
func (p *printer) constants(k *kernel.Kernel) {
	for _, b := range k.Buffers {
		if p.outside(b) {
			n, _ := b.Fixed()
			p.names[b] = ConstantSymbol(k.Name, b.Name)
			p.line("%s%s %s[%d];", p.Constants, p.Memory[b.Elem], p.names[b], n)
		}
	}
}
