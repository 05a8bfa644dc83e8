package depot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// object is what a store has under a name.
type object struct {
	name string // with slashes
	size int64
}

// store keeps objects. All methods may be called at once.
type store interface {
	// list returns the objects whose names begin with a prefix that ends with a slash, in
	// the order of the names.
	list(ctx context.Context, prefix string) ([]object, error)
	// get copies an object into a file. The error of one that is not there wraps [ErrMissing].
	get(ctx context.Context, name, file string) error
	// put copies a file into an object, which is seen whole or not at all.
	put(ctx context.Context, name, file string) error
	remove(ctx context.Context, name string) error
}

// Errors of depots.
var (
	// ErrURL is wrapped by the error of a URL that names no depot.
	ErrURL = errors.New("a depot is s3://BUCKET/PREFIX or file:///DIR")
	// ErrMissing is wrapped when an object is not there.
	ErrMissing = errors.New("the object is not there")
)

// Depot keeps the blocks of any number of chains. All methods may be called at once.
type Depot struct {
	store store
	url   string
}

// S3 says where object storage is. Credentials come from the environment, the files of the
// AWS tools, or the role of the instance.
type S3 struct {
	// Endpoint is an http or https URL; empty is that of AWS.
	Endpoint string
	Region   string // empty: it is asked for
}

// Open returns the depot at a URL: s3://BUCKET/PREFIX or file:///DIR. Nothing is asked yet.
func Open(raw string, at S3) (*Depot, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("%w, not %q", ErrURL, raw)
	case u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path):
		return &Depot{folder(path.Clean(u.Path)), raw}, nil
	case u.Scheme == "s3" && u.Host != "":
		s, err := openBucket(at, u.Host, strings.Trim(u.Path, "/"))
		if err != nil {
			return nil, fmt.Errorf("depot %s: %w", raw, err)
		}
		return &Depot{s, raw}, nil
	}
	return nil, fmt.Errorf("%w, not %q", ErrURL, raw)
}

// String returns the URL.
func (d *Depot) String() string { return d.url }
