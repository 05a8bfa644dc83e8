package nodeapi

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
)

// Type IDs of P-Chain blocks in the node's codec.
const (
	commitBlock   = 2  // Apricot's; the genesis block is one
	standardBlock = 32 // Banff's
)

// encoding is how a block is written; the zero value is hex.
type encoding string

const (
	encodingHex  encoding = "hex"   // with a checksum
	encodingHexC encoding = "hexc"  // the same
	encodingHexN encoding = "hexnc" // without
	encodingJSON encoding = "json"
)

// UnmarshalJSON reads the name in any case; null leaves the value.
func (e *encoding) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	switch known := encoding(strings.ToLower(name)); known {
	case encodingHex, encodingHexC, encodingHexN, encodingJSON:
		*e = known
		return nil
	}
	return errors.New("invalid encoding")
}

// blockHeight is the height of a block: a number or a string of digits.
type blockHeight uint64

// UnmarshalJSON reads both forms; null leaves the value.
func (h *blockHeight) UnmarshalJSON(b []byte) error {
	if string(b) == `"proposed"` {
		return errHeight
	}
	return (*height)(h).UnmarshalJSON(b)
}

type blockArgs struct {
	Height   blockHeight `json:"height"`
	Encoding encoding    `json:"encoding"`
}

type blockReply struct {
	Block    any      `json:"block"`
	Encoding encoding `json:"encoding"`
}

// genesisBlock and laterBlock are the blocks in the node's JSON.
type genesisBlock struct {
	ParentID chainID `json:"parentID"`
	Height   uint64  `json:"height"`
	ID       chainID `json:"id"`
}

type laterBlock struct {
	Time int64 `json:"time"`
	genesisBlock
	Txs []struct{} `json:"txs"`
}

func (s *Server) getBlockByHeight(args blockArgs) (any, error) {
	h := uint64(args.Height)
	if h > s.world.Height() {
		return nil, fmt.Errorf("couldn't get block at height %d: %w", h, errNotFound)
	}
	if args.Encoding == "" {
		args.Encoding = encodingHex
	}
	id, parent := s.blocks.at(h)
	reply := blockReply{Encoding: args.Encoding}
	switch args.Encoding {
	case encodingJSON:
		common := genesisBlock{chainID(parent), h, chainID(id)}
		reply.Block = common
		if h > 0 {
			reply.Block = laterBlock{Time: s.blocks.time.Unix(), genesisBlock: common, Txs: []struct{}{}}
		}
	case encodingHexN:
		reply.Block = hexBytes(s.blocks.encode(h, parent))
	default:
		b := s.blocks.encode(h, parent)
		sum := sha256.Sum256(b)
		reply.Block = hexBytes(append(b, sum[sha256.Size-4:]...))
	}
	return reply, nil
}

// blockChain makes the P-Chain's blocks in the node's own codec: each names the
// one before, all have the time of genesis and no transactions, since what
// moves the validator sets here is none. A block's ID is its hash.
type blockChain struct {
	genesis chain.ID // the parent of the first block
	time    time.Time

	mu  sync.Mutex
	ids []chain.ID // by height, as far as somebody asked
}

// at returns the IDs of the block at a height and of the one before.
func (c *blockChain) at(h uint64) (id, parent chain.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parent = c.genesis
	if n := uint64(len(c.ids)); n > 0 {
		parent = c.ids[n-1]
	}
	for n := uint64(len(c.ids)); n <= h; n++ {
		parent = sha256.Sum256(c.encode(n, parent))
		c.ids = append(c.ids, parent)
	}
	if h == 0 {
		return c.ids[0], c.genesis
	}
	return c.ids[h], c.ids[h-1]
}

func (c *blockChain) encode(h uint64, parent chain.ID) []byte {
	b := []byte{0, 0} // codec version
	if h == 0 {
		b = binary.BigEndian.AppendUint32(b, commitBlock)
		b = append(b, parent[:]...)
		return binary.BigEndian.AppendUint64(b, h)
	}
	b = binary.BigEndian.AppendUint32(b, standardBlock)
	b = binary.BigEndian.AppendUint64(b, uint64(c.time.Unix())) // after 1970
	b = append(b, parent[:]...)
	b = binary.BigEndian.AppendUint64(b, h)
	return binary.BigEndian.AppendUint32(b, 0) // transactions
}
