package source

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// firstRead is how much of an answer of unknown length is read before more room is asked
// for, which is twice as much each time.
const firstRead = 8 << 10

// sureRead is how much is made room for at once because a node says that it will come.
const sureRead = 1 << 20

// reading is an answer that is being read. Its room is its user's: [hold.end] is called
// when the answer is not needed any more.
type reading struct {
	resp     *fasthttp.Response
	pool     *Pool
	node     Endpoint
	limit    int
	deadline time.Time
}

// body reads an answer of at most limit bytes. It is the only place where answers of
// followed nodes are read. A connection whose answer was not read to its end is not used
// again. With an error nothing is held.
func (r *reading) body(ctx context.Context) (body []byte, room *hold, err error) {
	stream, ok := r.resp.BodyStream().(fasthttp.ReadCloserWithError)
	if !ok {
		return r.resp.SwapBody(nil), nil, nil // there is none
	}
	room = r.pool.begin(r.node.p.host, func() { _ = stream.CloseWithError(errCutOff) }) // its reader hears of it
	body, err = r.read(ctx, stream, room)
	room.whole()
	if e := stream.CloseWithError(err); err == nil {
		err = e
	}
	if err != nil {
		room.end()
		return nil, nil, r.classify(room, err)
	}
	return body, room, nil
}

func (r *reading) read(ctx context.Context, stream io.Reader, room *hold) ([]byte, error) {
	most := r.pool.limit(r.limit)
	size := r.resp.Header.ContentLength() // negative if not known
	if size > most {
		return nil, fasthttp.ErrBodyTooLarge
	}
	if size >= 0 {
		most = size
	}
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			if len(buf) > most {
				return nil, fasthttp.ErrBodyTooLarge
			}
			next := max(2*cap(buf), firstRead)
			if size >= 0 {
				next = max(next, sureRead)
			}
			next = min(next, most+1) // one more, to see the end
			if err := room.grow(ctx, next-cap(buf), r.deadline); err != nil {
				return nil, err
			}
			larger := make([]byte, len(buf), next)
			copy(larger, buf)
			buf = larger
		}
		n, err := stream.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > most:
			return nil, fasthttp.ErrBodyTooLarge
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// classify turns an error of reading into one of this package.
func (r *reading) classify(room *hold, err error) error {
	var network net.Error
	switch {
	case errors.Is(err, ErrTimeout), errors.Is(err, ErrTooLong):
		return err
	case room.wasLost():
		return errCutOff
	case errors.As(err, &network) && network.Timeout():
		return ErrTimeout
	}
	return classify(err)
}
