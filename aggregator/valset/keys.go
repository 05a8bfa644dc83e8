package valset

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/aggregator/bls"
)

// DefaultKeys is how many keys a [KeyCache] made with size 0 holds: about 10 MiB.
const DefaultKeys = 1 << 15

// KeyCache remembers parsed keys, since validating one costs as much as hashing
// 10 kB. It is safe for concurrent use; a nil cache parses every time.
type KeyCache struct {
	lru *lru.Cache[[bls.PublicKeyLen]byte, *bls.PublicKey]
}

// NewKeyCache returns a cache of at most size keys, 0 meaning [DefaultKeys].
func NewKeyCache(size int) *KeyCache {
	if size <= 0 {
		size = DefaultKeys
	}
	c, err := lru.New[[bls.PublicKeyLen]byte, *bls.PublicKey](size)
	if err != nil {
		panic(err) // only for sizes below 1
	}
	return &KeyCache{lru: c}
}

// Parse returns the key with the compressed form b.
func (c *KeyCache) Parse(b []byte) (*bls.PublicKey, error) {
	if c == nil || len(b) != bls.PublicKeyLen {
		return bls.ParsePublicKey(b)
	}
	raw := [bls.PublicKeyLen]byte(b)
	if key, ok := c.lru.Get(raw); ok {
		return key, nil
	}
	key, err := bls.ParsePublicKey(b)
	if err == nil {
		c.lru.Add(raw, key)
	}
	return key, err
}
