package proc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports come from below the range that the kernel takes for outgoing connections
// (32768 and up), so that a server that is stopped finds its port free again.
const (
	firstPort = 20000
	lastPort  = 31999
	portTries = 200
)

// Ports finds n different loopback ports on which nothing listens. They are held
// all at once while looking and free when it returns: whoever starts on them must
// be ready for another process having been faster.
func Ports(n int) ([]int, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	ports := make([]int, 0, n)
	for range portTries {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for a free port: %w", err)
		}
		held = append(held, l)
		ports = append(ports, port)
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, fmt.Errorf("found %d free ports of %d in %d tries", len(ports), n, portTries)
}
