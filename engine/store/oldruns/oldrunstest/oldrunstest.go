// Package oldrunstest makes databases as former versions left them, for tests.
package oldrunstest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// Runs is how many runs [Move] makes of each edition of a chain.
const Runs = 3

const (
	lead = 1 + 4 // of a key: its table, and whose row it is
	// removed marks a row of a run, and of the database, that hides older ones.
	removed = 1
)

// row is a row of the database.
type row struct {
	key, value []byte
	version    uint64
}

// Move moves most rows that moves says of a closed database to runs, which say the same: some
// rows have older versions in other runs, some are newer in the database, and there are rows
// that are removed by a newer run or by the database.
func Move(t *testing.T, dir string, seed uint64, moves func(key []byte) bool) (moved int) {
	t.Helper()
	db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil).WithCompression(options.ZSTD).WithBlockCacheSize(1 << 20))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	spaces, order := make(map[string][]row), []string{}
	for _, r := range read(t, db, moves) {
		s := string(r.key[1:lead])
		if spaces[s] == nil {
			order = append(order, s)
		}
		spaces[s] = append(spaces[s], r)
	}
	m := mover{dir: dir, rnd: rand.New(rand.NewPCG(seed, 7)), batch: db.NewWriteBatch()}
	for _, s := range order {
		if err := m.space([]byte(s), spaces[s]); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.batch.Flush(); err != nil {
		t.Fatal(err)
	}
	return m.moved
}

func read(t *testing.T, db *badger.DB, moves func(key []byte) bool) (list []row) {
	t.Helper()
	if err := db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			r := row{key: it.Item().KeyCopy(nil), version: it.Item().Version()}
			if len(r.key) < lead || !moves(r.key) {
				continue
			}
			var err error
			if r.value, err = it.Item().ValueCopy(nil); err != nil {
				return err
			}
			list = append(list, r)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// mover moves rows.
type mover struct {
	dir   string
	rnd   *rand.Rand
	batch *badger.WriteBatch
	files uint64
	moved int
}

// entry is a row of a run.
type entry struct {
	key   []byte // with its version
	value y.ValueStruct
}

// space makes the runs of an edition of a chain.
func (m *mover) space(of []byte, rows []row) error {
	var runs [Runs][]entry
	put := func(run int, key []byte, version uint64, v y.ValueStruct) {
		runs[run] = append(runs[run], entry{y.KeyWithTs(key, version), v})
	}
	old, none := y.ValueStruct{Value: []byte("an older value")}, y.ValueStruct{Meta: removed}
	for _, r := range rows {
		last := m.rnd.IntN(Runs)
		for run := range last {
			if m.rnd.IntN(2) == 0 {
				put(run, r.key, r.version-1, []y.ValueStruct{old, none}[m.rnd.IntN(2)])
			}
		}
		if m.rnd.IntN(4) == 0 { // that of the database is the newest
			put(last, r.key, r.version-1, old)
			continue
		}
		put(last, r.key, r.version, y.ValueStruct{Value: r.value})
		m.moved++
		if err := m.batch.Delete(r.key); err != nil {
			return err
		}
		gone := append(bytes.Clone(r.key), "gone"...)
		switch put(0, gone, r.version-1, old); m.rnd.IntN(2) {
		case 0:
			put(1, gone, r.version, none)
		case 1:
			if err := m.batch.SetEntry(badger.NewEntry(gone, nil).WithMeta(removed)); err != nil {
				return err
			}
		}
	}
	for i, run := range runs {
		if err := m.run(of, uint64(i+1), run); err != nil {
			return err
		}
	}
	return nil
}

// run writes a run to two files, and has the database name them.
func (m *mover) run(of []byte, number uint64, rows []entry) error {
	slices.SortFunc(rows, func(a, b entry) int { return y.CompareKeys(a.key, b.key) })
	key, value := binary.BigEndian.AppendUint64(append([]byte{0x04}, of...), number), []byte{1}
	for len(rows) > 0 {
		n := (len(rows) + 1) / 2
		if len(value) > 1 {
			n = len(rows)
		}
		b := table.NewTableBuilder(table.Options{TableSize: 1 << 20, BlockSize: 4 << 10, BloomFalsePositive: 0.01, Compression: options.None})
		for _, r := range rows[:n] {
			b.Add(r.key, r.value, 0)
		}
		m.files++
		err := os.WriteFile(filepath.Join(m.dir, "runs", table.IDToFilename(m.files)), b.Finish(), 0o600)
		b.Close()
		if err != nil {
			return err
		}
		value, rows = binary.BigEndian.AppendUint64(value, m.files), rows[n:]
	}
	if len(value) == 1 {
		return nil
	}
	return m.batch.Set(key, value)
}
