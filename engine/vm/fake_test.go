package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"quorate/engine/chain"
)

// The plugins of these tests are links to the test binary. What a plugin does
// is spelled out by its VM ID, which is its file name.

// lifetime ends a fake plugin that nobody has ended.
const lifetime = 2 * time.Minute

// Files a fake plugin leaves beside itself: each holds a lock as long as its process lives.
const leaderLock, childLock = ".leader-", ".child-"

func TestMain(m *testing.M) {
	if os.Getenv(engineAddress) == "" {
		os.Exit(m.Run())
	}
	// Not by os.Exit: where coverage is measured, that has words of its own to say.
	syscall.Exit(fakePlugin())
}

// fakeID returns the VM ID that makes a plugin behave so.
func fakeID(behaviour string) chain.ID {
	var id chain.ID
	copy(id[:], behaviour)
	return id
}

func fakePlugin() int {
	dir, file := filepath.Split(os.Args[0])
	id, err := chain.ParseID(file)
	if err != nil {
		id = fakeID("good") // named by an alias
	}
	prefix := leaderLock
	if len(os.Args) > 1 {
		prefix = childLock
	}
	// Never closed: the lock is given back by the kernel at the end.
	lock, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s%d", prefix, os.Getpid())))
	if err != nil {
		return fail(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fail(err)
	}
	f := fake{behaviour: strings.TrimRight(string(id[:]), "\x00"), shutdown: make(chan struct{})}
	code := f.child
	if len(os.Args) == 1 {
		code = f.run
	}
	ended := make(chan int, 1)
	go func() { ended <- code() }()
	select {
	case c := <-ended:
		return c
	case <-time.After(lifetime):
		return 99
	}
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "fake plugin:", err)
	return 98
}

type fake struct {
	behaviour string
	shutdown  chan struct{}
}

// raw is a message of any bytes.
type raw []byte

func (r raw) append(dst []byte) []byte { return append(dst, r...) }
func (r raw) parse([]byte) error       { return nil }

func (f *fake) child() int {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("child is up")
	select {}
}

// startChild returns when the child is up. It never waits for its end.
func startChild(attr *syscall.SysProcAttr) error {
	cmd := exec.Command(os.Args[0], "child")
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, attr // holds our output open
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.ReadFull(out, make([]byte, len("child is up")))
	return err
}

func (f *fake) run() int {
	protocol, addr := protocols[0], ""
	switch f.behaviour {
	case "exits":
		fmt.Fprintf(os.Stderr, "starting\nno room left in %s\n\n", filepath.Dir(os.Args[0])+"/state")
		return 3
	case "explains": // as subnet-evm does
		fmt.Print("failed to set fd limit")
		return 1
	case "crashes":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		select {}
	case "floods":
		line := []byte(strings.Repeat("flood ", 1000) + "\n")
		pause := time.NewTicker(time.Millisecond)
		for i := 0; ; i++ {
			os.Stderr.Write(line)
			os.Stdout.Write(line)
			if i > 2000 { // after some MiB at full speed, not all that a core can
				<-pause.C
			}
		}
	case "babbles":
		conn, err := net.Dial("tcp", os.Getenv(engineAddress))
		if err != nil {
			return fail(err)
		}
		conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		io.Copy(io.Discard, conn)
		select {}
	case "protocol":
		protocol = 39
	case "helicon": // a plugin of avalanchego v1.15.0
		protocol = 46
	case "address":
		addr = "not an\x00address"
	case "remote":
		addr = "192.0.2.1:80"
	case "nobody":
		addr = "127.0.0.1:1"
	case "child":
		if err := startChild(nil); err != nil {
			return fail(err)
		}
	case "escapes":
		if err := startChild(&syscall.SysProcAttr{Setsid: true}); err != nil {
			return fail(err)
		}
	}
	return f.serve(protocol, addr)
}

func (f *fake) serve(protocol uint32, addr string) int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	if addr == "" {
		addr = ln.Addr().String()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if err := f.dialBack(protocol, addr); err != nil {
		return fail(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec{}))
	unary := func(name string, do func() (message, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			if err := decode(&empty{}); err != nil {
				return nil, err
			}
			return do()
		}}
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "vm.VM", Methods: []grpc.MethodDesc{
		unary("Version", f.version), unary("Shutdown", f.stop),
	}}, nil)
	go server.Serve(ln)
	<-f.shutdown // a VM pays no heed to signals before
	<-signals
	if f.behaviour == "stubborn" {
		select {}
	}
	server.GracefulStop()
	return 0
}

func (f *fake) dialBack(protocol uint32, addr string) error {
	conn, err := grpc.NewClient("passthrough:///"+os.Getenv(engineAddress),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{})))
	if err != nil {
		return err
	}
	defer conn.Close()
	var req message = &initializeRequest{protocol: protocol, addr: addr}
	if f.behaviour == "garbage" {
		req = raw{0x0a, 0xff}
	}
	return conn.Invoke(context.Background(), "/"+runtimeService+"/"+methodInitialize, req, &empty{})
}

func (f *fake) version() (message, error) {
	switch f.behaviour {
	case "silent":
		select {}
	case "refuses":
		return nil, errors.New("version is a secret")
	case "dies":
		fmt.Fprintln(os.Stderr, "out of memory")
		syscall.Exit(7)
	case "longversion":
		return &versionResponse{strings.Repeat("v", maxMessage)}, nil
	case "oddversion":
		return &versionResponse{"v1\n\x1b[31m"}, nil
	case "garbled":
		return raw{0x0a, 0x05, 'v'}, nil
	case "environment":
		return &versionResponse{strings.Join(os.Environ(), " ")}, nil
	}
	return &versionResponse{"v1.2.3"}, nil
}

func (f *fake) stop() (message, error) {
	if f.behaviour == "lingers" {
		select {}
	}
	close(f.shutdown)
	return &empty{}, nil
}
