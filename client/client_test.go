package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"quorate/client"
)

// fake starts a server that answers as f says, with the number of the request from 1 on.
func fake(t *testing.T, f func(n int, w http.ResponseWriter, r *http.Request)) *client.Client {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(int(n.Add(1)), w, r) }))
	t.Cleanup(s.Close)
	return client.New(s.URL + "/")
}

func refuse(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"message":["not now"],"statusCode":%d}`, status)
}

// What may succeed later is repeated; what is refused, and what may have been done, is not.
func TestRepeats(t *testing.T) {
	t.Parallel()
	export := func(c *client.Client) error {
		_, err := c.PostTransactionExportJob(context.Background(), client.ExportRequest{})
		return err
	}
	sign := func(c *client.Client) error {
		_, err := c.Aggregate(context.Background(), "fuji", client.AggregateRequest{})
		return err
	}
	for name, test := range map[string]struct {
		do      func(*client.Client) error
		status  int
		repeats bool
	}{
		"busy":                {sign, 503, true},
		"over the rate":       {sign, 429, true},
		"bad upstream":        {sign, 502, true},
		"refused":             {sign, 400, false},
		"export, busy":        {export, 503, true},
		"export, maybe begun": {export, 500, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake(t, func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					refuse(w, test.status)
					return
				}
				fmt.Fprint(w, `{"signedMessage":"00"}`)
			})
			err := test.do(c)
			var e *client.Error
			switch {
			case test.repeats && err != nil:
				t.Error(err)
			case !test.repeats && (!errors.As(err, &e) || e.Status != test.status || e.Message != "not now"):
				t.Errorf("%v", err)
			}
		})
	}
}

// Patience ends, and so does a context.
func TestPatience(t *testing.T) {
	t.Parallel()
	c := fake(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		refuse(w, 503)
	})
	var e *client.Error
	if _, err := c.SupportedChains(t.Context(), nil); !errors.As(err, &e) || e.RetryAfter != time.Hour {
		t.Errorf("%v", err)
	}
	c.Patience = 2 * time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := c.SupportedChains(ctx, nil); err == nil {
		t.Error("the context's end ended nothing")
	}
}

// A stream that breaks is continued after the last event, and one that cannot be is an error.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	c := fake(t, func(n int, w http.ResponseWriter, r *http.Request) {
		at := r.URL.Query().Get("lastEventId")
		switch n {
		case 1:
			if at != "" || r.URL.Query().Get("startBlock") != "5" {
				t.Errorf("the first request: %s", r.URL)
			}
			fmt.Fprint(w, ": a comment\n\nid: a\nevent: block\ndata: {\"n\":\ndata: 1}\n\nid: b\nevent: block\nda")
		case 2:
			if at != "a" || r.URL.Query().Has("startBlock") {
				t.Errorf("the second request: %s", r.URL)
			}
			fmt.Fprint(w, "id: b\nevent: block\ndata: {\"n\":2}\n\nid: c\n\nevent: end\ndata: {\"reason\":\"stopping\",\"message\":\"bye\"}\n\n")
		case 3:
			refuse(w, 503)
		case 4:
			if at != "c" {
				t.Errorf("the fourth request: %s", r.URL)
			}
			fmt.Fprint(w, "event: end\ndata: {\"reason\":\"lost\",\"message\":\"too far back\"}\n\n")
		}
	})
	var got []int
	for e, err := range c.Events(t.Context(), client.StreamEventsParams{Topics: []string{"blocks"}, StartBlock: 5}) {
		if err != nil {
			var gone *client.Error
			if !errors.As(err, &gone) || gone.Status != http.StatusGone {
				t.Errorf("the end: %v", err)
			}
			break
		}
		var v struct{ N int }
		if err := e.Decode(&v); err != nil {
			t.Fatal(err)
		}
		got = append(got, v.N)
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("events %v", got)
	}
}

// An event that was cut off is neither given out nor skipped: the ID of a cut event must not
// be where the stream goes on.
func TestEventsCut(t *testing.T) {
	t.Parallel()
	c := fake(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			fmt.Fprint(w, "id: a\nevent: block\ndata: 1\n\nid: b\nevent: block\ndata: 2")
			return
		}
		if at := r.URL.Query().Get("lastEventId"); at != "a" {
			t.Errorf("it goes on after %q", at)
		}
		fmt.Fprint(w, "id: b\nevent: block\ndata: 2\n\n")
	})
	n := 0
	for _, err := range c.Events(t.Context(), client.StreamEventsParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
	}
}

// A stream on which nothing happens is alive by its comments, and is continued when it breaks,
// however long ago the last event was.
func TestEventsQuiet(t *testing.T) {
	t.Parallel()
	c := fake(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 1 {
			fmt.Fprint(w, "id: a\nevent: block\ndata: 1\n\n")
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client has gone otherwise
		<-time.After(200 * time.Millisecond)
		fmt.Fprint(w, ": alive\n\n")
	})
	c.Patience = 100 * time.Millisecond
	for e, err := range c.Events(t.Context(), client.StreamEventsParams{}) {
		if err != nil || e.Name != "block" {
			t.Errorf("%v %v", e, err)
		}
		break
	}
}
