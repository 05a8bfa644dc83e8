// Package l1 makes L1s on a local network and changes them, with avalanchego's
// own wallet and clients: subnets, their chains of the virtual machine subnet-evm,
// the conversion, and the transactions that change a validator set.
package l1
