// Package fleet reads the file that several servers share which are one API: their keys and
// their addresses.
package fleet

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"quorate/engine/feed/jetstream"
)

// KeyLen is the length of a key in bytes.
const KeyLen = 32

// What secrets that are made of the keys are for.
const (
	ForPages    = "quorate page tokens"
	ForFiles    = "quorate addresses of exports"
	ForRequests = "quorate requests between servers"
)

var (
	// ErrForm means that something in a fleet file is not of the form that it must have.
	ErrForm = errors.New("wrong form")
	// ErrNoKey means that a fleet file has no key.
	ErrNoKey = errors.New("no key under keys: quorate fleet init makes one")
	// ErrReadable means that others than its owner may read a fleet file.
	ErrReadable = errors.New("others may read it, and the keys in it: set its mode to 0600")
)

// Fleet is what the servers of a fleet have in common.
type Fleet struct {
	// Members are the addresses of servers with nodes, without a slash at their ends. The
	// first is the home: of what has an owner, it alone has it.
	Members []string
	// Archive is the depot of all servers, empty for none.
	Archive string
	// Log is the log of newest blocks that the servers share, empty for none.
	Log string

	keys [][]byte
}

// file is a fleet file.
type file struct {
	Keys    []string `yaml:"keys"`
	Members []string `yaml:"members"`
	Archive string   `yaml:"archive,omitempty"`
	Log     string   `yaml:"log,omitempty"`
}

// Open reads a fleet file.
func Open(path string) (*Fleet, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&^mayRead(info) != 0 {
		return nil, ErrReadable
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// mayRead returns the permissions that a fleet file may have: those of its owner, and, where that
// is somebody else, reading by our group. So Kubernetes mounts a secret.
func mayRead(info os.FileInfo) os.FileMode {
	if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Getuid() {
		return 0o740
	}
	return 0o700
}

// Parse reads what is in a fleet file.
func Parse(text []byte) (*Fleet, error) {
	var in file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // an unknown one is a mistake
	if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %s", ErrForm, withoutValues(err))
	}
	if in.Log != "" {
		if err := jetstream.CheckURL(in.Log); err != nil {
			return nil, fmt.Errorf("%w: log: %w", ErrForm, err)
		}
	}
	f := &Fleet{Archive: in.Archive, Log: in.Log}
	for i, k := range in.Keys {
		key, err := hex.DecodeString(k)
		if err != nil || len(key) != KeyLen {
			return nil, fmt.Errorf("%w: key %d has not %d hexadecimal digits", ErrForm, i+1, 2*KeyLen)
		}
		f.keys = append(f.keys, key)
	}
	if len(f.keys) == 0 {
		return nil, ErrNoKey
	}
	for _, m := range in.Members {
		member, err := address(m)
		if err != nil {
			return nil, err
		}
		f.Members = append(f.Members, member)
	}
	if len(f.Members) == 0 {
		return nil, fmt.Errorf("%w: no address under members", ErrForm)
	}
	return f, nil
}

// withoutValues returns the text of an error of the YAML library, which quotes values: they
// may be keys.
func withoutValues(err error) string {
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) && len(wrong.Errors) > 0 {
		line, what, _ := strings.Cut(wrong.Errors[0], ":")
		if strings.Contains(what, "not found in type") {
			what = " an unknown key; there are keys, members, archive and log"
		} else {
			what = " a value of another form"
		}
		return line + ":" + what
	}
	return "it is not YAML"
}

// address checks the address of a member.
func address(text string) (string, error) {
	text = strings.TrimRight(text, "/")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return "", fmt.Errorf("%w: member %q is not http://HOST:PORT", ErrForm, text)
	}
	return text, nil
}

// New returns the text of a fleet file with a new key.
func New(members []string, archive, log string) ([]byte, error) {
	var key [KeyLen]byte
	rand.Read(key[:]) // never fails
	text, err := yaml.Marshal(&file{Keys: []string{hex.EncodeToString(key[:])}, Members: members, Archive: archive, Log: log})
	if err == nil {
		_, err = Parse(text)
	}
	return append([]byte("# Keys of servers that are one API: the first signs, all are taken. Of the members the first\n"+
		"# is the home of webhooks and exports. Each server of the fleet has this file.\n"), text...), err
}

// Home is the address of the member that has what has an owner.
func (f *Fleet) Home() string { return f.Members[0] }

// Secrets returns a secret for each key, in their order: the first signs, all are taken.
func (f *Fleet) Secrets(use string) ([][]byte, error) {
	out := make([][]byte, len(f.keys))
	for i, key := range f.keys {
		var err error
		if out[i], err = hkdf.Key(sha256.New, key, nil, use, KeyLen); err != nil {
			return nil, err
		}
	}
	return out, nil
}
