package vm

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// engineAddress is the variable in which a plugin finds the address to dial back to.
const engineAddress = "AVALANCHE_VM_RUNTIME_ENGINE_ADDR"

// engine is the service one plugin dials back to.
type engine struct {
	protocols []uint32
	addr      string
	server    *grpc.Server
	served    chan struct{} // closed when the server has ended

	once  sync.Once
	done  chan struct{} // closed with the first call, which says what follows
	vm    string        // the plugin's address
	fault error
}

// newEngine listens on a port of its own, so that an answer belongs to one plugin.
func newEngine(protocols []uint32) (*engine, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no loopback port for the handshake: %w", err)
	}
	e := &engine{
		protocols: protocols,
		addr:      ln.Addr().String(),
		served:    make(chan struct{}),
		done:      make(chan struct{}),
		server: grpc.NewServer(
			grpc.ForceServerCodecV2(codec{}),
			grpc.MaxRecvMsgSize(maxMessage),
			grpc.MaxHeaderListSize(maxMessage),
			grpc.MaxConcurrentStreams(4),
		),
	}
	e.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: runtimeService,
		Methods: []grpc.MethodDesc{{
			MethodName: methodInitialize,
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return e.initialize(decode)
			},
		}},
	}, nil)
	go func() {
		defer close(e.served)
		_ = e.server.Serve(ln) // ends with stop; a plugin that cannot connect is told of by the timeout
	}()
	return e, nil
}

// stop ends the service and waits for its goroutines.
func (e *engine) stop() {
	e.server.Stop()
	<-e.served
}

// initialize takes the first call; later ones get the same answer.
func (e *engine) initialize(decode func(any) error) (any, error) {
	var req initializeRequest
	err := decode(&req)
	e.once.Do(func() {
		defer close(e.done)
		if err != nil {
			e.fault = fmt.Errorf("the VM sent a message that cannot be read: %s", clean(status.Convert(err).Message(), maxLine))
			return
		}
		e.vm, e.fault = req.addr, e.check(req)
	})
	if e.fault != nil {
		return nil, status.Error(codes.FailedPrecondition, e.fault.Error())
	}
	return &empty{}, nil
}

func (e *engine) check(req initializeRequest) error {
	if !slices.Contains(e.protocols, req.protocol) {
		return fmt.Errorf("the VM speaks RPCChainVM protocol version %d, the followed nodes speak %s", req.protocol, either(e.protocols))
	}
	// A plugin runs on this machine; whatever else it says is not worth a connection.
	addr, err := netip.ParseAddrPort(req.addr)
	if err != nil || !addr.Addr().IsLoopback() || addr.Port() == 0 {
		return fmt.Errorf("the VM gave %q as its address, which is not a loopback address with a port", clean(req.addr, maxLine))
	}
	return nil
}

// either writes "45 or 46".
func either(versions []uint32) string {
	texts := make([]string, len(versions))
	for i, v := range versions {
		texts[i] = strconv.FormatUint(uint64(v), 10)
	}
	return strings.Join(texts, " or ")
}
