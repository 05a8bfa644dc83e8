// Package selector names the function that a transaction's input calls: by the
// first four bytes, which are those of the hash of the function's signature.
package selector

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"quorate/engine/chain/evm"
)

const (
	// Len is the length of a selector in bytes.
	Len = 4
	// maxSignature bounds a signature of a file in bytes.
	maxSignature = 1 << 10
	// maxEntries bounds a file: all that are publicly known are under 2 million.
	maxEntries = 4 << 20
)

// Errors of Load.
var (
	// ErrForm: a line is not a selector and a signature.
	ErrForm = errors.New("malformed line")
	// ErrMismatch: the signature's selector is another.
	ErrMismatch = errors.New("signature of another selector")
	// ErrTooMany: the file has more lines than are ever needed.
	ErrTooMany = errors.New("too many signatures")
)

// Table knows signatures by selector. Load it before use; then it is safe for
// concurrent use.
type Table struct {
	names map[[Len]byte]string
}

// New returns a table of the common functions.
func New() *Table {
	t := &Table{names: make(map[[Len]byte]string, 256)}
	for line := range strings.Lines(common) {
		if signature := strings.TrimSpace(line); signature != "" {
			t.names[Of(signature)] = signature
		}
	}
	return t
}

// Of returns the selector of a signature, for example of transfer(address,uint256).
func Of(signature string) (s [Len]byte) {
	h := evm.Keccak([]byte(signature))
	copy(s[:], h[:])
	return s
}

// Len is the number of signatures.
func (t *Table) Len() int { return len(t.names) }

// MethodName returns the selector that an input begins with and the function's
// signature, empty if it is not known. Inputs of less than four bytes call no
// function: of them both are zero.
func (t *Table) MethodName(input []byte) (hash [Len]byte, name string) {
	if len(input) < Len {
		return hash, ""
	}
	copy(hash[:], input)
	return hash, t.names[hash]
}

// Load adds the signatures of a file in the form of the public collections: in
// each line a selector as eight hex digits, with or without 0x, white space, and a
// signature; or further signatures with the same selector, set apart by
// semicolons, of which the first counts. Empty lines and such as begin with # are
// passed over. What is built in stays as it is. On an error nothing is added.
func (t *Table) Load(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	found := make(map[[Len]byte]string)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		s, signature, err := parse(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if _, known := found[s]; !known {
			found[s] = signature
		}
		if len(found) > maxEntries {
			return fmt.Errorf("%w: more than %d", ErrTooMany, maxEntries)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read signatures: %w", err)
	}
	for s, signature := range found {
		if _, known := t.names[s]; !known {
			t.names[s] = signature
		}
	}
	return nil
}

func parse(line string) (s [Len]byte, signature string, err error) {
	digits, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	signature, _, _ = strings.Cut(rest, ";")
	signature = strings.TrimSpace(signature)
	digits = strings.TrimPrefix(digits, "0x")
	if b, hexErr := hex.DecodeString(digits); hexErr != nil || len(b) != Len {
		return s, "", fmt.Errorf("%w: want a selector of 8 hex digits and a signature, got %.60q", ErrForm, line)
	} else {
		s = [Len]byte(b)
	}
	if !isSignature(signature) {
		return s, "", fmt.Errorf("%w: no function signature: %.60q", ErrForm, signature)
	}
	if Of(signature) != s {
		return s, "", fmt.Errorf("%w: %s is not %s", ErrMismatch, digits, signature)
	}
	return s, signature, nil
}

// isSignature reports whether s is a name, and in brackets what may stand in a list of types.
func isSignature(s string) bool {
	open := strings.IndexByte(s, '(')
	if open < 1 || len(s) > maxSignature || s[len(s)-1] != ')' {
		return false
	}
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', c == '$', c >= '0' && c <= '9' && i > 0:
			if i > open && depth == 0 {
				return false
			}
		case i < open:
			return false
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		case c == ',', c == '[', c == ']':
			if depth == 0 {
				return false
			}
		default:
			return false
		}
	}
	return depth == 0
}
