package aggregator

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

func TestParseRecordRejects(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	set, msg := peers.validatorSet(t, 1), message(t, 1)
	for _, b := range [][]byte{nil, {1}, make([]byte, recordHead), append(make([]byte, recordHead), 0xff)} {
		if _, err := parseRecord(b, msg, set); !errors.Is(err, errRecord) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// FuzzParseRecord: whatever lies on the disk is refused or gives a record that
// reads back the same.
func FuzzParseRecord(f *testing.F) {
	peers := newFakePeers(equal(20)...)
	set, msg := peers.validatorSet(f, 1), message(f, 1)
	for _, list := range [][]int{{0}, {19}, {0, 7, 8, 15}, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}} {
		signers := warp.NewBits(20)
		var sigs []*bls.Signature
		for _, i := range list {
			signers.Set(i)
			raw := peers.byID[set.Validators[i].NodeIDs[0]].key.Sign(msg.Bytes())
			s, err := bls.DecodeSignature(raw[:])
			if err != nil {
				f.Fatal(err)
			}
			sigs = append(sigs, s)
		}
		sum := bls.SumSignatures(sigs)
		record := newKept(msg, set, signers, sum.Bytes(), 67, time.Unix(1_700_000_000, 0)).record()
		f.Add(record)
		f.Add(record[:len(record)-1])
		f.Add(append(record, 0))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := parseRecord(b, msg, set)
		if err != nil {
			if !errors.Is(err, errRecord) {
				t.Error(err)
			}
			return
		}
		if k.result.Weight == 0 || k.result.Weight > k.result.Total || k.signers.Count() == 0 {
			t.Errorf("weight %d of %d", k.result.Weight, k.result.Total)
		}
		if got := k.record(); !bytes.Equal(got, b) {
			t.Errorf("reads back as %x, was %x", got, b)
		}
		if _, err := warp.ParseSigned(k.result.Signed); err != nil {
			t.Error(err)
		}
	})
}

// FuzzDeliver: whatever a validator sends as its signature becomes one event,
// a signature that reads back the same or a lie of a known kind.
func FuzzDeliver(f *testing.F) {
	peers := newFakePeers(equal(4)...)
	set := peers.validatorSet(f, 1)
	own := peers.vals[2].key.Sign(message(f, 1).Bytes())
	for _, seed := range [][]byte{nil, {1}, own[:], own[:95], append(own[:], 0), outsideSubgroup(f), append([]byte{0xc0}, make([]byte, 95)...)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sig []byte) {
		j := &job{set: set, box: actor.NewMailbox[event](4, actor.Shed)}
		j.deliver(Answer{From: peers.vals[2].id, Signature: sig})
		j.deliver(Answer{From: chain.NodeID{0xff}, Signature: sig}) // of no validator
		got := j.box.Drain(nil)
		if len(got) != 1 {
			t.Fatalf("%d events", len(got))
		}
		i, _ := set.Index(peers.vals[2].id)
		ev := got[0]
		switch {
		case int(ev.voter) != i:
			t.Errorf("of validator %d, not %d", ev.voter, i)
		case ev.kind == evAnswer:
			sum := bls.SumSignatures([]*bls.Signature{&ev.part.sig})
			if again := sum.Bytes(); !bytes.Equal(again[:], sig) || !bytes.Equal(ev.part.raw[:], sig) {
				t.Errorf("%x reads back as %x", sig, again)
			}
		case ev.kind != evLie || (ev.lie == "length") != (len(sig) != bls.SignatureLen) || ev.lie == "":
			t.Errorf("%x: %+v", sig, ev)
		}
	})
}
