package platform

import (
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// version is that of all blocks and transactions.
const version = 0

// Lengths of the shortest encodings: of a transaction that moves time, without
// credentials, and of a validator at a conversion.
const (
	minTx          = 4 + 8 + 4
	minL1Validator = 4 + 8 + 8 + signerLen + 2*minL1Owner
	minL1Owner     = 4 + 4
)

// TxKind is the type ID of a transaction.
type TxKind uint32

// The kinds of transactions. The numbers are those of the encoding.
const (
	KindAddValidator               TxKind = 12
	KindAddSubnetValidator         TxKind = 13
	KindAddDelegator               TxKind = 14
	KindCreateChain                TxKind = 15
	KindCreateSubnet               TxKind = 16
	KindImport                     TxKind = 17
	KindExport                     TxKind = 18
	KindAdvanceTime                TxKind = 19
	KindRewardValidator            TxKind = 20
	KindRemoveSubnetValidator      TxKind = 23
	KindTransformSubnet            TxKind = 24
	KindAddPermissionlessValidator TxKind = 25
	KindAddPermissionlessDelegator TxKind = 26
	KindTransferSubnetOwnership    TxKind = 33
	KindBase                       TxKind = 34
	KindConvertSubnetToL1          TxKind = 35
	KindRegisterL1Validator        TxKind = 36
	KindSetL1ValidatorWeight       TxKind = 37
	KindIncreaseL1ValidatorBalance TxKind = 38
	KindDisableL1Validator         TxKind = 39
	// Since Helicon.
	KindAddAutoRenewedValidator       TxKind = 40
	KindSetAutoRenewedValidatorConfig TxKind = 41
	KindRewardAutoRenewedValidator    TxKind = 42
)

// kinds holds, by type ID, the name that nodes use and what makes an empty body.
var kinds = [...]struct {
	name string
	body func() Body
}{
	KindAddValidator:               {"AddValidatorTx", func() Body { return new(AddValidator) }},
	KindAddSubnetValidator:         {"AddSubnetValidatorTx", func() Body { return new(AddSubnetValidator) }},
	KindAddDelegator:               {"AddDelegatorTx", func() Body { return new(AddDelegator) }},
	KindCreateChain:                {"CreateChainTx", func() Body { return new(CreateChain) }},
	KindCreateSubnet:               {"CreateSubnetTx", func() Body { return new(CreateSubnet) }},
	KindImport:                     {"ImportTx", func() Body { return new(Import) }},
	KindExport:                     {"ExportTx", func() Body { return new(Export) }},
	KindAdvanceTime:                {"AdvanceTimeTx", func() Body { return new(AdvanceTime) }},
	KindRewardValidator:            {"RewardValidatorTx", func() Body { return new(RewardValidator) }},
	KindRemoveSubnetValidator:      {"RemoveSubnetValidatorTx", func() Body { return new(RemoveSubnetValidator) }},
	KindTransformSubnet:            {"TransformSubnetTx", func() Body { return new(TransformSubnet) }},
	KindAddPermissionlessValidator: {"AddPermissionlessValidatorTx", func() Body { return new(AddPermissionlessValidator) }},
	KindAddPermissionlessDelegator: {"AddPermissionlessDelegatorTx", func() Body { return new(AddPermissionlessDelegator) }},
	KindTransferSubnetOwnership:    {"TransferSubnetOwnershipTx", func() Body { return new(TransferSubnetOwnership) }},
	KindBase:                       {"BaseTx", func() Body { return new(Base) }},
	KindConvertSubnetToL1:          {"ConvertSubnetToL1Tx", func() Body { return new(ConvertSubnetToL1) }},
	KindRegisterL1Validator:        {"RegisterL1ValidatorTx", func() Body { return new(RegisterL1Validator) }},
	KindSetL1ValidatorWeight:       {"SetL1ValidatorWeightTx", func() Body { return new(SetL1ValidatorWeight) }},
	KindIncreaseL1ValidatorBalance: {"IncreaseL1ValidatorBalanceTx", func() Body { return new(IncreaseL1ValidatorBalance) }},
	KindDisableL1Validator:         {"DisableL1ValidatorTx", func() Body { return new(DisableL1Validator) }},

	KindAddAutoRenewedValidator:       {"AddAutoRenewedValidatorTx", func() Body { return new(AddAutoRenewedValidator) }},
	KindSetAutoRenewedValidatorConfig: {"SetAutoRenewedValidatorConfigTx", func() Body { return new(SetAutoRenewedValidatorConfig) }},
	KindRewardAutoRenewedValidator:    {"RewardAutoRenewedValidatorTx", func() Body { return new(RewardAutoRenewedValidator) }},
}

func (k TxKind) known() bool { return int(k) < len(kinds) && kinds[k].body != nil }

// KindNames returns the names of all kinds from one on.
func KindNames(from TxKind) (names []string) {
	for _, k := range kinds[from:] {
		if k.body != nil {
			names = append(names, k.name)
		}
	}
	return names
}

// String returns the name that nodes use, as in AddValidatorTx.
func (k TxKind) String() string {
	if !k.known() {
		return fmt.Sprintf("transaction type %d", uint32(k))
	}
	return kinds[k].name
}

// Tx is a signed transaction.
type Tx struct {
	// ID is the SHA-256 of the transaction's bytes. Size is their number.
	ID   chain.ID
	Size int

	Body        Body
	Credentials []utxo.Credential

	raw []byte // that it was read from, without the version; nil: it was made otherwise
}

// ParseTx reads a transaction as platform.getTx returns it.
func ParseTx(b []byte) (*Tx, error) {
	tx := new(Tx)
	if err := codec.Decode(b, version, codec.MaxLen, func(c *codec.Coder) { codeTx(c, tx) }); err != nil {
		return nil, fmt.Errorf("P-Chain transaction: %w", err)
	}
	return tx, nil
}

// Bytes returns the form that [ParseTx] reads.
func (tx *Tx) Bytes() ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeTx(c, tx) })
}

// AppendRaw appends what [Tx.Bytes] returns. Of a transaction that was read it appends the
// bytes that were: it must not have been changed.
func (tx *Tx) AppendRaw(dst []byte) ([]byte, error) {
	if tx.raw != nil {
		return append(binary.BigEndian.AppendUint16(dst, version), tx.raw...), nil
	}
	return codec.Append(dst, version, func(c *codec.Coder) { codeTx(c, tx) })
}

// UnsignedBytes returns the bytes whose SHA-256 the credentials sign.
func (tx *Tx) UnsignedBytes() ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeBody(c, &tx.Body) })
}

// codeTx reads or writes a transaction without a version: as in a block. The ID
// covers the version too.
func codeTx(c *codec.Coder, tx *Tx) {
	start := c.Offset()
	codeBody(c, &tx.Body)
	utxo.CodeCredentials(c, &tx.Credentials, false)
	if c.Reading() && c.Err() == nil {
		tx.raw = c.Since(start)
		tx.ID, tx.Size = codec.HashOf(version, tx.raw)
	}
}

func codeBody(c *codec.Coder, body *Body) {
	if codec.Choice(c, body, TxKind.known, func(k TxKind) Body { return kinds[k].body() }) {
		(*body).code(c)
	}
}

func codeTxs(c *codec.Coder, list *[]Tx) { codec.List(c, list, minTx, codeTx) }
