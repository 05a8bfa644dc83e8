package archive

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"

	"quorate/engine/archive/vfs"
)

// KindOf returns the kind of blocks in the archive in a folder. Without a file of an
// archive in it the error wraps [fs.ErrNotExist].
func KindOf(dir string) (Kind, error) {
	var os vfs.OS
	files, err := os.List(dir)
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name, sealedSuffix) && !strings.HasSuffix(file.Name, liveSuffix) && !strings.HasSuffix(file.Name, notesSuffix) {
			continue
		}
		f, err := os.Open(dir + "/" + file.Name)
		if err != nil {
			continue // replaced meanwhile
		}
		b, err := readAt(f, 0, fileHeadLen)
		_ = f.Close() // nothing was written
		if err == nil && crc(b[:28]) == binary.BigEndian.Uint32(b[28:]) {
			return Kind(b[10]), nil
		}
	}
	return 0, fmt.Errorf("archive: %s has no file of an archive: %w", dir, fs.ErrNotExist)
}
