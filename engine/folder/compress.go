package folder

import (
	"context"
	"fmt"
	"log/slog"

	store "quorate/engine/store/index"
)

// Compress compresses the index of a data folder. begin is called first, with what it takes
// and with the free bytes of the volume; if all of it is compressed, nothing is done.
func Compress(ctx context.Context, o Offline, begin func(p store.Packing, free uint64)) error {
	dir, err := o.indexDir()
	if err != nil {
		return err
	}
	if err := CheckUnused(o.DataDir); err != nil {
		return err
	}
	p, err := store.Unpacked(dir)
	if err != nil {
		return err
	}
	free, err := Free(dir)
	if err != nil {
		return err
	}
	if begin(p, free); p.Plain == 0 {
		return nil
	}
	if needed := uint64(p.Room) + MinRoom; free < needed { // not negative
		return fmt.Errorf("%d bytes are free, %d are needed meanwhile", free, needed)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return store.Compress(ctx, dir, o.Logger, o.progress(IndexDir), func() error {
		free, err := Free(dir)
		if err == nil && free < MinRoom {
			err = fmt.Errorf("%d bytes are free, nothing is written below %d", free, MinRoom)
		}
		return err
	})
}
