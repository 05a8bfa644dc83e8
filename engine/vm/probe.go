package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// failedStopTimeout is how long a plugin that has failed may take to end
// before it is killed: real VMs pay no heed to a signal before the call of
// Shutdown, and one that was never initialized has nothing to lose.
const failedStopTimeout = 500 * time.Millisecond

// brokenTimeout is how long after a broken connection the process is expected to end.
const brokenTimeout = 200 * time.Millisecond

// errExited is why a plugin's context ends when its process does.
var errExited = errors.New("the process has ended")

// probe starts one plugin, asks its version and ends it. It is used once.
type probe struct {
	cfg       *Config
	path      string
	protocols []uint32 // one of which the plugin must speak

	// What follows is set when run returns.
	stdout, stderr tail
	exit           string // how the process ended; empty: it never started
	killed         bool   // it did not end by itself
}

// run returns the version. When it returns, the process and its group are gone.
func (p *probe) run(ctx context.Context) (string, error) {
	// The process asks the kernel to be killed when the thread that started it
	// ends, so that it does not outlive this program. The thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := newEngine(p.protocols)
	if err != nil {
		return "", err
	}
	defer e.stop()
	proc, err := startProcess(ctx, p.path, engineAddress+"="+e.addr, &p.stdout, &p.stderr)
	if err != nil {
		return "", fmt.Errorf("failed to start process: %w", bare(err))
	}
	version, step, err := p.talk(proc.ctx, e)
	grace := p.cfg.StopTimeout
	if err != nil {
		grace = failedStopTimeout
	}
	state, killed := proc.stop(ctx, grace)
	p.exit, p.killed = exitText(state), killed
	if errors.Is(err, errExited) {
		err = fmt.Errorf("the process %s%s", p.exit, p.lastWords())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", step, err)
	}
	return version, nil
}

// lastWords returns what the process said last, as the end of a sentence. Some
// VMs tell on their output why they give up.
func (p *probe) lastWords() string {
	if line := cmp.Or(p.stderr.lastLine(), p.stdout.lastLine()); line != "" {
		return ": " + line
	}
	return ""
}

// exitText describes how a process ended.
func exitText(state *os.ProcessState) string {
	switch {
	case state == nil: // somebody else has reaped it
		return "has ended"
	case state.Exited():
		return fmt.Sprintf("exited with code %d", state.ExitCode())
	default:
		return "was ended by " + state.String() // "signal: segmentation fault"
	}
}

// Steps of talk, as the cause of a failure names them.
const (
	stepHandshake = "handshake failed"
	stepVersion   = "the version cannot be read"
)

// talk completes the handshake, reads the version and tells the VM to shut
// down; step is where it failed. The context ends with the process.
func (p *probe) talk(ctx context.Context, e *engine) (version, step string, err error) {
	if err := p.await(ctx, e); err != nil {
		return "", stepHandshake, err
	}
	conn, err := dial(e.vm)
	if err != nil {
		return "", stepHandshake, err
	}
	defer conn.Close() // ends what is under way; there is nothing to lose
	var answer versionResponse
	if err := p.call(ctx, conn, methodVersion, &answer, p.cfg.HandshakeTimeout); err != nil {
		return "", stepVersion, err
	}
	if !validVersion(answer.version) {
		return "", stepVersion, fmt.Errorf("it is not plain text of at most %d bytes", maxVersion)
	}
	// From here on the VM counts as loaded. Without this call it would pay no
	// heed to the signal; if the call fails, it is killed.
	_ = p.call(ctx, conn, methodShutdown, &empty{}, p.cfg.StopTimeout)
	return answer.version, "", nil
}

// await returns when the plugin has dialled back.
func (p *probe) await(ctx context.Context, e *engine) error {
	timeout := time.NewTimer(p.cfg.HandshakeTimeout)
	defer timeout.Stop()
	select {
	case <-e.done:
		return e.fault
	case <-timeout.C:
		return fmt.Errorf("the VM has not dialled back within %s", p.cfg.HandshakeTimeout)
	case <-ctx.Done():
	}
	select {
	case <-e.done: // it ended because of our answer, which tells more
		if e.fault != nil {
			return e.fault
		}
	default:
	}
	return context.Cause(ctx)
}

// dial prepares a connection to the VM's own service.
func dial(addr string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer // no proxy: the address is on this machine
			return d.DialContext(ctx, "tcp", addr)
		}),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(codec{}),
			grpc.MaxCallRecvMsgSize(maxMessage),
			// Some VMs listen only after their handshake.
			grpc.WaitForReady(true),
		),
		grpc.WithMaxHeaderListSize(maxMessage),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("the VM's address cannot be dialled: %w", err)
	}
	return conn, nil
}

// call asks the VM, which gets timeout to answer.
func (p *probe) call(ctx context.Context, conn *grpc.ClientConn, method string, answer message, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	err := conn.Invoke(ctx, method, &empty{}, answer)
	if err == nil {
		return nil
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		// A connection breaks a little before the end of the process is seen, and
		// the VM, which is told the deadline, may end the call a little before it.
		// Either tells more.
		select {
		case <-ctx.Done():
		case <-time.After(brokenTimeout):
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New(clean(status.Convert(err).Message(), maxLine))
}
