package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	store "quorate/engine/store/index"
)

// Table is a table of a chain's index, one of store's constants.
type Table byte

// part says what else must be made together with a table.
type part uint8

const (
	// partPure tables follow from each block alone: a row is what its block says.
	partPure part = iota
	// partBalances, partMetrics and partSums are folds: a row follows from its block and the
	// rows before it.
	partBalances
	partMetrics
	// partSums are folds whose rows lie in histories, see [cells].
	partSums

	parts = 4
)

// has reports whether a table belongs to the part.
func (p part) has(t Table) bool { return tables[t].part == p }

// tableInfo is what the code knows of a table.
type tableInfo struct {
	name string
	part part
	// version counts the rules that the table's rows are made by: whoever changes
	// which rows a block has, or what is in them, adds one. Tables of an older
	// version are stale.
	version uint16
	// reads is the oldest version whose rows the code can read and add to. What is
	// older counts as absent until it is made again.
	reads uint16
}

// tables are all tables that follow from the blocks of a chain, with what pertains
// to their rows today. The layouts are in store.
var tables = [store.TablesEnd]tableInfo{
	// 2: what was paid for transactions, and what the block itself cost.
	store.TableBlocks:      {"blocks", partPure, 2, 1},
	store.TableBlockHashes: {"block-hashes", partPure, 1, 1},
	// 2: what is in the block's row is not in theirs, and the input is packed.
	store.TableTxs:      {"transactions", partPure, 2, 1},
	store.TableTxHashes: {"transaction-hashes", partPure, 1, 1},
	store.TableFailed:   {"failed-transactions", partPure, 1, 1},
	// 2: rows say by themselves what a list shows. 3: those of a block share rows.
	store.TableAddressTxs:     {"address-transactions", partPure, 3, 1},
	store.TableAddressNFTs:    {"address-nft-transfers", partPure, 1, 1},
	store.TableTokenTransfers: {"token-transfers", partPure, 1, 1},
	// 2: the logs of a transaction count in their order.
	store.TableTokenBalances:  {"token-balances", partBalances, 2, 1},
	store.TableNFTOwners:      {"nft-owners", partPure, 1, 1},
	store.TableOwnedNFTs:      {"owned-nfts", partPure, 1, 1},
	store.TableWarp:           {"warp-messages", partPure, 1, 1},
	store.TableWarpIDs:        {"warp-message-ids", partPure, 1, 1},
	store.TableICMEvents:      {"icm-events", partPure, 1, 1},
	store.TableICMLists:       {"icm-lists", partPure, 1, 1},
	store.TableICMTotals:      {"icm-totals", partSums, 1, 1},
	store.TableSeenTokens:     {"seen-tokens", partPure, 1, 1},
	store.TableSeenNFTs:       {"seen-nfts", partPure, 1, 1},
	store.TableTokenHolders:   {"token-holders", partBalances, 2, 1},
	store.TableStamps:         {"metric-stamps", partMetrics, rollupRules, rollupReads},
	store.TableBuckets:        {"metric-buckets", partMetrics, rollupRules, rollupReads},
	store.TableHours:          {"metric-hours", partMetrics, 1, 1},
	store.TableNativeBalances: {"native-balances", partPure, 2, 2},
	store.TableRollup:         {"metrics", partMetrics, rollupRules, rollupReads},
	// 2: the newest one first, with the capitals of addresses.
	store.TableTxHeads:  {"transaction-heads", partPure, 2, 2},
	store.TableHoldings: {"newest-holdings", partBalances, 1, 1},
	store.TableHolders:  {"newest-holders", partBalances, 1, 1},

	store.TableTxCounts:    {"transaction-counts", partSums, 1, 1},
	store.TableItems:       {"item-balances", partSums, 2, 1},
	store.TableNFTHolders:  {"nft-holders", partSums, 1, 1},
	store.TableCollections: {"nft-collections", partSums, 2, 1}, // 2: with doubts, which items had
}

// String returns the table's name on the command line and in reports.
func (t Table) String() string {
	if int(t) < len(tables) && tables[t].name != "" {
		return tables[t].name
	}
	return fmt.Sprintf("table %#x", byte(t))
}

// Tables returns all tables that follow from blocks.
func Tables() (list []Table) {
	for t := range tables {
		if tables[t].name != "" {
			list = append(list, Table(t))
		}
	}
	return list
}

// ErrTable is wrapped by the errors of names and numbers that are no table.
var ErrTable = errors.New("no such table")

// ParseTable returns the table with a name.
func ParseTable(name string) (Table, error) {
	i := slices.IndexFunc(tables[:], func(t tableInfo) bool { return t.name == name && name != "" })
	if i < 0 {
		return 0, fmt.Errorf("%w: %q", ErrTable, name)
	}
	return Table(i), nil
}

// place is where the rows of a table lie, and the rules that they are made by.
type place struct {
	version uint16 // 0: there are none; with the bit of incomplete if rows are missing
	edition uint8  // counts how often the table was made again
}

// incomplete marks the version of a table that was made without something that
// came later. It is served, and stale.
const incomplete = 1 << 15

// places are where the rows of a chain's tables lie. They do not change: whoever
// makes a table again makes further ones.
type places struct {
	ordinal uint32 // of the chain
	of      [store.TablesEnd]place
}

func (p *places) key(table byte) key { return p.appendKey(make([]byte, 0, 96), table) }

func (p *places) appendKey(dst []byte, table byte) key {
	return store.TableKey(dst, table, p.ordinal, p.of[table].edition)
}

// has reports whether a table has rows that the code can read and add to.
func (p *places) has(table byte) bool {
	return p.of[table].version&^incomplete >= max(tables[table].reads, 1)
}

// newPlaces returns those of a chain without blocks.
func newPlaces(ordinal uint32) *places {
	p := &places{ordinal: ordinal}
	for _, t := range Tables() {
		p.of[t].version = tables[t].version
	}
	return p
}

// without returns places without the tables of a part.
func (p *places) without(gone part) *places {
	next := *p
	for _, t := range Tables() {
		if tables[t].part == gone {
			next.of[t].version = 0
		}
	}
	return &next
}

// firstPlaces returns those of a chain that was indexed before tables had
// versions: all tables of that time, at version 1.
func firstPlaces(ordinal uint32) *places {
	p := &places{ordinal: ordinal}
	for _, t := range Tables() {
		if t <= lastFirst {
			p.of[t].version = 1
		}
	}
	p.of[store.TableOldNative].version, p.of[store.TableOldContracts].version = 1, 1
	return p
}

// lastFirst is the last table of before tables had versions.
const lastFirst = store.TableRollup

// Sort keys of the table of editions.
const (
	rowServing  = iota // the tables that are served
	rowBuilding        // u16 length of the cursor | cursor of the build | its tables; empty: none
	rowDropping        // tables that are of no use any more; their rows are removed
	rowWrapped         // contracts of wrapped coins that balances are made with
	rowRedo            // | u64 height: a block that was completed while tables are made again
	rowBegins          // the first blocks of the tables, u64 for each part; none if that is the genesis block
	rowHeld            // which metrics hold after a rewind, see held
)

// rowKey returns the key of a row of the table of editions.
func (p *places) rowKey(row byte) key { return append(p.key(store.TableEditions), row) }

// The codec of editions, version 1: u8 1 | for each table: u8 table | u16 version |
// u8 edition.
const (
	editionsVersion = 1
	editionLen      = 1 + 2 + 1
)

// append appends the places of all tables that have rows.
func (p *places) append(dst []byte) []byte {
	var list []edition
	for t, at := range p.of {
		if at != (place{}) {
			list = append(list, edition{Table(t), at})
		}
	}
	return appendEditions(dst, list)
}

// edition is an edition of a table.
type edition struct {
	table Table
	place
}

func appendEditions(dst []byte, list []edition) []byte {
	dst = append(dst, editionsVersion)
	for _, e := range list {
		dst = append(key(append(dst, byte(e.table))).u16(e.version), e.edition)
	}
	return dst
}

// decodeEditions passes over tables that the code does not know.
func decodeEditions(b []byte) (list []edition, err error) {
	if len(b)%editionLen != 1 || b[0] != editionsVersion {
		return nil, fmt.Errorf("%w: editions of tables", errCodec)
	}
	for b = b[1:]; len(b) > 0; b = b[editionLen:] {
		if t := Table(b[0]); t < store.TablesEnd {
			list = append(list, edition{t, place{version: binary.BigEndian.Uint16(b[1:]), edition: b[3]}})
		}
	}
	return list, nil
}

// decode reads what append wrote.
func (p *places) decode(b []byte) error {
	list, err := decodeEditions(b)
	for _, e := range list {
		p.of[e.table] = e.place
	}
	return err
}

// retired returns the tables that the program neither makes nor reads any more.
func (p *places) retired() (list []edition) {
	for t, at := range p.of {
		if at.version > 0 && tables[t].name == "" && (t != store.TableOldNative || p.has(store.TableNativeBalances)) {
			list = append(list, edition{Table(t), at})
		}
	}
	return list
}
