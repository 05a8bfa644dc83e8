package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ava-labs/avalanchego/database/leveldb"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/indexer"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/snow/engine/avalanche/vertex"
	snowblock "github.com/ava-labs/avalanchego/snow/engine/snowman/block"
	"github.com/ava-labs/avalanchego/staking"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/formatting"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/vms/proposervm/block"
	"github.com/prometheus/client_golang/prometheus"
)

// signer is who signs headers.
type signer struct {
	cert *staking.Certificate
	key  crypto.Signer
}

// readSigners returns the validators of avalanchego's own local network.
func readSigners(release string) (list []signer, err error) {
	dir := filepath.Join(release, "staking", "local")
	for i := 1; i <= 5; i++ {
		name := filepath.Join(dir, "staker"+strconv.Itoa(i))
		pair, err := tls.LoadX509KeyPair(name+".crt", name+".key")
		if err != nil {
			return nil, err
		}
		cert, err := staking.ParseCertificate(pair.Certificate[0])
		if err != nil {
			return nil, err
		}
		list = append(list, signer{cert, pair.PrivateKey.(crypto.Signer)})
	}
	return list, nil
}

// history is what avalanchego's indexer keeps of the chains.
type history struct {
	indexer.Indexer
	mux                   *http.ServeMux
	client                http.Client
	from                  string
	signers               []signer
	blocks, vertices, txs snow.AcceptorGroup
}

// chainVM and dagVM say by their types whether a chain has vertices, which is all that
// the indexer asks of them.
type (
	chainVM struct{ snowblock.ChainVM }
	dagVM   struct {
		vertex.LinearizableVMWithEngine
	}
)

func newHistory(from, dir string, signers []signer) (*history, error) {
	db, err := leveldb.New(dir, nil, logging.NoLog{}, prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	log := logging.NoLog{}
	h := &history{
		mux: http.NewServeMux(), client: http.Client{Timeout: time.Minute}, from: from, signers: signers,
		blocks: snow.NewAcceptorGroup(log), vertices: snow.NewAcceptorGroup(log), txs: snow.NewAcceptorGroup(log),
	}
	h.Indexer, err = indexer.NewIndexer(indexer.Config{
		DB: db, Log: log, IndexingEnabled: true,
		BlockAcceptorGroup: h.blocks, TxAcceptorGroup: h.txs, VertexAcceptorGroup: h.vertices,
		APIServer: h, ShutdownF: func() {},
	})
	return h, err
}

// AddRoute has the server answer at a path, as avalanchego's own does.
func (h *history) AddRoute(handler http.Handler, base, endpoint string) error {
	h.mux.Handle("/ext/"+base+endpoint, handler)
	return nil
}

// AddAliases is not called by the indexer.
func (h *history) AddAliases(string, ...string) error { return nil }

// chains are what is read, by the paths of the Index API.
var chains = []struct {
	path, name string
	block      bool
}{{"P/block", "P", true}, {"X/vtx", "X", false}, {"X/block", "X", true}}

// load reads the origin's history into the index, and returns how many containers it has.
func (h *history) load(ctx context.Context) (count int, err error) {
	var names struct{ BlockchainID ids.ID }
	if err := h.ask(ctx, "/ext/info", "info.getBlockchainID", map[string]string{"alias": "X"}, &names); err != nil {
		return 0, err
	}
	of := make(map[string]*snow.ConsensusContext)
	for name, id := range map[string]ids.ID{"P": constants.PlatformChainID, "X": names.BlockchainID} {
		of[name] = &snow.ConsensusContext{Context: &snow.Context{SubnetID: constants.PrimaryNetworkID, ChainID: id, Log: logging.NoLog{}}}
	}
	h.RegisterChain("P", of["P"], chainVM{})
	h.RegisterChain("X", of["X"], dagVM{})
	for _, c := range chains { // those of transactions by themselves nobody reads
		to, change := h.blocks, h.resigned(of[c.name].ChainID)
		switch {
		case !c.block:
			to, change = h.vertices, same
		case len(h.signers) == 0:
			change = same
		}
		n, err := h.copy(ctx, c.path, func(id ids.ID, raw []byte) error {
			id, raw, err := change(id, raw)
			if err != nil {
				return err
			}
			return to.Accept(of[c.name], id, raw)
		})
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.path, err)
		}
		count += n
	}
	return count, nil
}

func same(id ids.ID, raw []byte) (ids.ID, []byte, error) { return id, raw, nil }

// resigned returns what signs the headers of a chain's blocks again, one after the other.
// It takes some milliseconds a block.
func (h *history) resigned(chainID ids.ID) func(ids.ID, []byte) (ids.ID, []byte, error) {
	renamed := make(map[ids.ID]ids.ID)
	signers := make(map[ids.NodeID]signer)
	return func(id ids.ID, raw []byte) (ids.ID, []byte, error) {
		b, err := block.ParseWithoutVerification(raw)
		if err != nil || b.ID() != id {
			return id, raw, nil // from before there were headers
		}
		parent := b.ParentID()
		if to, ok := renamed[parent]; ok {
			parent = to
		}
		signed, ok := b.(block.SignedBlock)
		var made block.Block
		switch {
		case !ok:
			made, err = block.BuildOption(parent, b.Block())
		case signed.Proposer() == ids.EmptyNodeID:
			made, err = block.BuildUnsigned(parent, signed.Timestamp(), signed.PChainHeight(), signed.PChainEpoch(), b.Block())
		default:
			by, ok := signers[signed.Proposer()]
			if !ok {
				by = h.signers[len(signers)%len(h.signers)]
				signers[signed.Proposer()] = by
			}
			made, err = block.Build(parent, signed.Timestamp(), signed.PChainHeight(), signed.PChainEpoch(), by.cert, b.Block(), chainID, by.key)
		}
		if err != nil {
			return id, nil, err
		}
		renamed[id] = made.ID()
		return made.ID(), made.Bytes(), nil
	}
}

// copy hands over the containers that an index of the origin has.
func (h *history) copy(ctx context.Context, path string, take func(ids.ID, []byte) error) (count int, err error) {
	var last struct {
		Index string `json:"index"`
	}
	if err := h.ask(ctx, "/ext/index/"+path, "index.getLastAccepted", map[string]string{"encoding": "hex"}, &last); err != nil {
		return 0, err
	}
	end, err := strconv.Atoi(last.Index)
	if err != nil {
		return 0, err
	}
	for count <= end {
		var page struct {
			Containers []struct {
				ID    ids.ID `json:"id"`
				Bytes string `json:"bytes"`
			} `json:"containers"`
		}
		args := map[string]string{"startIndex": strconv.Itoa(count), "numToFetch": strconv.Itoa(indexer.MaxFetchedByRange), "encoding": "hex"}
		if err := h.ask(ctx, "/ext/index/"+path, "index.getContainerRange", args, &page); err != nil {
			return 0, err
		}
		if len(page.Containers) == 0 {
			return 0, fmt.Errorf("nothing from %d on, of %d", count, end)
		}
		for _, c := range page.Containers {
			raw, err := formatting.Decode(formatting.Hex, c.Bytes)
			if err != nil {
				return 0, err
			}
			if err := take(c.ID, raw); err != nil {
				return 0, err
			}
			count++
		}
	}
	return count, nil
}

// ask calls a method of the origin.
func (h *history) ask(ctx context.Context, path, method string, args, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.from+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := struct {
		Result any
		Error  *struct{ Message string }
	}{Result: result}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", method, res.Status, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	return nil
}
