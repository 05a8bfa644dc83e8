package client_test

import (
	"errors"
	"os"
	"testing"

	"quorate/client"
	"quorate/client/warp"
)

// A message's signatures are checked here, and no other message, set or quorum passes.
func TestVerify(t *testing.T) {
	t.Parallel()
	c := client.New(os.Getenv("QUORATE_URL"))
	text, err := c.Aggregate(t.Context(), "fuji", client.AggregateRequest{Message: facts.Signature.Messages[1]})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := warp.ParseHex("0x" + text)
	if err != nil {
		t.Fatal(err)
	}
	described, err := c.GetSigningValidators(t.Context(), "fuji", nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := warp.FromServer(described)
	if err != nil {
		t.Fatal(err)
	}
	if err := signed.Verify(set, 67); err != nil {
		t.Error(err)
	}
	if err := signed.Verify(set, 101); !errors.Is(err, warp.ErrInvalid) {
		t.Errorf("a quorum of 101%%: %v", err)
	}
	fewer := *signed
	fewer.Signers = signed.Signers[1:]
	if err := fewer.Verify(set, 1); !errors.Is(err, warp.ErrInvalid) {
		t.Errorf("without a signer: %v", err)
	}
	other := *signed
	other.Unsigned = append([]byte{}, signed.Unsigned...)
	other.Unsigned[len(other.Unsigned)-1] ^= 1
	if err := other.Verify(set, 67); !errors.Is(err, warp.ErrInvalid) {
		t.Errorf("another message: %v", err)
	}
	beyond := *signed
	beyond.Signers = []int{len(described.Validators)}
	if err := beyond.Verify(set, 0); !errors.Is(err, warp.ErrInvalid) {
		t.Errorf("a signer that is none: %v", err)
	}
}

// What a server refuses comes back with its status and its words.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := client.New(os.Getenv("QUORATE_URL"))
	_, err := c.Aggregate(t.Context(), "fuji", client.AggregateRequest{Message: "zz"})
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 400 || e.Message == "" || e.Temporary() {
		t.Errorf("no hex: %v", err)
	}
	if _, err := c.GetTransaction(t.Context(), "C", "0x"+string(make([]byte, 0))+"00000000000000000000000000000000000000000000000000000000000000ff"); !client.NotFound(err) {
		t.Errorf("an unknown transaction: %v", err)
	}
	for _, err := range c.ListTransactions(t.Context(), "no-such-chain", facts.Address, nil) {
		if !client.NotFound(err) {
			t.Errorf("an unknown chain: %v", err)
		}
	}
}

// Pages of any size make the same list, and an iterator can be used twice.
func TestPages(t *testing.T) {
	t.Parallel()
	c := client.New(os.Getenv("QUORATE_URL"))
	hashes := func(size int64) (list []string) {
		p := &client.ListTransfersParams{PageSize: size, StartBlock: 1, EndBlock: 200}
		transfers := c.ListTransfers(t.Context(), "C", facts.ERC20Token, p)
		for range 2 {
			list = nil
			for tr, err := range transfers {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, tr.TxHash)
			}
		}
		return list
	}
	all, few := hashes(100), hashes(7)
	if len(all) < 20 || len(all) != len(few) {
		t.Fatalf("%d transfers by 100, %d by 7", len(all), len(few))
	}
	for i := range all {
		if all[i] != few[i] {
			t.Errorf("transfer %d differs", i)
		}
	}
}
