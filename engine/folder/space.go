package folder

import (
	"fmt"
	"syscall"
)

// MinRoom is the free space, in bytes, below which nothing is written to a
// database, besides what it needs for compactions: its log is mapped memory, and a
// page that the volume cannot give would end the process.
const MinRoom = 256 << 20

// MinOpen is the free space, in bytes, below which no database is opened: that
// writes a little, through mapped memory.
const MinOpen = 16 << 20

// The free space below which health is red: a share of the volume, and bytes unless the
// operator says how many.
const (
	MinFreeShare = 0.03
	MinFreeBytes = 512 << 20
)

// Space returns the bytes of the volume with that folder, in all and free to us.
func Space(dir string) (free, total uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("the space of the data folder's volume is not known: %w", err)
	}
	size := uint64(s.Bsize)
	return s.Bavail * size, s.Blocks * size, nil
}

// Free returns the free bytes of the volume with a folder.
func Free(dir string) (uint64, error) {
	free, _, err := Space(dir)
	return free, err
}
