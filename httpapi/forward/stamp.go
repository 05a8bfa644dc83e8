package forward

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Header is the header of a request that a server of the fleet sends to another one:
//
//	v1 TIME SENDER CLIENT SUM MAC
//
// with the Unix time, the random name of the process that sends it, the client that it is
// for (base64, - for none), the SHA-256 of the body and, over all of this with the method and
// the URI, HMAC-SHA256 by a secret of the fleet.
const Header = "X-Quorate-Fleet"

const (
	version = "v1"
	parts   = 6
	// maxSkew is how far the clocks of two servers may be apart, with the time that a request
	// takes. It is for how long a request that somebody else has seen is good.
	maxSkew = time.Minute
)

// stamp is what the header says.
type stamp struct {
	sender, client string
	sum            [sha256.Size]byte // of the body
}

// Sign makes the header of a request of a process for a client, which may be empty.
func Sign(secret []byte, method, uri, sender, client string, body []byte, now time.Time) string {
	sum := sha256.Sum256(body)
	named := "-"
	if client != "" {
		named = base64.RawURLEncoding.EncodeToString([]byte(client))
	}
	text := strings.Join([]string{version, strconv.FormatInt(now.Unix(), 10), sender, named, hex.EncodeToString(sum[:])}, " ")
	return text + " " + mac(secret, method, uri, text)
}

func mac(secret []byte, method, uri, text string) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(method + "\n" + uri + "\n" + text)) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// read returns what a header says, ok false if it was not made by any of the secrets for the
// method and the URI, or too long ago.
func read(secrets [][]byte, method, uri, header string, now time.Time) (s stamp, ok bool) {
	part := strings.Split(header, " ")
	if len(part) != parts || part[0] != version {
		return s, false
	}
	text, given := header[:len(header)-len(part[5])-1], []byte(part[5])
	for _, secret := range secrets {
		ok = ok || subtle.ConstantTimeCompare([]byte(mac(secret, method, uri, text)), given) == 1
	}
	if !ok {
		return s, false
	}
	made, err := strconv.ParseInt(part[1], 10, 64)
	if err != nil || now.Sub(time.Unix(made, 0)).Abs() > maxSkew {
		return s, false
	}
	if part[3] != "-" {
		client, err := base64.RawURLEncoding.DecodeString(part[3])
		if err != nil {
			return s, false
		}
		s.client = string(client)
	}
	sum, err := hex.DecodeString(part[4])
	if err != nil || len(sum) != len(s.sum) {
		return s, false
	}
	s.sender, s.sum = part[2], [sha256.Size]byte(sum)
	return s, true
}
