package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/crypto/bls"

	"quorate/e2e/quorate"
)

const (
	commandWait = 30 * time.Second
	// flipSample is the number of positions, spread evenly over the message, that
	// are flipped in addition to those at the edges of each field.
	flipSample = 60
	// exitFailed is the exit code of a command that did not succeed.
	exitFailed = 1
)

// TestCommandLine uses the client-side commands as a person would, and checks that
// verify rejects whatever is not exactly a signed message.
func TestCommandLine(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	messages := w.emit(t, 2)
	unsigned := messages[0].Unsigned

	r := command(t, "aggregate", hex.EncodeToString(unsigned), "--url", s.URL,
		"--quorum", strconv.Itoa(quorum), "--buffer", strconv.Itoa(fullBuffer))
	if r.Code != 0 {
		t.Fatalf("aggregate: exit code %d: %s", r.Code, r.Stderr)
	}
	signed, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(r.Stdout), "0x"))
	if err != nil {
		t.Fatalf("aggregate printed %q: %v", r.Stdout, err)
	}
	wantSigners(t, w, mustVerify(t, w.oracle, signed, unsigned), -1)

	accept := func(name string, signed []byte) {
		t.Helper()
		if r := w.verifyCommand(t, signed); r.Code != 0 || !strings.Contains(r.Stdout, "valid") {
			t.Errorf("%s: verify gave exit code %d, %s%s", name, r.Code, r.Stdout, r.Stderr)
		}
	}
	reject := func(name string, signed []byte) {
		t.Helper()
		if r := w.verifyCommand(t, signed); r.Code != exitFailed || r.Stderr == "" {
			t.Errorf("%s: verify gave exit code %d, want %d with a reason: %s%s", name, r.Code, exitFailed, r.Stdout, r.Stderr)
		}
	}
	accept("the answer of aggregate", signed)
	accept("four of five signers", w.signLocally(t, unsigned, 4))
	reject("three of five signers", w.signLocally(t, unsigned, 3))
	reject("one byte less", signed[:len(signed)-1])
	reject("one byte more", append(bytes.Clone(signed), 0))
	other := append(bytes.Clone(messages[1].Unsigned), signed[len(unsigned):]...)
	reject("signature of another message", other)

	positions := flipPositions(len(unsigned), len(signed))
	for _, p := range positions {
		flipped := bytes.Clone(signed)
		flipped[p] ^= 1 << (p % 8)
		reject(fmt.Sprintf("bit %d of byte %d flipped", p%8, p), flipped)
	}
	t.Logf("verify rejected one flipped bit at each of %d positions of %d bytes", len(positions), len(signed))
}

// flipPositions returns the first and last byte of every field of a signed message,
// and a sample of the rest, in order.
func flipPositions(unsigned, signed int) []int {
	// Where each field starts, see the layout of warp messages and addressed calls.
	fields := []int{0, 2, 6, 38, 42, 44, 48, 52, 72, 76, unsigned, unsigned + 4, unsigned + 8, signed - bls.SignatureLen, signed}
	chosen := make([]bool, signed)
	for _, start := range fields {
		if start > 0 {
			chosen[start-1] = true
		}
		if start < signed {
			chosen[start] = true
		}
	}
	for i := range flipSample {
		chosen[i*signed/flipSample] = true
	}
	var positions []int
	for p, ok := range chosen {
		if ok {
			positions = append(positions, p)
		}
	}
	return positions
}

func (w *world) verifyCommand(t *testing.T, signed []byte) quorate.Result {
	t.Helper()
	return command(t, "verify", hex.EncodeToString(signed), "--node-url", w.entry())
}

func command(t *testing.T, args ...string) quorate.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandWait)
	defer cancel()
	r, err := quorate.Run(ctx, product(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
