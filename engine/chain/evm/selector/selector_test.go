package selector

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCommon(t *testing.T) {
	t.Parallel()
	table := New()
	lines := 0
	for line := range strings.Lines(common) {
		signature := strings.TrimSpace(line)
		if signature == "" {
			continue
		}
		lines++
		if !isSignature(signature) {
			t.Errorf("%q is not a signature", signature)
		}
	}
	if table.Len() != lines {
		t.Errorf("%d selectors of %d signatures", table.Len(), lines)
	}
	// Selectors as they are known from elsewhere.
	for digits, want := range map[string]string{
		"a9059cbb": "transfer(address,uint256)",
		"23b872dd": "transferFrom(address,address,uint256)",
		"095ea7b3": "approve(address,uint256)",
		"70a08231": "balanceOf(address)",
		"42842e0e": "safeTransferFrom(address,address,uint256)",
		"f242432a": "safeTransferFrom(address,address,uint256,uint256,bytes)",
		"d0e30db0": "deposit()",
		"2e1a7d4d": "withdraw(uint256)",
		"38ed1739": "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
		"a2a1623d": "swapExactAVAXForTokens(uint256,address[],address,uint256)",
		"ac9650d8": "multicall(bytes[])",
		"ee5b48eb": "sendWarpMessage(bytes)",
		"6a761202": "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
		"deadbeef": "",
	} {
		input, err := hex.DecodeString(digits + "00000000")
		if err != nil {
			t.Fatal(err)
		}
		hash, name := table.MethodName(input)
		if name != want || hex.EncodeToString(hash[:]) != digits {
			t.Errorf("%s: got %x %q, want %q", digits, hash, name, want)
		}
	}
	for _, short := range [][]byte{nil, {0xa9}, {0xa9, 0x05, 0x9c}} {
		if hash, name := table.MethodName(short); name != "" || hash != [Len]byte{} {
			t.Errorf("%x: got %x %q", short, hash, name)
		}
	}
}

func line(signature string) string {
	s := Of(signature)
	return fmt.Sprintf("%x %s\n", s, signature)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	table := New()
	before := table.Len()
	file := "# a comment\n\n" + line("foo(uint8)") + "0x" + strings.Replace(line("bar((int256,bytes)[2][],string)"), " ", "\t", 1) +
		strings.TrimSpace(line("baz()")) + ";other()\n" + line("transfer(address,uint256)")
	if err := table.Load(strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if table.Len() != before+3 {
		t.Errorf("%d signatures, want %d", table.Len(), before+3)
	}
	for _, signature := range []string{"foo(uint8)", "bar((int256,bytes)[2][],string)", "baz()"} {
		s := Of(signature)
		if _, name := table.MethodName(s[:]); name != signature {
			t.Errorf("%x: got %q, want %q", s, name, signature)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"a9059cbb":                        ErrForm,
		"a9059c foo()":                    ErrForm,
		"a9059cbb00 foo()":                ErrForm,
		"xyz foo()":                       ErrForm,
		"a9059cbb foo":                    ErrForm,
		"a9059cbb ()":                     ErrForm,
		"a9059cbb foo(":                   ErrForm,
		"a9059cbb foo)(":                  ErrForm,
		"a9059cbb foo()bar()":             ErrForm,
		"a9059cbb foo(\"<script>\")":      ErrForm,
		"a9059cbb 1foo()":                 ErrForm,
		"a9059cbb foo(a b)":               ErrForm,
		"a9059cbb transfer(address,uint)": ErrMismatch,
		line("ok()") + "a9059cbb other()": ErrMismatch,
		"a9059cbb " + strings.Repeat("a", 5000) + "()": ErrForm,
	} {
		table := New()
		before := table.Len()
		if err := table.Load(strings.NewReader(text)); !errors.Is(err, want) {
			t.Errorf("%.60q: error %v, want %v", text, err, want)
		}
		if table.Len() != before {
			t.Errorf("%.60q: added in spite of the error", text)
		}
	}
	if err := New().Load(strings.NewReader(strings.Repeat("a", 2<<20))); err == nil {
		t.Error("a line without end was read")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(line("foo(uint8)")))
	f.Add([]byte("# x\n0xa9059cbb\ttransfer(address,uint256)"))
	f.Fuzz(func(t *testing.T, file []byte) {
		table := &Table{names: map[[Len]byte]string{}}
		if table.Load(bytes.NewReader(file)) != nil {
			return
		}
		for s, signature := range table.names {
			if Of(signature) != s || !isSignature(signature) {
				t.Errorf("%x: %q", s, signature)
			}
		}
	})
}

func BenchmarkMethodName(b *testing.B) {
	table := New()
	input := []byte{0xa9, 0x05, 0x9c, 0xbb, 0}
	b.ReportAllocs()
	for b.Loop() {
		if _, name := table.MethodName(input); name == "" {
			b.Fatal("not found")
		}
	}
}
