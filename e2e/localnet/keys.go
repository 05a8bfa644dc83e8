package localnet

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/staking"
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
	pair, err := staking.LoadTLSCertFromFiles(k.key, k.cert)
	if err != nil {
		return k, fmt.Errorf("load the key pair of validator %d: %w", i, err)
	}
	cert, err := staking.ParseCertificate(pair.Leaf.Raw)
	if err != nil {
		return k, fmt.Errorf("read the certificate of validator %d: %w", i, err)
	}
	k.nodeID = ids.NodeIDFromCert(cert)
	return k, nil
}

// SignerKey is the file with the BLS secret key of validator i, counted from 0.
func (r *Release) SignerKey(i int) string {
	return filepath.Join(r.Dir, "staking", "local", "signer"+strconv.Itoa(i+1)+".key")
}
