package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// tensorMap is the driver's CUtensorMap.
type tensorMap [128]byte

// mapAlign is what tensor maps in host memory are aligned to, in bytes.
const mapAlign = 64

// Kinds of elements of a tensor map, by their size: bits are copied as they are.
const (
	mapBytes   = 0 // CU_TENSOR_MAP_DATA_TYPE_UINT8
	mapWords16 = 1 // CU_TENSOR_MAP_DATA_TYPE_UINT16
	mapWords32 = 2 // CU_TENSOR_MAP_DATA_TYPE_UINT32
	mapWords64 = 4 // CU_TENSOR_MAP_DATA_TYPE_UINT64
)

// tensorMap returns the buffer's tensor map of that kind.
func (b *Buffer) tensorMap(of device.TensorMap) (*tensorMap, error) {
	if t, ok := b.tensors[of]; ok {
		return t, nil
	}
	t, err := b.encodeTensor(of)
	if err != nil {
		return nil, err
	}
	if b.tensors == nil {
		b.tensors = map[device.TensorMap]*tensorMap{}
	}
	b.tensors[of] = t
	return t, nil
}

// encodeTensor has the driver make a tensor map. It lists axes from the fastest on, the driver's way.
func (b *Buffer) encodeTensor(of device.TensorMap) (*tensorMap, error) {
	d := b.device
	if d.driver.EncodeTensor == nil {
		return nil, verdict.For(verdict.Launch, errors.New(
			"the driver is too old for tensor maps: choose copy=async"))
	}
	size := int64(of.Elem.Size()) * of.Unit
	kind, known := map[int64]int32{1: mapBytes, 2: mapWords16, 4: mapWords32, 8: mapWords64}[size]
	if !known {
		return nil, fmt.Errorf("a tensor map of elements of %d bytes", size)
	}
	var extents, strides [len(of.Extents)]uint64
	var box, steps [len(of.Box)]uint32
	cells := int64(1)
	for i := range of.Axes {
		from := of.Axes - 1 - i
		extent, n := of.Extents[from], of.Box[from]
		if i == 0 {
			extent, n = extent/of.Unit, n/of.Unit
		}
		cells *= of.Extents[from]
		extents[i], box[i], steps[i] = uint64(extent), uint32(n), 1
		strides[i] = uint64(cells * int64(of.Elem.Size())) // to the next on the axis after this one
	}
	if bytes := cells * int64(of.Elem.Size()); bytes > b.bytes {
		return nil, fmt.Errorf("a tensor map of %d bytes of a buffer of %d", bytes, b.bytes)
	}
	const noInterleave, noSwizzle, promoteTo256Bytes, fillWithZeros = 0, 0, 3, 0
	t := newTensorMap()
	if r := d.driver.EncodeTensor(t, kind, uint32(of.Axes), b.at, &extents[0], &strides[0], &box[0], &steps[0],
		noInterleave, noSwizzle, promoteTo256Bytes, fillWithZeros); r != 0 {
		return nil, verdict.For(verdict.Launch, d.fail(r, "cuTensorMapEncodeTiled",
			"a tensor map of %v elements of %d bytes, in boxes of %v, cannot be had", extents[:of.Axes], size,
			box[:of.Axes]))
	}
	return t, nil
}

// newTensorMap returns room for a tensor map where the driver wants it.
func newTensorMap() *tensorMap {
	storage := make([]byte, len(tensorMap{})+mapAlign-1)
	return (*tensorMap)(storage[-uintptr(unsafe.Pointer(&storage[0]))&(mapAlign-1):])
}
