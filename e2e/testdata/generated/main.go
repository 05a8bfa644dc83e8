// Command list asks a server by a client that was generated from the server's own
// description: all transactions of an address of a chain up to a block, ten to a page. It
// prints their hashes, one to a line, and at the end that an error is read as one.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"generated/client"
)

func main() {
	if err := list(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(ctx context.Context, url, chain, address, end string) error {
	c, err := client.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	block, err := strconv.ParseInt(end, 10, 64)
	if err != nil {
		return err
	}
	size, order := 10, client.ListTransactionsParamsSortOrderAsc
	params := &client.ListTransactionsParams{PageSize: &size, EndBlock: &block, SortOrder: &order}
	for {
		resp, err := c.ListTransactionsWithResponse(ctx, chain, address, params)
		if err != nil {
			return err
		}
		if resp.JSON200 == nil {
			return fmt.Errorf("%s: %s", resp.Status(), resp.Body)
		}
		for _, tx := range resp.JSON200.Transactions {
			fmt.Println(tx.NativeTransaction.TxHash)
		}
		if params.PageToken = resp.JSON200.NextPageToken; params.PageToken == nil {
			break
		}
	}
	resp, err := c.ListTransactionsWithResponse(ctx, "nosuch", address, params)
	if err != nil {
		return err
	}
	if resp.JSON404 == nil || resp.JSON404.StatusCode != 404 || resp.JSON404.Message == "" {
		return fmt.Errorf("%s: %s", resp.Status(), resp.Body)
	}
	fmt.Println("refused:", resp.JSON404.Message)
	return nil
}
