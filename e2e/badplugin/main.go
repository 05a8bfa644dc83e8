// Command badplugin is a virtual machine plugin that does not work. In what way,
// the extension of its file's name says: .exit, .hang or .version.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ava-labs/avalanchego/version"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/grpcutils"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/gruntime"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/runtime"

	pb "github.com/ava-labs/avalanchego/proto/pb/vm/runtime"
)

const (
	exitCode = 3
	// lifetime bounds how long a process may be left behind by whoever does not end it.
	lifetime = 2 * time.Minute
)

func main() {
	switch mode := filepath.Ext(os.Args[0]); mode {
	case ".exit":
		fmt.Fprintln(os.Stderr, "the genesis is missing")
		os.Exit(exitCode)
	case ".hang":
		hang()
	case ".version":
		if err := dialBack(); err != nil {
			fmt.Fprintln(os.Stderr, "refused:", err)
			os.Exit(exitCode)
		}
		<-time.After(lifetime)
	default:
		fmt.Fprintf(os.Stderr, "no way to fail is called %q\n", mode)
		os.Exit(1)
	}
}

// hang starts a process of its own that does the same, and never dials back.
func hang() {
	if len(os.Args) == 1 {
		child := exec.Command(os.Args[0], "child")
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	<-time.After(lifetime)
}

// dialBack completes the handshake with the version before the right one.
func dialBack() error {
	conn, err := grpcutils.Dial(os.Getenv(runtime.EngineAddressKey))
	if err != nil {
		return err
	}
	defer conn.Close()
	listener, err := grpcutils.NewListener()
	if err != nil {
		return err
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), runtime.DefaultHandshakeTimeout)
	defer cancel()
	return gruntime.NewClient(pb.NewRuntimeClient(conn)).Initialize(ctx, version.RPCChainVMProtocol-1, listener.Addr().String())
}
