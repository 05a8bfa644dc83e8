package ui

import (
	"errors"
	"strings"

	"github.com/goccy/go-json"

	"quorate/httpapi/shape"
)

// samples finds values for parameters in what the server has, so that each operation can
// be tried at once. Nothing is made up: what the API does not know stays empty, with the
// reason. It asks for no more than is needed, and for each thing once.
type samples struct {
	r     *Request
	asked map[string]sample
}

// sample is a value and where it came from, or why there is none.
type sample struct{ value, known string }

func newSamples(r *Request) *samples { return &samples{r: r, asked: map[string]sample{}} }

// keyFirst is why nothing is looked up for whoever may have no key: browsers send none when
// they open a page.
const keyFirst = "not looked up, since the server asks for an API key"

// once keeps what find returns under a name.
func (s *samples) once(name string, find func() sample) sample {
	if s.r.site.cfg.KeysRequired {
		return sample{known: keyFirst}
	}
	if v, ok := s.asked[name]; ok {
		return v
	}
	s.asked[name] = sample{} // what would need itself is unknown
	v := find()
	if v.value == "" && v.known == "" {
		v.known = "none is known here"
	}
	s.asked[name] = v
	return v
}

// reasonOf returns what the API said.
func reasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "the answer cannot be read"
}

// first returns the first row of a list of the API, and the reason if there is none.
func first[T any](s *samples, path, member string) (row T, reason string) {
	rows, reason := list[T](s, path, member)
	if len(rows) > 0 {
		return rows[0], ""
	}
	return row, reason
}

// list returns a list of the API, and the reason if there is none.
func list[T any](s *samples, path, member string) (rows []T, reason string) {
	var page map[string]json.RawMessage
	err := s.r.Get(path, &page)
	if err == nil && len(page[member]) > 0 {
		err = json.Unmarshal(page[member], &rows)
	}
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case len(rows) == 0:
		return nil, "there is none here yet"
	}
	return rows, ""
}

// network returns the network whose primary network is followed, or that of the first
// chain.
func (s *samples) network() sample {
	return s.once("network", func() sample {
		for _, name := range []string{"mainnet", "fuji"} {
			var chains struct{}
			if s.r.Get(join("/v1/networks", name, "blockchains")+"?pageSize=1", &chains) == nil {
				return sample{name, "a network that is followed here"}
			}
		}
		chain, reason := s.firstChain()
		switch {
		case reason != "":
			return sample{"", reason}
		case chain.IsTestnet:
			return sample{"fuji", "the network of the first chain"}
		}
		return sample{"mainnet", "the network of the first chain"}
	})
}

func (s *samples) firstChain() (shape.Chain, string) {
	return first[shape.Chain](s, "/v1/chains", "chains")
}

func (s *samples) chain() sample {
	return s.once("chain", func() sample {
		c, reason := s.firstChain()
		return sample{string(c.ChainID), reason}.from("the first chain")
	})
}

// from says where a value came from, unless there is none.
func (v sample) from(source string) sample {
	if v.value != "" {
		v.known = source
	}
	return v
}

// onChain returns a path of the first chain, with the reason if there is no chain.
func (s *samples) onChain(segments string) (path, reason string) {
	c := s.chain()
	if c.value == "" {
		return "", c.known
	}
	return join("/v1/chains", c.value) + segments, ""
}

func (s *samples) latestTx() (shape.NativeTransaction, string) {
	path, reason := s.onChain("/transactions?pageSize=1")
	if reason != "" {
		return shape.NativeTransaction{}, reason
	}
	return first[shape.NativeTransaction](s, path, "transactions")
}

func (s *samples) txHash() sample {
	return s.once("tx", func() sample {
		tx, reason := s.latestTx()
		return sample{string(tx.TxHash), reason}.from("the latest transaction")
	})
}

func (s *samples) account() sample {
	return s.once("account", func() sample {
		tx, reason := s.latestTx()
		return sample{string(tx.From.Address), reason}.from("the sender of the latest transaction")
	})
}

func (s *samples) block() sample {
	return s.once("block", func() sample {
		path, reason := s.onChain("/blocks?pageSize=1")
		if reason != "" {
			return sample{"", reason}
		}
		b, reason := first[shape.EVMBlock](s, path, "blocks")
		return sample{string(b.BlockNumber), reason}.from("the latest block")
	})
}

// transfers returns recent transfers of a kind: those of the addresses that sent the
// latest transactions.
func (s *samples) transfers(kind string) (transfer, string) {
	path, reason := s.onChain("/transactions?pageSize=25")
	if reason != "" {
		return transfer{}, reason
	}
	latest, reason := list[shape.NativeTransaction](s, path, "transactions")
	seen := map[shape.Address]bool{}
	for _, tx := range latest {
		if seen[tx.From.Address] || len(seen) == 4 {
			continue
		}
		seen[tx.From.Address] = true
		path, _ := s.onChain(join("/addresses", string(tx.From.Address)) + "/transactions:" + kind + "?pageSize=1")
		var t transfer
		if t, reason = first[transfer](s, path, "transactions"); reason == "" {
			return t, ""
		}
	}
	return transfer{}, reason
}

func (s *samples) token() sample {
	return s.once("token", func() sample {
		t, reason := s.transfers("listErc20")
		return sample{string(t.Token().Address), reason}.from("the token of a recent transfer")
	})
}

func (s *samples) tokenAmount() sample {
	return s.once("amount", func() sample {
		t, reason := s.transfers("listErc20")
		return sample{string(t.Value), reason}.from("the amount of a recent transfer")
	})
}

func (s *samples) collection() sample {
	return s.once("collection", func() sample {
		t, reason := s.transfers("listErc721")
		return sample{string(t.Token().Address), reason}.from("the collection of a recent transfer")
	})
}

func (s *samples) tokenID() sample {
	return s.once("tokenID", func() sample {
		c := s.collection()
		if c.value == "" {
			return c
		}
		path, _ := s.onChain(join("/nfts/collections", c.value) + "/tokens?pageSize=1")
		t, reason := first[shape.NFT](s, path, "tokens")
		return sample{string(t.TokenID), reason}.from("an NFT of the collection")
	})
}

// deployer returns who deployed the token.
func (s *samples) deployer() sample {
	return s.once("deployer", func() sample {
		token := s.token()
		if token.value == "" {
			return token
		}
		path, _ := s.onChain(join("/addresses", token.value))
		var contract shape.Contract
		if err := s.r.Get(path, &contract); err != nil {
			return sample{"", reasonOf(err)}
		}
		if contract.DeploymentDetails == nil {
			return sample{}
		}
		return sample{value: string(contract.DeploymentDetails.DeployerAddress)}.from("who deployed a token")
	})
}

// evmAddress returns an address that suits an operation.
func (s *samples) evmAddress(path string) sample {
	switch {
	case strings.Contains(path, "/nfts"):
		return s.collection()
	case strings.HasSuffix(path, "/deployments"):
		return s.deployer()
	case strings.Contains(path, "/tokens/"), strings.Contains(path, "/contracts/"), strings.HasSuffix(path, "/addresses/{address}"):
		return s.token()
	}
	return s.account()
}
