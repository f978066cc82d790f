package mcp

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"perch/config"
)

// transport adds a connector's headers, bounds its answers and ends every one of
// them with the connection: a stream that a failed handshake left open would
// flow for ever.
type transport struct {
	life    context.Context
	base    http.RoundTripper
	host    string
	headers map[string]string
}

func newTransport(life context.Context, c config.Connector) http.RoundTripper {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.IdleConnTimeout = 30 * time.Second
	context.AfterFunc(life, base.CloseIdleConnections)
	t := &transport{life: life, base: base, headers: c.Headers}
	if u, err := url.Parse(c.URL); err == nil {
		t.host = u.Host
	}
	return t
}

// RoundTrip sends the request. The headers, which often hold a key, go to the
// connector's own host only, also after a redirect.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(t.life, cancel)
	end := func() { stop(); cancel() }
	req = req.Clone(ctx)
	if req.URL.Host == t.host {
		for k, v := range t.headers {
			req.Header.Set(k, v)
		}
	}
	res, err := t.base.RoundTrip(req)
	if err != nil {
		end()
		return nil, err
	}
	res.Body = &endingBody{res.Body, end}
	// Events are bounded one by one; a plain answer is bounded as a whole.
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxMessage}
	}
	return res, nil
}

// CloseIdleConnections lets the client drop its connections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// endingBody calls end when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// boundedBody fails once more than its bound was read.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}
