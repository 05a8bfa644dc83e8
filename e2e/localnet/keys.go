package localnet

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/staking"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
)

// MaxNodes is the number of genesis validators of network "local", each with a fifth of the stake.
const MaxNodes = 5

// NetworkID is the ID of network "local".
const NetworkID = 12345

// keyFiles are the public test keys of one genesis validator, as the release ships them.
type keyFiles struct {
	cert, key, signer string
	nodeID            ids.NodeID
}

// keys finds the files of validator i, counted from 0.
func (r *Release) keys(i int) (keyFiles, error) {
	dir, number := filepath.Join(r.Dir, "staking", "local"), strconv.Itoa(i+1)
	k := keyFiles{
		cert:   filepath.Join(dir, "staker"+number+".crt"),
		key:    filepath.Join(dir, "staker"+number+".key"),
		signer: r.SignerKey(i),
	}
	return k, k.readNodeID()
}

// newKeys writes the keys of a new validator into dir.
func newKeys(dir string) (keyFiles, error) {
	k := keyFiles{
		cert:   filepath.Join(dir, "staker.crt"),
		key:    filepath.Join(dir, "staker.key"),
		signer: filepath.Join(dir, "signer.key"),
	}
	if err := staking.InitNodeStakingKeyPair(k.key, k.cert); err != nil {
		return k, fmt.Errorf("make a staking key: %w", err)
	}
	if _, err := localsigner.FromFileOrPersistNew(k.signer); err != nil {
		return k, fmt.Errorf("make a BLS key: %w", err)
	}
	return k, k.readNodeID()
}

func (k *keyFiles) readNodeID() error {
	pair, err := staking.LoadTLSCertFromFiles(k.key, k.cert)
	if err != nil {
		return fmt.Errorf("load the key pair %s: %w", k.cert, err)
	}
	cert, err := staking.ParseCertificate(pair.Leaf.Raw)
	if err != nil {
		return fmt.Errorf("read the certificate %s: %w", k.cert, err)
	}
	k.nodeID = ids.NodeIDFromCert(cert)
	return nil
}

// SignerKey is the file with the BLS secret key of validator i, counted from 0.
func (r *Release) SignerKey(i int) string {
	return filepath.Join(r.Dir, "staking", "local", "signer"+strconv.Itoa(i+1)+".key")
}
