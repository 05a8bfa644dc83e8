package rollup

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/holiman/uint256"
)

// Record has all figures of one bucket. Times are in Unix seconds.
type Record struct {
	// Untraced: a block with transactions up to the bucket's end was not traced.
	Untraced bool
	Blocks   uint64
	// Prev is the time of the last block before the bucket. If there is none, it is
	// that of the genesis block if this is of the same day as the first block, or
	// else that of the first block. Last is that of the last block in the bucket.
	Prev, Last uint64

	Txs                uint64
	Addresses, Senders uint64 // distinct
	Contracts          uint64
	Deployers          uint64      // distinct
	Gas                uint256.Int // of transactions, below 2^128
	BlockGas           uint256.Int // of blocks, below 2^128
	PriceSum           uint256.Int // of the transactions' gas prices, wei
	MaxPrice           uint256.Int
	Fees               uint256.Int // wei
	MaxTxs, MaxGas     Rate
	// LeadTxs and LeadGas, the latter below 2^128, are what Txs and BlockGas have of
	// blocks in the second in which the chain's time starts: rates leave them out.
	LeadTxs uint64
	LeadGas uint256.Int

	// Totals from genesis to the bucket's end.
	TotalTxs, TotalAddresses, TotalContracts, TotalDeployers uint64
}

// Rate is an amount in a time. Seconds is 0 if there is none.
type Rate struct{ Amount, Seconds uint64 }

// above reports whether r, which has a time, is the higher rate.
func (r Rate) above(o Rate) bool {
	if o.Seconds == 0 {
		return r.Amount > 0
	}
	hi, lo := bits.Mul64(r.Amount, o.Seconds)
	ohi, olo := bits.Mul64(o.Amount, r.Seconds)
	return hi > ohi || hi == ohi && lo > olo
}

// next returns the record of a later bucket in which nothing has happened yet.
func (r *Record) next() Record {
	return Record{
		Untraced: r.Untraced, Prev: r.Last, Last: r.Last,
		TotalTxs: r.TotalTxs, TotalAddresses: r.TotalAddresses,
		TotalContracts: r.TotalContracts, TotalDeployers: r.TotalDeployers,
	}
}

// The layout of a stored record; integers are big-endian:
//
//	u8 version, 2 | u8 flags: 1 = untraced | u64 blocks, prev, last, txs, addresses,
//	senders, contracts, deployers | u128 gas, block gas, lead gas | u256 price sum, max
//	price, fees | u64 max txs: amount, seconds | u64 max gas: amount, seconds |
//	u64 total txs, addresses, contracts, deployers | u64 lead txs
//
// Version 1 had milliseconds and nothing of the lead.
const (
	recordVersion = 2
	// RecordLen is the length of a stored record in bytes.
	RecordLen = 2 + 8*8 + 3*16 + 3*32 + 4*8 + 5*8
)

// ErrCodec is the error of bytes that are no stored record, state or stamp.
var ErrCodec = errors.New("rollup: stored bytes cannot be read")

// words returns the fields that are stored with 64 bits, in two runs.
func (r *Record) words() (a [8]*uint64, b [9]*uint64) {
	return [8]*uint64{&r.Blocks, &r.Prev, &r.Last, &r.Txs, &r.Addresses, &r.Senders, &r.Contracts, &r.Deployers},
		[9]*uint64{
			&r.MaxTxs.Amount, &r.MaxTxs.Seconds, &r.MaxGas.Amount, &r.MaxGas.Seconds,
			&r.TotalTxs, &r.TotalAddresses, &r.TotalContracts, &r.TotalDeployers, &r.LeadTxs,
		}
}

// Append appends the stored form.
func (r *Record) Append(dst []byte) []byte {
	dst = append(dst, recordVersion, flag(r.Untraced))
	a, b := r.words()
	for _, w := range a {
		dst = binary.BigEndian.AppendUint64(dst, *w)
	}
	for _, v := range [...]*uint256.Int{&r.Gas, &r.BlockGas, &r.LeadGas} {
		dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, v[1]), v[0])
	}
	for _, v := range [...]*uint256.Int{&r.PriceSum, &r.MaxPrice, &r.Fees} {
		for i := range v {
			dst = binary.BigEndian.AppendUint64(dst, v[len(v)-1-i])
		}
	}
	for _, w := range b {
		dst = binary.BigEndian.AppendUint64(dst, *w)
	}
	return dst
}

// Decode reads the stored form. The error is [ErrCodec].
func (r *Record) Decode(src []byte) error {
	if len(src) != RecordLen || src[0] != recordVersion || src[1] > 1 {
		return ErrCodec
	}
	r.Untraced = src[1] == 1
	src = src[2:]
	word := func() (v uint64) {
		v, src = binary.BigEndian.Uint64(src), src[8:]
		return v
	}
	a, b := r.words()
	for _, w := range a {
		*w = word()
	}
	for _, v := range [...]*uint256.Int{&r.Gas, &r.BlockGas, &r.LeadGas} {
		*v = uint256.Int{}
		v[1], v[0] = word(), word()
	}
	for _, v := range [...]*uint256.Int{&r.PriceSum, &r.MaxPrice, &r.Fees} {
		for i := range v {
			v[len(v)-1-i] = word()
		}
	}
	for _, w := range b {
		*w = word()
	}
	return nil
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
