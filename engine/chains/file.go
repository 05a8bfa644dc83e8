package chains

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
)

const (
	// fileVersion is the layout of the file:
	//
	//	{"version":1,"aliases":[{"chain":"<CB58>","alias":"<name>"},...]}
	//
	// with the aliases in order of creation.
	fileVersion = 1
	// maxFile bounds the file in bytes: twice what maxGiven aliases take at most, each
	// character escaped.
	maxFile = 64 << 20
)

type fileForm struct {
	Version int         `json:"version"`
	Aliases []aliasForm `json:"aliases"`
}

type aliasForm struct {
	Chain string `json:"chain"`
	Alias string `json:"alias"`
}

// load reads the file. That there is none is no error.
func load(path string) ([]given, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	aliases, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return aliases, nil
}

// decode reads the content of a file and checks every name as [Registry.Alias] does.
func decode(data []byte) ([]given, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	var form fileForm
	d := json.NewDecoder(bytes.NewReader(data))
	// The version comes first, so that a later one is not taken for damage.
	if err := json.Unmarshal(data, &struct{ Version *int }{&form.Version}); err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	if form.Version != fileVersion {
		return nil, fmt.Errorf("the file has version %d; this program reads version %d", form.Version, fileVersion)
	}
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	if len(form.Aliases) > maxGiven {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooMany, len(form.Aliases), maxGiven)
	}
	aliases := make([]given, 0, len(form.Aliases))
	seen := make(map[string]bool, len(form.Aliases))
	for i, a := range form.Aliases {
		id, err := chain.ParseID(a.Chain)
		if err == nil {
			err = validate(a.Alias)
		}
		if err == nil && seen[a.Alias] {
			err = takenBy(a.Alias)
		}
		if err != nil {
			return nil, fmt.Errorf("the file is damaged: alias %d: %w", i, err)
		}
		seen[a.Alias] = true
		aliases = append(aliases, given{id: id, alias: a.Alias})
	}
	return aliases, nil
}

func encode(aliases []given) ([]byte, error) {
	form := fileForm{Version: fileVersion, Aliases: make([]aliasForm, len(aliases))}
	for i, g := range aliases {
		form.Aliases[i] = aliasForm{Chain: g.id.String(), Alias: g.alias}
	}
	b, err := json.Marshal(form)
	return append(b, '\n'), err
}

// disk is what save needs of the file system, so that tests can let it fail.
type disk interface {
	// WriteSynced makes a new file and returns when its content is on disk. What is
	// at path already is removed, never followed.
	WriteSynced(path string, content []byte) error
	Rename(from, to string) error
	Remove(path string) error
	MkdirAll(path string) error
	// SyncDir returns when the names in a folder are on disk.
	SyncDir(path string) error
}

// save replaces the file that holds before by one that holds after. On an error
// the file holds before, unless the error says otherwise: up to the rename only
// the temporary file is touched, and when it is not sure that the rename is on
// disk, it is undone.
func save(d disk, path string, before, after []given) error {
	content, err := encode(after)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := d.MkdirAll(dir); err != nil {
		return plain("make the folder", err)
	}
	if err := replace(d, path, content); err != nil {
		return err
	}
	if err := d.SyncDir(dir); err != nil {
		err = plain("sync the folder", err)
		if undoErr := undo(d, path, before); undoErr != nil {
			err = fmt.Errorf("%w; taking it back failed too (%w), so the alias may be there after a restart", err, undoErr)
		}
		return err
	}
	return nil
}

func undo(d disk, path string, before []given) error {
	if len(before) == 0 { // as without a file
		return plain("remove the file", d.Remove(path))
	}
	content, err := encode(before)
	if err != nil {
		return err
	}
	return replace(d, path, content)
}

// replace writes a temporary file beside path and renames it.
func replace(d disk, path string, content []byte) error {
	tmp := path + ".tmp"
	if err := d.WriteSynced(tmp, content); err != nil {
		return errors.Join(plain("write the file", err), removeLeft(d, tmp))
	}
	if err := d.Rename(tmp, path); err != nil {
		return errors.Join(plain("rename the file", err), removeLeft(d, tmp))
	}
	return nil
}

func removeLeft(d disk, tmp string) error {
	err := d.Remove(tmp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return plain("remove the temporary file", err)
}

// plain says what failed without the path, which does not concern callers of the API
// an API.
func plain(what string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// osDisk is the real file system.
type osDisk struct{}

func (osDisk) WriteSynced(path string, content []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) Remove(path string) error { return os.Remove(path) }

func (osDisk) MkdirAll(path string) error { return os.MkdirAll(path, 0o700) }

func (osDisk) SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	return err
}
