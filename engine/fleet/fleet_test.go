package fleet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const aKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func TestNew(t *testing.T) {
	t.Parallel()
	members := []string{"http://10.0.0.1:9750", "https://b.example"}
	text, err := New(members, "s3://bucket/quorate", "nats://a:4222")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Members, members) || f.Home() != members[0] || f.Archive != "s3://bucket/quorate" || f.Log != "nats://a:4222" {
		t.Errorf("%+v", f)
	}
	again, err := New(members, "", "")
	if err != nil || bytes.Equal(again, text) {
		t.Errorf("two files have one key, %v", err)
	}
	if _, err := New([]string{"10.0.0.1:9750"}, "", ""); !errors.Is(err, ErrForm) {
		t.Errorf("a member without a scheme: %v", err)
	}
}

// Secrets depend on the key and on what they are for, never change, and come in the order of
// the keys.
func TestSecrets(t *testing.T) {
	t.Parallel()
	other := strings.Replace(aKey, "00", "ff", 1)
	parse := func(keys string) *Fleet {
		f, err := Parse([]byte("keys: [" + keys + "]\nmembers: [http://a:1]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	of := func(f *Fleet, use string) [][]byte {
		s, err := f.Secrets(use)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	both := of(parse(aKey+", "+other), ForPages)
	if len(both) != 2 || !bytes.Equal(both[0], of(parse(aKey), ForPages)[0]) || !bytes.Equal(both[1], of(parse(other), ForPages)[0]) {
		t.Error("the secrets of two keys are not those of each")
	}
	if files := of(parse(aKey), ForFiles); bytes.Equal(files[0], both[0]) || bytes.Equal(both[0], both[1]) {
		t.Error("secrets for two uses, or of two keys, are one")
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                                     ErrNoKey,
		"members: [http://a:1]":                ErrNoKey,
		"keys: [" + aKey + "]":                 ErrForm,
		"keys: [" + aKey + "]\nmembers: [a:1]": ErrForm,
		"keys: [" + aKey + "]\nmembers: [ftp://a]":         ErrForm,
		"keys: [" + aKey + "]\nmembers: [http://a:1/path]": ErrForm,
		"keys: [" + aKey[2:] + "]\nmembers: [http://a:1]":  ErrForm,
		"keys: " + aKey + "\nmembers: [http://a:1]":        ErrForm,
		"key: " + aKey + "\nmembers: [http://a:1]":         ErrForm,
		"\t: {": ErrForm,
	} {
		_, err := Parse([]byte(text))
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, not %v", text, err, want)
		} else if strings.Contains(err.Error(), aKey[2:12]) {
			t.Errorf("the error has the key in it: %v", err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	text, err := New([]string{"http://a:1"}, "", "")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err != nil {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrReadable) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("files of others are made by root alone")
	}
	if err := os.Chown(path, 1, -1); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]error{0o440: nil, 0o444: ErrReadable, 0o660: ErrReadable} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, want) {
			t.Errorf("of another owner, mode %o: %v", mode, err)
		}
	}
}
