package session

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// Code is a hash of a kernel's generated code. It tells whether today's compiler makes the same of a configuration
// that was measured earlier. 0 is not known.
type Code uint64

// codeDigits are the hexadecimal digits of a code.
const codeDigits = 16

// CodeOf takes the code from the first digits of a longer hash.
func CodeOf(digest string) (Code, error) {
	if len(digest) < codeDigits {
		return 0, fmt.Errorf("%q is no hash of code: it has fewer than %d digits", digest, codeDigits)
	}
	n, err := strconv.ParseUint(digest[:codeDigits], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no hash of code: %w", digest, err)
	}
	return Code(n), nil
}

// String returns the hexadecimal digits.
func (c Code) String() string { return fmt.Sprintf("%0*x", codeDigits, uint64(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Code) UnmarshalText(text []byte) error {
	if len(text) > codeDigits {
		return fmt.Errorf("%q is no hash of code: it has more than %d digits", text, codeDigits)
	}
	var err error
	*c, err = CodeOf(string(text))
	return err
}

func (c Code) append(out []byte) []byte { return binary.LittleEndian.AppendUint64(out, uint64(c)) }
