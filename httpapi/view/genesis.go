package view

import (
	"bytes"
	"math/big"
	"slices"
	"strconv"

	"github.com/goccy/go-json"
)

const (
	// MaxGenesisData bounds the genesis data that are looked at, in bytes: the P-Chain
	// takes none above 1 MiB but for those of its own genesis.
	MaxGenesisData = 4 << 20
	// maxGenesisJSON bounds what is shown of them.
	maxGenesisJSON = 2 << 20
	// maxQuantity bounds the digits of a number that is shown in hex: those of 256 bits.
	maxQuantity = 78
	// maxNumber bounds the digits of a number that is shown as such: those of 64 bits.
	maxNumber = 20
)

// Genesis is what is shown of the genesis data of a blockchain. It is zero of chains
// that are not of the EVM.
type Genesis struct {
	// ChainID is the EVM chain number, 0 for none.
	ChainID uint64
	// JSON is an object with the members of the contract that the data have, nil for
	// data that are no JSON object.
	JSON []byte
}

// genesisText are the members that are strings, and can be null where the flag is set.
// Quantities that stand as numbers in the data are shown in hex like the others.
var genesisText = []struct {
	name     string
	nullable bool
}{
	{"airdropHash", false}, {"blobGasUsed", true}, {"coinbase", false}, {"difficulty", false}, {"excessBlobGas", true},
	{"extraData", false}, {"gasLimit", false}, {"gasUsed", false}, {"mixHash", false}, {"nonce", false}, {"number", false},
	{"parentHash", false}, {"timestamp", false},
}

// genesisNull are the members that the contract has in hex, and one of the SDKs as
// numbers: both can read null.
var genesisNull = []string{"airdropAmount", "baseFeePerGas"}

var (
	configNumbers = []string{
		"berlinBlock", "byzantiumBlock", "chainId", "constantinopleBlock", "eip150Block", "eip155Block", "eip158Block",
		"homesteadBlock", "istanbulBlock", "londonBlock", "muirGlacierBlock", "petersburgBlock", "subnetEVMTimestamp",
	}
	feeNumbers = []string{
		"baseFeeChangeDenominator", "blockGasCostStep", "gasLimit", "maxBlockGasCost", "minBaseFee", "minBlockGasCost",
		"targetBlockRate", "targetGas",
	}
	configAllowLists = []string{
		"contractDeployerAllowListConfig", "contractNativeMinterConfig", "feeManagerConfig", "rewardManagerConfig", "txAllowListConfig",
	}
	allowLists = []string{"adminAddresses", "enabledAddresses", "managerAddresses"}
)

// object are the members of a JSON object, not looked at yet.
type object map[string]json.RawMessage

// objectOf reads an object; nil if raw is none.
func objectOf(raw []byte) object {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// ParseGenesis returns what is shown of genesis data, which anybody can have written.
// Members that the contract does not name, or not with such values, are left out.
func ParseGenesis(raw []byte) Genesis {
	if len(raw) > MaxGenesisData {
		return Genesis{}
	}
	data := objectOf(raw)
	config := objectOf(data["config"])
	if config == nil {
		return Genesis{} // JSON of another kind of chain
	}
	var w Writer
	w.Raw("{")
	for _, name := range genesisNull {
		if _, ok := data[name]; ok {
			w.Member(name)
			w.Raw("null")
		}
	}
	for _, m := range genesisText {
		w.genesisText(m.name, data[m.name], m.nullable)
	}
	w.genesisAlloc(objectOf(data["alloc"]))
	w.Member("config")
	w.genesisConfig(config)
	w.Raw("}")
	g := Genesis{JSON: w.B}
	if n, ok := wholeNumber(config["chainId"]); ok {
		if id, err := strconv.ParseUint(string(n), 10, 64); err == nil {
			g.ChainID = id
		}
	}
	if len(g.JSON) > maxGenesisJSON {
		g.JSON = nil
	}
	return g
}

// genesisText writes a member that is a string, or a number in hex.
func (w *Writer) genesisText(name string, raw json.RawMessage, nullable bool) {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			w.text(name, s)
		}
	case string(raw) == "null":
		if nullable {
			w.Member(name)
			w.Raw("null")
		}
	default:
		if n, ok := wholeNumber(raw); ok && len(n) <= maxQuantity && n[0] != '-' {
			if v, ok := new(big.Int).SetString(string(n), 10); ok {
				w.text(name, "0x"+v.Text(16))
			}
		}
	}
}

// wholeNumber returns the digits of a JSON number without point and exponent.
func wholeNumber(raw json.RawMessage) ([]byte, bool) {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	for _, c := range digits {
		if c < '0' || c > '9' {
			return nil, false
		}
	}
	return raw, len(digits) > 0
}

// sorted returns the names of an object in an order that is always the same.
func (o object) sorted() []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *Writer) genesisAlloc(alloc object) {
	if alloc == nil {
		return
	}
	w.Member("alloc")
	w.Raw("{")
	for _, address := range alloc.sorted() {
		account := objectOf(alloc[address])
		if account == nil {
			continue
		}
		w.Comma()
		w.B = append(AppendString(w.B, address), ':', '{')
		w.genesisText("balance", account["balance"], false)
		w.genesisText("code", textOnly(account["code"]), false)
		if storage := objectOf(account["storage"]); storage != nil {
			w.Member("storage")
			w.genesisStorage(storage)
		}
		w.Raw("}")
	}
	w.Raw("}")
}

func (w *Writer) genesisStorage(storage object) {
	w.Raw("{")
	for _, slot := range storage.sorted() {
		var value string
		if json.Unmarshal(storage[slot], &value) != nil {
			continue
		}
		w.Comma()
		w.B = append(AppendString(w.B, slot), ':')
		w.B = AppendString(w.B, value)
	}
	w.Raw("}")
}

func (w *Writer) genesisConfig(config object) {
	w.Raw("{")
	w.genesisNumbers(config, configNumbers)
	w.genesisText("eip150Hash", textOnly(config["eip150Hash"]), false)
	w.genesisBool("allowFeeRecipients", config["allowFeeRecipients"])
	if fees := objectOf(config["feeConfig"]); fees != nil {
		w.Member("feeConfig")
		w.Raw("{")
		w.genesisNumbers(fees, feeNumbers)
		w.Raw("}")
	}
	if warp := objectOf(config["warpConfig"]); warp != nil {
		w.Member("warpConfig")
		w.Raw("{")
		w.genesisNumbers(warp, []string{"blockTimestamp", "quorumNumerator"})
		w.genesisBool("requirePrimaryNetworkSigners", warp["requirePrimaryNetworkSigners"])
		w.Raw("}")
	}
	for _, name := range configAllowLists {
		if list := objectOf(config[name]); list != nil {
			w.Member(name)
			w.genesisAllowList(list)
		}
	}
	w.Raw("}")
}

func (w *Writer) genesisAllowList(list object) {
	w.Raw("{")
	w.genesisNumbers(list, []string{"blockTimestamp"})
	for _, name := range allowLists {
		var addresses []string
		if json.Unmarshal(list[name], &addresses) != nil || addresses == nil {
			continue
		}
		w.Member(name)
		w.Raw("[")
		for _, a := range addresses {
			w.Comma()
			w.B = AppendString(w.B, a)
		}
		w.Raw("]")
	}
	w.Raw("}")
}

// genesisNumbers writes those of the named members that are whole numbers.
func (w *Writer) genesisNumbers(o object, names []string) {
	for _, name := range names {
		if n, ok := wholeNumber(o[name]); ok && len(n) <= maxNumber {
			w.Member(name)
			w.B = append(w.B, n...)
		}
	}
}

func (w *Writer) genesisBool(name string, raw json.RawMessage) {
	if v := string(raw); v == "true" || v == "false" {
		w.Member(name)
		w.Raw(v)
	}
}

// textOnly returns raw if it is a string.
func textOnly(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && raw[0] == '"' {
		return raw
	}
	return nil
}
