package bench

import (
	"bytes"
	"fmt"
	"net/url"

	"github.com/valyala/fasthttp"
)

// signing is the form of requests that have messages signed.
type signing struct {
	cfg  *Config
	path string
}

func newSigning(cfg *Config) signing {
	if cfg.Style == Kebab {
		return signing{cfg, "/aggregate-signatures"}
	}
	return signing{cfg, "/v1/signatureAggregator/" + url.PathEscape(cfg.Network) + "/aggregateSignatures"}
}

func (f signing) request(req *fasthttp.Request, base, message string) {
	req.SetRequestURI(base + f.path)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	format := `{"message":"%s","quorumPercentage":%d,"quorumPercentageBuffer":%d}`
	if f.cfg.Style == Kebab {
		format = `{"message":"%s","quorum-percentage":%d,"quorum-percentage-buffer":%d}`
	}
	req.SetBody(fmt.Appendf(req.Body(), format, message, f.cfg.Quorum, f.cfg.Buffer))
}

// kind returns "" for a good answer. That starts with the unsigned message;
// signatures are not verified, which would be another benchmark.
func (f signing) kind(message string, status int, body []byte) string {
	want, member := fasthttp.StatusCreated, `"signedMessage"`
	if f.cfg.Style == Kebab {
		want, member = fasthttp.StatusOK, `"signed-message"`
	}
	if status != want {
		return errorKind(status, body)
	}
	_, rest, found := bytes.Cut(body, []byte(member))
	rest = bytes.TrimLeft(rest, ` :"`)
	rest = bytes.TrimPrefix(rest, []byte("0x"))
	if !found || len(rest) <= len(message) || string(rest[:len(message)]) != message {
		return kindGarbage
	}
	return ""
}
