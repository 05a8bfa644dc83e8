// Package provide reads files that tell what is in no block: prices, logos, which
// tokens are malicious, and the metadata of NFTs. What a file does not tell is
// not known, and is left out of answers; nothing is made up.
//
// All files are JSON, and their first level is the EVM chain number:
//
//	prices      {"43114": {"native": {"usd": "25.31"}, "0x...": {"usd": 1.0, "eur": "0.92"}}}
//	logos       {"43114": {"native": "https://...", "0x...": "https://..."}}
//	reputation  {"43114": {"0x...": "Malicious", "0x...": "Benign"}}
//	metadata    {"43114": {"0x...": {"1": {"name": "First", "imageUri": "ipfs://..."}}}}
//
// Prices are of one whole coin or token, by lower-case currency, as strings or
// numbers without sign and exponent. Metadata are by token contract and
// token ID in decimal, with the members that answers have.
//
// A file is read again when its time or size has changed, which is looked for
// at most once a second. A file that is wrong then is not taken: what was read
// before stays, and the log says why.
package provide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain/evm"
)

// maxFile bounds a file's size in bytes.
const maxFile = 256 << 20

// checkEvery is the time between two looks at a file.
const checkEvery = time.Second

// file is a file's content, kept up to date.
type file[T any] struct {
	path  string
	log   *slog.Logger
	parse func([]byte) (T, error)

	content atomic.Pointer[T]
	next    atomic.Int64 // when to look again, in monotonic time since began
	began   time.Time

	mu    sync.Mutex // guards what follows
	stamp stamp      // of what was read last, whether it was good or not
}

// stamp tells versions of a file apart.
type stamp struct {
	size int64
	time time.Time
}

func open[T any](path string, log *slog.Logger, parse func([]byte) (T, error)) (*file[T], error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &file[T]{path: path, log: log, parse: parse, began: time.Now()}
	f.next.Store(int64(checkEvery))
	return f, f.read()
}

// get gives the content. It looks at the file if that is due.
func (f *file[T]) get() *T {
	now := int64(time.Since(f.began))
	if due := f.next.Load(); now >= due && f.next.CompareAndSwap(due, now+int64(checkEvery)) && f.mu.TryLock() {
		f.refresh()
		f.mu.Unlock()
	}
	return f.content.Load()
}

// refresh reads the file again if it has changed. The caller holds mu.
func (f *file[T]) refresh() {
	info, err := os.Stat(f.path)
	if err == nil && (stamp{info.Size(), info.ModTime()}) == f.stamp {
		return
	}
	if err == nil {
		err = f.readLocked()
	}
	if err != nil {
		f.log.Warn("a data file cannot be read again; what was read before stays", "file", f.path, "err", err)
		return
	}
	f.log.Info("a data file was read again", "file", f.path)
}

func (f *file[T]) read() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readLocked()
}

func (f *file[T]) readLocked() error {
	h, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }() // it was only read
	info, err := h.Stat()
	if err != nil {
		return err
	}
	f.stamp = stamp{info.Size(), info.ModTime()}
	b, err := io.ReadAll(io.LimitReader(h, maxFile+1))
	if err != nil {
		return err
	}
	if len(b) > maxFile {
		return fmt.Errorf("%s is larger than %d bytes", f.path, maxFile)
	}
	content, err := f.parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.content.Store(&content)
	return nil
}

// decode reads exactly one JSON value.
func decode(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// checkChain checks the name of a chain.
func checkChain(name string) error {
	if name == "" || strings.Trim(name, "0123456789") != "" {
		return fmt.Errorf("%q is not an EVM chain number", name)
	}
	return nil
}

// byAddress gives a chain's part of a file with its addresses read.
func byAddress[T any](chain string, in map[string]T) (map[evm.Address]T, error) {
	if err := checkChain(chain); err != nil {
		return nil, err
	}
	out := make(map[evm.Address]T, len(in))
	for text, v := range in {
		a, err := evm.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("chain %s, %q: %w", chain, text, err)
		}
		if _, twice := out[a]; twice {
			return nil, fmt.Errorf("chain %s: %s is there twice", chain, a)
		}
		out[a] = v
	}
	return out, nil
}
