package ledger

import (
	"context"
	"fmt"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/client"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/indexer"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	pgenesis "github.com/ava-labs/avalanchego/vms/platformvm/genesis"
	"github.com/ava-labs/avalanchego/vms/proposervm/block"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// A Ledger is what a network's chains hold.
type Ledger struct {
	NetworkID uint32
	AVAX      ids.ID
	P, X, C   *Chain
	// Genesis are the bytes that the P-Chain starts with.
	Genesis []byte

	*platform
	assets  map[ids.ID]*asset
	iClient *info.Client
	pClient *platformvm.Client
	xClient *avm.Client
	cClient client.Client
}

// A Chain is one chain's blocks and what they did to outputs.
type Chain struct {
	ID      ids.ID
	Alias   string // as in p-chain
	Blocks  []*Block
	Txs     []*Tx // in order
	tx      map[ids.ID]*Tx
	outputs map[ids.ID]*Output
	order   []*Output // in the order of their making
}

// A Block is one with its proposer's header.
type Block struct {
	Height, Time uint64
	ID, Parent   ids.ID
	Kind         string
	Size         int
	Txs          []*Tx
	// Node is that which signed, empty if none did.
	Node ids.NodeID
	// outer is the container; of an option, proposal is the one before it.
	outer, proposal block.Block
	// Supply, active validators of L1s and what one of them would have paid, after it.
	supply, active, fees uint64
}

// A Tx is a transaction with its effects.
type Tx struct {
	ID                ids.ID
	Block             *Block // nil: made by the genesis
	Kind              string
	Consumed, Emitted []*Output
	unsigned          any
	time              uint64
	height            uint64
	refunded          uint64 // of what a validator of an L1 had left
}

// An Output is one of a transaction, with what became of it.
type Output struct {
	avax.UTXO
	// Staked is what was staked and has not returned, Exported went to another chain.
	Staked, Exported bool
	// stake: it was or is one of a stake; made and spent are transactions.
	made, spent *Tx
	other       *ids.ID // where it went, or came from
	unseen      bool    // made by another chain: only how it was spent is known here
}

// Read reads the chains of the network of the node at url.
func Read(ctx context.Context, url string) (*Ledger, error) {
	raw, avaxID, err := genesis.FromConfig(&genesis.LocalConfig)
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		NetworkID: constants.LocalID, AVAX: avaxID, Genesis: raw,
		iClient: info.NewClient(url), pClient: platformvm.NewClient(url), xClient: avm.NewClient(url, "X"), cClient: client.NewCChainClient(url),
		assets: map[ids.ID]*asset{},
	}
	state, err := pgenesis.Parse(raw)
	if err != nil {
		return nil, err
	}
	l.P = newChain(constants.PlatformChainID, "p-chain")
	l.platform = newPlatform(l)
	if err := l.begin(ctx, state); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		chain *Chain
		index string
		take  func(context.Context, *Block, []byte) error
	}{{l.P, "P", l.platformBlock}, {l.X, "X", l.exchangeBlock}, {l.C, "C", l.contractBlock}} {
		if c.chain == l.X { // the first block is in no index
			raw, err := l.xClient.GetBlockByHeight(ctx, 0)
			if err != nil {
				return nil, err
			}
			first := &Block{}
			if err := l.exchangeBlock(ctx, first, raw); err != nil {
				return nil, err
			}
			l.X.Blocks = append(l.X.Blocks, first)
		}
		if err := l.read(ctx, url+"/ext/index/"+c.index+"/block", c.chain, c.take); err != nil {
			return nil, fmt.Errorf("%s: %w", c.chain.Alias, err)
		}
	}
	return l, nil
}

func newChain(id ids.ID, alias string) *Chain {
	return &Chain{ID: id, Alias: alias, tx: map[ids.ID]*Tx{}, outputs: map[ids.ID]*Output{}}
}

// read takes all containers of a chain's index.
func (l *Ledger) read(ctx context.Context, url string, c *Chain, take func(context.Context, *Block, []byte) error) error {
	const page = 500
	from := indexer.NewClient(url)
	outers := map[ids.ID]block.Block{}
	for next := uint64(0); ; {
		list, err := from.GetContainerRange(ctx, next, page)
		if err != nil {
			return err
		}
		for i := range list {
			b := &Block{}
			if b.outer, err = block.Parse(list[i].Bytes, c.ID); err != nil {
				return fmt.Errorf("container %d: %w", next+uint64(i), err)
			}
			outers[b.outer.ID()] = b.outer
			if signed, ok := b.outer.(block.SignedBlock); ok {
				b.Node = signed.Proposer()
			} else {
				b.proposal = outers[b.outer.ParentID()]
			}
			c.Blocks = append(c.Blocks, b)
			if err := take(ctx, b, b.outer.Block()); err != nil {
				return fmt.Errorf("container %d: %w", next+uint64(i), err)
			}
		}
		if len(list) < page {
			return nil
		}
		next += page
	}
}

// add notes a transaction of a block, or of the genesis.
func (c *Chain) add(tx *Tx, b *Block) {
	tx.Block = b
	if b != nil {
		tx.time, tx.height = b.Time, b.Height
		b.Txs = append(b.Txs, tx)
	}
	c.Txs = append(c.Txs, tx)
	c.tx[tx.ID] = tx
}

// make notes an output of a transaction.
func (c *Chain) make(tx *Tx, u *Output) *Output {
	u.made = tx
	c.outputs[u.InputID()] = u
	c.order = append(c.order, u)
	tx.Emitted = append(tx.Emitted, u)
	return u
}

// spend marks an output as spent.
func (c *Chain) spend(tx *Tx, id ids.ID) error {
	u := c.outputs[id]
	if u == nil || u.spent != nil || u.Staked || u.Exported {
		return fmt.Errorf("transaction %s spends %s, which is not there: %+v", tx.ID, id, u)
	}
	u.spent = tx
	tx.Consumed = append(tx.Consumed, u)
	return nil
}

// take spends an output that another chain made.
func (l *Ledger) take(c *Chain, tx *Tx, in *avax.TransferableInput, from ids.ID) {
	u := &Output{UTXO: avax.UTXO{UTXOID: in.UTXOID, Asset: in.Asset, Out: &secp256k1fx.TransferOutput{Amt: in.In.Amount()}}, unseen: true, other: &from, made: tx, spent: tx}
	c.outputs[in.InputID()] = u
	tx.Consumed = append(tx.Consumed, u)
}

// spendAll spends the outputs that inputs name.
func (c *Chain) spendAll(tx *Tx, ins []*avax.TransferableInput) error {
	for _, in := range ins {
		if err := c.spend(tx, in.InputID()); err != nil {
			return err
		}
	}
	return nil
}

// makeAll makes outputs whose indexes begin at first.
func (c *Chain) makeAll(tx *Tx, first int, outs []*avax.TransferableOutput, with func(*Output)) int {
	for _, out := range outs {
		u := &Output{UTXO: avax.UTXO{UTXOID: avax.UTXOID{TxID: tx.ID, OutputIndex: uint32(first)}, Asset: out.Asset, Out: out.Out}}
		if with != nil {
			with(u)
		}
		c.make(tx, u)
		first++
	}
	return first
}

// exported marks outputs as gone to a chain.
func exported(to ids.ID) func(*Output) {
	return func(u *Output) { u.Exported, u.other = true, &to }
}

// Height returns the height of a chain's last block.
func (c *Chain) Height() uint64 { return c.Blocks[len(c.Blocks)-1].Height }

// String counts what there is.
func (l *Ledger) String() string {
	return fmt.Sprintf("%d blocks and %d transactions of P, %d and %d of X, %d and %d of C, %d stakers, %d rewards, %d subnets, %d validators of L1s",
		len(l.P.Blocks), len(l.P.Txs), len(l.X.Blocks), len(l.X.Txs), len(l.C.Blocks), len(l.C.Txs), len(l.stakes), len(l.paidAll), len(l.subnets), len(l.joined))
}
