package network

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
)

// TestExecuted: a message is known once, from its first block on, and the
// P-Chain's state from its last block on, while somebody watches.
func TestExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newExecuted()
		m, err := warp.New(12345, chain.ID{0xc}, []byte("payload"))
		if err != nil {
			t.Fatal(err)
		}
		state, err := warp.L1ValidatorRegistration(12345, chain.ID{1}, true)
		if err != nil {
			t.Fatal(err)
		}
		want := func(m *warp.Unsigned, ago time.Duration) {
			t.Helper()
			at, ok := a.Executed(m)
			if ok != (ago >= 0) || ok && time.Since(at) != ago {
				t.Errorf("executed %v ago, %v; want %v", time.Since(at), ok, ago)
			}
		}
		want(m, -1)
		want(state, -1)
		a.message(m.ID(), time.Now())
		a.observe(7)
		<-time.After(time.Second)
		want(m, time.Second)
		want(state, time.Second)
		a.message(m.ID(), time.Now()) // in another block
		a.observe(7)
		want(m, time.Second)
		want(state, time.Second)
		a.observe(6) // of another node, which is behind
		want(state, time.Second)
		a.observe(8)
		want(state, 0)
		<-time.After(platformStale)
		want(state, -1)
		for i := range maxExecuted + 10 {
			var id chain.ID
			binary.BigEndian.PutUint64(id[:], uint64(i))
			a.message(id, time.Now())
		}
		if n := a.messages.Len(); n != maxExecuted {
			t.Errorf("%d messages are remembered", n)
		}
		want(m, -1)
	})
}

// warpLog is the log of the precompile that sends a message.
func warpLog(msg []byte) evm.Log {
	data := make([]byte, 64, 64+(len(msg)+31)/32*32)
	data[31], data[62], data[63] = 32, byte(len(msg)>>8), byte(len(msg))
	data = append(data, msg...)
	return evm.Log{
		Address: evm.Address{0: 0x02, 19: 0x05},
		Topics:  []evm.Hash{evm.Keccak([]byte("SendWarpMessage(address,bytes32,bytes)")), {}, {}},
		Data:    data[:cap(data)],
	}
}

// TestExecutedLate: where blocks are executed after they were accepted they wait for it for
// up to half a minute, and validators refuse with other codes once all of them do.
func TestExecutedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, sync, later := newExecuted(), chain.ID{1}, chain.ID{2}
		emit := func(source chain.ID, age time.Duration, reserved *evm.Reserved, want time.Duration) {
			t.Helper()
			m, err := warp.New(12345, source, []byte(age.String()))
			if err != nil {
				t.Fatal(err)
			}
			a.block(source, &evm.Block{
				TimeMilli: uint64(time.Now().Add(-age).UnixMilli()), Reserved: reserved,
				Txs: []evm.Tx{{Logs: []evm.Log{warpLog(m.Bytes())}}},
			})
			if at, ok := a.Executed(m); !ok || time.Since(at) != want {
				t.Errorf("a block of %v ago: executed %v ago, %v; want %v", age, time.Since(at), ok, want)
			}
		}
		emit(sync, 10*time.Second, nil, 0)
		emit(sync, 11*time.Second, nil, 11*time.Second)
		emit(later, 11*time.Second, &evm.Reserved{}, 0)
		emit(later, 40*time.Second, &evm.Reserved{}, 0)
		emit(later, 41*time.Second, &evm.Reserved{}, 41*time.Second)
		for _, passed := range []bool{false, true} {
			if a.Later(sync) || a.Later(later) != passed {
				t.Errorf("executed later: %v, %v; a minute has passed: %v", a.Later(sync), a.Later(later), passed)
			}
			<-time.After(swapLag - 41*time.Second)
		}
	})
}
