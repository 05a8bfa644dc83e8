package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"
)

// ErrDamaged is wrapped by the error of opening a database whose files were cut off,
// changed or lost.
var ErrDamaged = errors.New("the database is damaged")

// maxChecksum bounds the encoded checksum at the end of a table: two numbers.
const maxChecksum = 64

// CheckFiles returns an error if opening the database of opts would crash, or lose all
// that is in it. Badger reads the end of each table in a goroutine of its own and believes
// the lengths there, so a table that was cut off ends the process; and tables that no
// manifest names it deletes.
func CheckFiles(opts badger.Options) error {
	f, err := os.Open(filepath.Join(opts.Dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return withoutManifest(opts.Dir)
	}
	if err != nil {
		return err
	}
	manifest, _, err := badger.ReplayManifestFile(f, opts.ExternalMagicVersion, opts)
	_ = f.Close() // nothing was written
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for id := range manifest.Tables {
		name := table.IDToFilename(id)
		if err := CheckTable(filepath.Join(opts.Dir, name)); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
	}
	return nil
}

// withoutManifest returns an error if a folder without a manifest has tables. The
// manifest is made before the first of them, so it was lost.
func withoutManifest(dir string) error {
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("%w: %s is missing", ErrDamaged, badger.ManifestFilename)
	}
	return err
}

// CheckTable checks the lengths at the end of a table, which follow its index:
//
//	length of the index (4) | checksum of the index | its length (4)
//
// Badger checks the index itself by the checksum.
func CheckTable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	st, err := f.Stat()
	if err != nil {
		return err
	}
	var buf [4 + maxChecksum + 4]byte
	end := buf[:min(st.Size(), int64(len(buf)))]
	if _, err := f.ReadAt(end, st.Size()-int64(len(end))); err != nil {
		return err
	}
	errEnd := errors.New("its end is not that of a table")
	tail := len(end) - 4
	if tail < 4 {
		return errEnd
	}
	sumLen := int64(binary.BigEndian.Uint32(end[tail:]))
	if sumLen < 1 || sumLen > int64(tail-4) {
		return errEnd
	}
	var sum pb.Checksum
	if err := proto.Unmarshal(end[tail-int(sumLen):tail], &sum); err != nil || pb.Checksum_Algorithm_name[int32(sum.GetAlgo())] == "" {
		return errEnd
	}
	index := int64(binary.BigEndian.Uint32(end[tail-int(sumLen)-4:]))
	if index < 1 || index > st.Size()-4-sumLen-4 {
		return errEnd
	}
	return nil
}
