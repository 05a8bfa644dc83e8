package client_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"quorate/client"
	"quorate/client/warp"
)

// A relayer: it takes each interchain message as it is signed, checks the signatures by itself
// and hands the message to its destination.
func Example_relayer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(os.Getenv("QUORATE_URL"))

	// From block 1 on; a real one keeps the ID of the last event and goes on there.
	for event, err := range c.Events(ctx, client.StreamEventsParams{Topics: []string{"messages"}, ChainID: []string{"C"}, StartBlock: 1}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if event.Name != "message" {
			continue
		}
		var m client.Message
		if err := event.Decode(&m); err != nil || m.Message.Error != "" {
			fmt.Println(err, m.Message.Error)
			return
		}
		signed, err := warp.ParseHex(m.Message.SignedMessage)
		if err != nil {
			fmt.Println(err)
			return
		}
		validators, err := c.GetSigningValidators(ctx, "fuji", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		set, err := warp.FromServer(validators)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("for network", signed.NetworkID, "valid:", signed.Verify(set, 67) == nil)
		return // a real one delivers it, and takes the next
	}
	// Output: for network 12345 valid: true
}

// One message, asked for as it is needed.
func ExampleClient_Aggregate() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(os.Getenv("QUORATE_URL"))
	signed, err := c.Aggregate(ctx, "fuji", client.AggregateRequest{Message: facts.Signature.Messages[0], QuorumPercentage: 67})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := warp.ParseHex(signed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("network", m.NetworkID, "signed:", len(m.Signers) > 0)
	// Output: network 12345 signed: true
}

// The newest transactions of an address: pages are read as they are needed.
func ExampleClient_ListTransactions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(os.Getenv("QUORATE_URL"))
	count := 0
	for tx, err := range c.ListTransactions(ctx, "C", facts.Address, &client.ListTransactionsParams{PageSize: 10}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if count++; tx.NativeTransaction.TxHash == "" || count == 25 {
			break
		}
	}
	fmt.Println(count, "transactions")
	// Output: 25 transactions
}
