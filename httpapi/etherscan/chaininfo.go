package etherscan

import (
	"errors"
	"math"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// getstatus writes whether a transaction failed, and why.
func getstatus(c *call) error {
	tx, err := c.txOf("txhash")
	if err != nil {
		return err
	}
	failed, why := false, ""
	if tx != nil && tx.Failed {
		if failed, why = true, "execution reverted"; tx.Failure != nil {
			why = tx.Failure.Reason()
		}
	}
	c.w.Raw("{")
	c.w.flag("isError", failed)
	c.w.text("errDescription", why)
	c.w.Raw("}")
	return nil
}

// gettxreceiptstatus writes the status of a receipt, empty if there is none.
func gettxreceiptstatus(c *call) error {
	tx, err := c.txOf("txhash")
	if err != nil {
		return err
	}
	c.w.Raw("{")
	if tx == nil {
		c.w.text("status", "")
	} else {
		c.w.flag("status", !tx.Failed)
	}
	c.w.Raw("}")
	return nil
}

// txOf returns the transaction of a parameter, nil if there is none.
func (c *call) txOf(name string) (*index.Tx, error) {
	hash, err := c.hash(name)
	if err != nil {
		return nil, err
	}
	tx, found, err := c.v.Tx(hash)
	if !found {
		tx = nil
	}
	return tx, err
}

// getblocknobytime writes the number of the block closest to a time.
func getblocknobytime(c *call) error {
	second, err := c.number("timestamp", math.MaxUint64)
	if err != nil || second > math.MaxInt64/1000 {
		return errors.Join(err, refusal("Invalid timestamp"))
	}
	tip := c.v.Tip()
	var number uint64
	switch c.arg("closest") {
	case "before":
		if number, err = c.v.BlocksBefore((second + 1) * 1000); err == nil && number <= c.v.First() {
			err = refusal("No closest block found")
		}
		number--
	case "after":
		if number, err = c.v.BlocksBefore(second * 1000); err == nil && number > tip.Number {
			err = refusal("No closest block found")
		}
	default:
		err = refusal("Invalid closest: must be before or after")
	}
	c.text(number)
	return err
}

// text writes a number as the whole result.
func (c *call) text(n uint64) { c.w.B = append(strconv.AppendUint(append(c.w.B, '"'), n, 10), '"') }

// recentBlocks is how many of the last blocks say how long one takes.
const recentBlocks = 1000

// getblockcountdown writes when a block will be there.
func getblockcountdown(c *call) error {
	target, err := c.number("blockno", 0)
	if err != nil {
		return err
	}
	tip := c.v.Tip()
	if target <= tip.Number {
		return refusal("Block number already pass")
	}
	since := tip.Number - min(recentBlocks, tip.Number-c.v.First())
	b, found, err := c.v.BlockAt(since)
	if err != nil || !found {
		return err
	}
	seconds := 0.0
	if since < tip.Number {
		seconds = float64(tip.TimeMilli-b.TimeMilli) / 1000 / float64(tip.Number-since) * float64(target-tip.Number)
	}
	c.w.Raw("{")
	c.w.count("CurrentBlock", tip.Number)
	c.w.count("CountdownBlock", target)
	c.w.count("RemainingBlock", target-tip.Number)
	c.w.text("EstimateTimeInSec", strconv.FormatFloat(seconds, 'f', 1, 64))
	c.w.Raw("}")
	return nil
}

// getblockreward says why there is none.
func getblockreward(c *call) error {
	return refusal("Blocks of this chain have no reward: what is paid for their gas is burnt, or goes where the chain's own rules say")
}

// tokenholderlist lists who has a token, in the order of addresses.
func tokenholderlist(c *call) error {
	token, err := c.address("contractaddress")
	if err != nil {
		return err
	}
	w, err := c.window()
	if err != nil {
		return err
	}
	meta, err := c.token(&token)
	if err != nil {
		return err
	}
	now := index.Frame{Start: c.v.Tip().TimeMilli/1000 + 1, End: math.MaxUint64}
	n := 0
	c.w.Raw("[")
	p := index.Page{Limit: min(w.skip+w.size, maxTokens)}
	for more := true; more; more = p.After != nil && n < w.skip+w.size {
		var list []index.Holder
		if meta.Kind == index.ERC721 || meta.Kind == index.ERC1155 {
			list, p.After, err = c.v.NFTHolders(token, p)
		} else {
			list, p.After, err = c.v.Holders(token, uint256.Int{}, now, p)
		}
		if err == nil {
			err = c.room()
		}
		if err != nil {
			return err
		}
		for i := range list {
			if n++; n > w.skip && n <= w.skip+w.size {
				c.w.open()
				c.w.address("TokenHolderAddress", &list[i].Address)
				c.w.amount("TokenHolderQuantity", &list[i].Balance)
				c.w.Raw("}")
			}
		}
	}
	c.passed += n
	c.w.Raw("]")
	return nil
}

// tokeninfo writes what a token says of itself.
func tokeninfo(c *call) error {
	token, meta, err := c.asked()
	if err != nil {
		return err
	}
	c.w.Raw("[{")
	c.w.address("contractAddress", &token)
	c.w.text("tokenName", meta.Name)
	c.w.text("symbol", meta.Symbol)
	c.w.count("divisor", uint64(meta.Decimals))
	c.w.text("tokenType", standard(&meta))
	c.w.Raw("}]")
	return nil
}

// getToken is the same in the form of another explorer.
func getToken(c *call) error {
	token, meta, err := c.asked()
	if err != nil {
		return err
	}
	c.w.Raw("{")
	c.w.Raw(`"cataloged":true`)
	c.w.address("contractAddress", &token)
	c.w.count("decimals", uint64(meta.Decimals))
	c.w.text("name", meta.Name)
	c.w.text("symbol", meta.Symbol)
	c.w.text("type", standard(&meta))
	c.w.Raw("}")
	return nil
}

// asked returns the token that is asked about.
func (c *call) asked() (token evm.Address, meta index.TokenMeta, err error) {
	if token, err = c.address("contractaddress"); err != nil {
		return token, meta, err
	}
	meta, found, err := c.v.Token(token)
	if err == nil && !found {
		err = refusal("No token is known at " + token.String())
	}
	return token, meta, err
}

// standard names the standard of a token.
func standard(meta *index.TokenMeta) string {
	if meta.Kind == 0 {
		return ""
	}
	return meta.Kind.String()
}

// maxCreations is how many contracts one call may ask about.
const maxCreations = 5

// getcontractcreation lists who made contracts, and how.
func getcontractcreation(c *call) error {
	list, err := c.addresses("contractaddresses", maxCreations)
	if err != nil {
		return err
	}
	c.w.Raw("[")
	n := 0
	for i := range list {
		tx, k, found, err := c.v.Maker(list[i])
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		n++
		c.w.open()
		c.w.address("contractAddress", &list[i])
		c.w.address("contractCreator", &tx.From)
		c.w.hex("txHash", tx.Hash[:])
		c.w.count("blockNumber", tx.Block.Number)
		c.w.count("timestamp", tx.Block.TimeMilli/1000)
		if k >= 0 && tx.Calls[k].From != tx.From {
			c.w.address("contractFactory", &tx.Calls[k].From)
		} else {
			c.w.text("contractFactory", "")
		}
		c.w.text("creationBytecode", "")
		c.w.Raw("}")
	}
	if n == 0 {
		return none("No data found")
	}
	c.w.Raw("]")
	return nil
}

// unverified is what is said of contracts whose source is not known.
const unverified = "Contract source code not verified"

//lint:ignore ST1005 tools compare this text
var errUnverified = errors.New(unverified)

func getabi(c *call) error {
	if _, err := c.address("address"); err != nil {
		return err
	}
	return errUnverified
}

// getsourcecode writes that the source of a contract is not known.
func getsourcecode(c *call) error {
	if _, err := c.address("address"); err != nil {
		return err
	}
	c.w.Raw("[{")
	for _, name := range []string{"SourceCode", "ABI", "ContractName", "CompilerVersion", "CompilerType", "OptimizationUsed", "Runs",
		"ConstructorArguments", "EVMVersion", "Library", "ContractFileName", "LicenseType", "Proxy", "Implementation", "SwarmSource", "SimilarMatch"} {
		value := ""
		switch name {
		case "ABI":
			value = unverified
		case "Proxy":
			value = "0"
		}
		c.w.text(name, value)
	}
	c.w.Raw("}]")
	return nil
}

// ethprice writes the price of the chain's coin.
func ethprice(c *call) error {
	price := c.x.Price(c.chain.Info.ChainID)
	if price == "" {
		return refusal("The price of the chain's coin is not known here")
	}
	c.w.Raw("{")
	c.w.text("ethusd", price)
	c.w.text("ethusd_timestamp", strconv.FormatUint(c.v.Tip().TimeMilli/1000, 10))
	c.w.Raw("}")
	return nil
}
