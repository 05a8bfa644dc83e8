// Command subnetevm is the virtual machine subnet-evm as a plugin. The module's
// own command does the same, but ends where a process may not open 32768 files.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ava-labs/avalanchego/graft/subnet-evm/plugin/evm"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm"
)

func main() {
	evm.RegisterAllLibEVMExtras()
	if err := rpcchainvm.Serve(context.Background(), &evm.VM{}); err != nil {
		fmt.Fprintln(os.Stderr, "subnetevm:", err)
		os.Exit(1)
	}
}
