package vm

import (
	"bytes"
	"path/filepath"
	"strings"
	"unicode"
)

const (
	// maxText bounds, in bytes, what is kept of a plugin's words: of each output
	// stream its end, of anything else its beginning.
	maxText = 4 << 10
	// maxLine bounds one line of them within the cause of a failure.
	maxLine = 256
	// maxVersion bounds a version in bytes.
	maxVersion = 256
)

// clean makes text of a plugin fit to be shown: valid UTF-8 of at most limit
// bytes without control characters.
func clean(s string, limit int) string {
	s = strings.ToValidUTF8(s[:min(len(s), limit)], "")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s))
}

// hide takes the folder out of s.
func hide(s, dir string) string {
	if dir == "" || dir == string(filepath.Separator) {
		return s
	}
	return strings.ReplaceAll(s, dir+string(filepath.Separator), "")
}

// validVersion reports whether a version can be shown as it is.
func validVersion(s string) bool {
	return len(s) <= maxVersion && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// tail keeps the end of what is written to it, at most maxText bytes, however
// much it is. The zero value is empty.
type tail struct {
	buf  [maxText]byte
	next int  // where the next byte goes
	full bool // whether buf has been filled once
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > maxText {
		p = p[len(p)-maxText:]
	}
	for len(p) > 0 {
		k := copy(t.buf[t.next:], p)
		p = p[k:]
		t.next += k
		if t.next == maxText {
			t.next, t.full = 0, true
		}
	}
	return n, nil
}

// String returns what is kept.
func (t *tail) String() string {
	if !t.full {
		return string(t.buf[:t.next])
	}
	return string(t.buf[t.next:]) + string(t.buf[:t.next])
}

// lastLine returns the last line that is not blank, fit to be shown.
func (t *tail) lastLine() string {
	kept := bytes.TrimSpace([]byte(t.String()))
	return clean(string(kept[bytes.LastIndexByte(kept, '\n')+1:]), maxLine)
}
