package index

import (
	"encoding/binary"
	"math"

	"github.com/holiman/uint256"

	store "quorate/engine/store/index"
)

// Block is a block as lists show it.
type Block struct {
	Header
	// Txs is the number of transactions up to the block, from the first block of the
	// chain's sums on: of all the chain's if that is its genesis block. Nil before it,
	// and while the sums are being made.
	Txs *uint64
}

// BlockFunc takes a block of a list and reports whether the page has room for more.
// The block is good until it returns.
type BlockFunc func(b *Block) (more bool)

// Blocks yields the blocks of the chain.
func (v *View) Blocks(p Page, take BlockFunc) ([]byte, error) {
	var out Block
	var n uint64 // transactions up to out, if it is counted
	l := list{prefix: v.at.key(store.TableBlocks), suffix: heightLen}
	l.take = func(suffix []byte, r *store.Rows) (bool, error) {
		above, last := out.TxCount, out.Txs
		number := binary.BigEndian.Uint64(suffix)
		err := r.Value(func(b []byte) (err error) {
			out.Header, err = decodeHeader(number, b)
			return err
		})
		if err == nil {
			err = v.addFees(&out.Header)
		}
		if err != nil {
			return false, err
		}
		switch out.Txs = &n; {
		case last == nil:
			if out.Txs, err = v.txsUpTo(number); err != nil {
				return false, err
			}
			if out.Txs != nil {
				n = *out.Txs
			}
		case p.Ascending:
			n += uint64(out.TxCount)
		case number < v.from[partSums]:
			out.Txs = nil
		default:
			n -= uint64(above)
		}
		return take(&out), nil
	}
	return v.read(&l, &p)
}

// BlockAt returns the block at a height as lists show it.
func (v *View) BlockAt(number uint64) (b Block, found bool, err error) {
	if b.Header, found, err = v.Block(number); err != nil || !found {
		return b, false, err
	}
	if err = v.addFees(&b.Header); err == nil {
		b.Txs, err = v.txsUpTo(number)
	}
	return b, err == nil, err
}

// txsUpTo returns the number of transactions up to a block, nil if it is not known.
func (v *View) txsUpTo(number uint64) (*uint64, error) {
	if !v.at.has(store.TableTxCounts) || number < v.from[partSums] {
		return nil, nil
	}
	var n uint64
	found, err := v.s.Get(v.at.key(store.TableTxCounts).u64(^number), func(b []byte) (err error) {
		n, err = decodeNumber(b)
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	return &n, nil
}

// addFees adds the fees of a block whose row does not say them.
func (v *View) addFees(h *Header) error {
	if h.Fees != nil {
		return nil
	}
	h.Fees = new(uint256.Int)
	var fee uint256.Int
	_, err := v.BlockTxs(h.Number, Page{Limit: math.MaxInt}, func(tx *Tx) bool {
		h.Fees.Add(h.Fees, fee.Mul(fee.SetUint64(tx.GasUsed), &tx.GasPrice))
		return true
	})
	return err
}
