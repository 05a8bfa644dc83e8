package ui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"sync"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// AssetPrefix is the path below which assets are.
const AssetPrefix = "/assets/"

// Asset is a file that pages load. Its name carries a hash of its content, so that it
// can be kept for ever.
type Asset struct {
	Name string // without AssetPrefix
	Type string // for the header Content-Type
	Body []byte
}

// assetTypes are the content types of assets by extension.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Assets returns all assets by their names in templates, such as quorate.css.
var Assets = sync.OnceValues(func() (map[string]*Asset, error) {
	files, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	all := make(map[string]*Asset, len(files))
	for _, f := range files {
		body, err := assetFiles.ReadFile("assets/" + f.Name())
		if err != nil {
			return nil, err
		}
		ext := path.Ext(f.Name())
		if assetTypes[ext] == "" {
			return nil, fmt.Errorf("asset %s has no known type", f.Name())
		}
		sum := sha256.Sum256(body)
		all[f.Name()] = &Asset{
			Name: strings.TrimSuffix(f.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext,
			Type: assetTypes[ext], Body: body,
		}
	}
	return all, nil
})
