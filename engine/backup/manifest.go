package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/goccy/go-json"
)

const (
	manifestName = "MANIFEST.json"
	// resultsName is what the results database is in a backup.
	resultsName = "results.backup"
	formatNow   = 1
	maxManifest = 64 << 20
)

// ErrDamaged is wrapped when a backup is not what was written.
var ErrDamaged = errors.New("the backup is damaged")

// Manifest says what a backup has.
type Manifest struct {
	Format   int       `json:"format"`
	Time     time.Time `json:"time"`
	Identity bool      `json:"identity"` // the server's key is among the files
	Files    []File    `json:"files"`
}

// File is a file of a backup.
type File struct {
	Name string `json:"name"` // below the data folder, with slashes
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
	// Modified is when the file was changed last, in Unix nanoseconds, if a file with
	// this time and size is the same; else 0.
	Modified int64 `json:"modified,omitempty"`
}

// Bytes returns the size of all files.
func (m *Manifest) Bytes() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

// stored is where a file lies in a backup's folder.
func (f *File) stored() string { return path.Join("files", f.Name+"."+f.Sum[:16]) }

// sealed is a manifest with its checksum.
type sealed struct {
	Manifest json.RawMessage `json:"manifest"`
	Sum      string          `json:"sha256"` // of the manifest without white space
}

func (m *Manifest) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return json.MarshalIndent(sealed{b, hex.EncodeToString(sum[:])}, "", " ")
}

func parseManifest(b []byte) (*Manifest, error) {
	var s sealed
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, s.Manifest); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	if sum := sha256.Sum256(flat.Bytes()); hex.EncodeToString(sum[:]) != s.Sum {
		return nil, fmt.Errorf("%w: the checksum of %s differs", ErrDamaged, manifestName)
	}
	m := new(Manifest)
	if err := json.Unmarshal(s.Manifest, m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	if m.Format != formatNow {
		return nil, fmt.Errorf("%s has format %d; this program knows %d", manifestName, m.Format, formatNow)
	}
	for i := range m.Files {
		f := &m.Files[i]
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		if sum, err := hex.DecodeString(f.Sum); err != nil || len(sum) != sha256.Size || f.Size < 0 {
			return nil, fmt.Errorf("%w: %s in %s", ErrDamaged, f.Name, manifestName)
		}
	}
	return m, nil
}

// checkName refuses names that would lead out of the data folder, or are none that a
// backup has.
func checkName(name string) error {
	parts := strings.Split(name, "/")
	ok := len(parts) == 1 && (single(name) || name == resultsName) || len(parts) == 3 && parts[0] == archiveDir
	for _, p := range parts {
		ok = ok && p != "" && p != "." && p != ".." && !strings.ContainsAny(p, "\\\x00")
	}
	if !ok {
		return fmt.Errorf("%w: it has a file %q", ErrDamaged, name)
	}
	return nil
}

const (
	archiveDir   = "archive"
	indexDir     = "index"
	resultsDir   = "results"
	identityName = "staker.pem"
)

// single reports whether a file of the data folder itself belongs to a backup.
func single(name string) bool {
	switch name {
	case "token.key", "aliases.json", identityName:
		return true
	}
	return strings.HasPrefix(name, "validators-") && strings.HasSuffix(name, ".json") ||
		strings.HasPrefix(name, "genesis-") && path.Ext(name) == ""
}
