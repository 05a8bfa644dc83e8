package backup

import (
	"path/filepath"
)

// Check reads a backup in a folder and compares it with its manifest.
func Check(dir string) (*Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	for i := range m.Files {
		f := &m.Files[i]
		if err := checkStored(filepath.Join(dir, filepath.FromSlash(f.stored())), f); err != nil {
			return m, err
		}
	}
	return m, nil
}
