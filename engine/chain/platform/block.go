package platform

import (
	"crypto/sha256"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
)

// BlockKind is the type ID of a block.
type BlockKind uint32

// The kinds of blocks. Apricot's have no time of their own: transactions move the
// chain's. The numbers are those of the encoding.
const (
	ApricotProposal BlockKind = 0
	ApricotAbort    BlockKind = 1
	ApricotCommit   BlockKind = 2
	ApricotStandard BlockKind = 3
	ApricotAtomic   BlockKind = 4
	BanffProposal   BlockKind = 29
	BanffAbort      BlockKind = 30
	BanffCommit     BlockKind = 31
	BanffStandard   BlockKind = 32
)

var blockNames = map[BlockKind]string{
	ApricotProposal: "ApricotProposalBlock", ApricotAbort: "ApricotAbortBlock", ApricotCommit: "ApricotCommitBlock",
	ApricotStandard: "ApricotStandardBlock", ApricotAtomic: "ApricotAtomicBlock",
	BanffProposal: "BanffProposalBlock", BanffAbort: "BanffAbortBlock", BanffCommit: "BanffCommitBlock", BanffStandard: "BanffStandardBlock",
}

func (k BlockKind) known() bool {
	return k <= ApricotAtomic || k >= BanffProposal && k <= BanffStandard
}

// Banff reports whether blocks of the kind have a time.
func (k BlockKind) Banff() bool { return k >= BanffProposal }

// Option reports whether blocks of the kind decide about the proposal before them.
func (k BlockKind) Option() bool {
	return k == ApricotAbort || k == ApricotCommit || k == BanffAbort || k == BanffCommit
}

// Proposal reports whether an option follows blocks of the kind.
func (k BlockKind) Proposal() bool { return k == ApricotProposal || k == BanffProposal }

// String returns avalanchego's name, as in BanffStandardBlock.
func (k BlockKind) String() string {
	if s, ok := blockNames[k]; ok {
		return s
	}
	return fmt.Sprintf("block type %d", uint32(k))
}

// Block is a block of the P-Chain, without the proposer's header around it.
type Block struct {
	// ID is the SHA-256 of the block's bytes. Size is their number.
	ID   chain.ID
	Size int

	Kind   BlockKind
	Parent chain.ID
	Height uint64
	Time   uint64 // Unix seconds; zero before Banff
	// Txs are the transactions in the order in which they take effect. The last
	// one of a proposal is what is proposed; options have none.
	Txs []Tx

	raw []byte // that it was read from; nil: it was made otherwise
}

// Proposed returns what a proposal proposes, or nil for other kinds.
func (b *Block) Proposed() *Tx {
	if !b.Kind.Proposal() || len(b.Txs) == 0 {
		return nil
	}
	return &b.Txs[len(b.Txs)-1]
}

// ParseBlock reads a block without the proposer's header.
func ParseBlock(raw []byte) (*Block, error) {
	b := &Block{ID: sha256.Sum256(raw), Size: len(raw), raw: raw}
	if err := codec.Decode(raw, version, codec.MaxLen, b.code); err != nil {
		return nil, fmt.Errorf("P-Chain block: %w", err)
	}
	return b, nil
}

// Bytes returns the form that [ParseBlock] reads.
func (b *Block) Bytes() ([]byte, error) { return codec.Append(nil, version, b.code) }

// Raw returns what [Block.Bytes] returns. Of a block that was read it is what was: it must
// not have been changed.
func (b *Block) Raw() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	return b.Bytes()
}

func (b *Block) code(c *codec.Coder) {
	codec.Type(c, &b.Kind, BlockKind.known)
	if c.Err() != nil {
		return
	}
	if b.Kind.Banff() {
		c.Uint64(&b.Time)
	}
	var first []Tx // of a Banff proposal: those before what is proposed
	if b.Kind == BanffProposal {
		if n := len(b.Txs); n > 0 {
			first = b.Txs[:n-1]
		}
		codeTxs(c, &first)
	}
	c.Fixed(b.Parent[:])
	c.Uint64(&b.Height)
	switch b.Kind {
	case ApricotStandard, BanffStandard:
		codeTxs(c, &b.Txs)
	case ApricotProposal, ApricotAtomic, BanffProposal:
		b.codeLast(c, first)
	default:
		if len(b.Txs) > 0 {
			c.Fail(fmt.Errorf("%w: transactions in an option", codec.ErrValue))
		}
	}
}

// codeLast reads or writes the one transaction that stands without a list, behind
// those that were read already.
func (b *Block) codeLast(c *codec.Coder, first []Tx) {
	if c.Reading() {
		b.Txs = append(first, Tx{})
	}
	if len(b.Txs) != len(first)+1 {
		c.Fail(fmt.Errorf("%w: %d transactions in a block for one", codec.ErrValue, len(b.Txs)))
		return
	}
	codeTx(c, &b.Txs[len(b.Txs)-1])
}
