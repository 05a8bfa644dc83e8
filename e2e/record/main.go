// Command record runs a local network, has its P- and its X-Chain accept transactions
// of most types, and writes what the Index API returns of both, with each block's
// JSON, to the files that quorate's codecs are tested with. Keys and times differ each
// time, so it is run by hand after a change of avalanchego:
//
//	cd e2e && go run ./record
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ava-labs/avalanchego/indexer"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/libevm/common/hexutil"

	"quorate/e2e/author"
	"quorate/e2e/localnet"
	"quorate/e2e/proc"
)

// Recording is what one chain's index holds.
type Recording struct {
	Chain      string      `json:"chain"`
	Containers []Container `json:"containers"`
}

// Container is a block with its header.
type Container struct {
	ID    string          `json:"id"`
	Bytes hexutil.Bytes   `json:"bytes"`
	JSON  json.RawMessage `json:"json"` // of the block without the header
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "quorate-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	spawner := proc.NewSpawner()
	defer spawner.Close()
	release, err := localnet.Build(ctx, os.Stderr)
	if err != nil {
		return err
	}
	network, err := localnet.Start(ctx, localnet.Config{Nodes: localnet.MaxNodes, Release: release, Dir: dir, Spawner: spawner, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer network.Close()
	node := network.Nodes[0]
	a, err := author.New(ctx, node.URL)
	if err != nil {
		return err
	}
	if err := a.Issue(node.NodeID); err != nil {
		return err
	}
	for alias, folder := range map[string]string{"P": "platform", "X": "avm"} {
		r, err := record(ctx, node.URL, alias)
		if err != nil {
			return err
		}
		if r.Chain = a.XChain.String(); alias == "P" {
			r.Chain = constants.PlatformChainID.String()
		}
		fmt.Fprintf(os.Stderr, "record: %d blocks of the %s-Chain\n", len(r.Containers), alias)
		if err := write(r, folder); err != nil {
			return err
		}
	}
	return nil
}

// record reads all blocks of a chain.
func record(ctx context.Context, url, alias string) (*Recording, error) {
	list, err := indexer.NewClient(url+"/ext/index/"+alias+"/block").GetContainerRange(ctx, 0, 1000)
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", alias, err)
	}
	r, service := new(Recording), map[string]string{"P": "platform", "X": "avm"}[alias]
	for i, c := range list {
		var reply struct {
			Result struct{ Block json.RawMessage }
		}
		args := map[string]any{"height": fmt.Sprint(i + 1), "encoding": "json"} // the index starts behind the genesis block
		if err := call(ctx, url+"/ext/bc/"+alias, service+".getBlockByHeight", args, &reply); err != nil {
			return nil, err
		}
		r.Containers = append(r.Containers, Container{c.ID.String(), c.Bytes, reply.Result.Block})
	}
	return r, nil
}

func call(ctx context.Context, url, method string, args, reply any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(reply)
}

func write(r *Recording, folder string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("..", "engine", "chain", folder, "testdata", "recorded.json"), b.Bytes(), 0o644)
}
