package providers

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"perch/chat"
)

const (
	// dialTimeout bounds connecting; a name that resolves to a dead address must
	// not hold a run for the system's two minutes.
	dialTimeout = 10 * time.Second
	// tlsTimeout bounds the handshake.
	tlsTimeout = 10 * time.Second
	// aliveIdle, aliveEvery and aliveCount find a dead connection in 8 s, within
	// the 10 s that a run may take to notice.
	aliveIdle  = 4 * time.Second
	aliveEvery = 2 * time.Second
	aliveCount = 2
	// pingAfter and pingTimeout are the same for HTTP/2, which answers pings.
	pingAfter   = 5 * time.Second
	pingTimeout = 4 * time.Second
	// idleConn is how long a connection is kept for the next turn.
	idleConn = 90 * time.Second
	// maxRedirects is what a moved API needs at most.
	maxRedirects = 3
)

// NewHTTPClient makes the client for all vendors: proxy from the environment,
// the system's certificates plus PERCH_CA (a file or folder of PEM; SSL_CERT_FILE
// is honoured by the standard library), HTTP/2 with pings, and a redirect policy
// that never carries a key or a body to another host.
func NewHTTPClient() (*http.Client, error) {
	pool, err := certPool(os.Getenv("PERCH_CA"))
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{
		Timeout:         dialTimeout,
		Control:         dialControl,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveIdle, Interval: aliveEvery, Count: aliveCount},
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   tlsTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       idleConn,
		MaxIdleConnsPerHost:   4, // the sessions that may run at once
		Protocols:             protocols,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	return &http.Client{Transport: t, CheckRedirect: redirect}, nil
}

// redirect follows a moved address on the same host only. Another host would get
// the key, and a changed method would lose the body: both are shown as an error.
func redirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.URL.Host != first.URL.Host || req.Method != first.Method ||
		first.URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// certPool returns the system's certificates and those of the user; nil, which
// means the system's, where the user has none.
func certPool(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	files := []string{path}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		files, _ = filepath.Glob(filepath.Join(path, "*"))
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	found := false
	for _, f := range files {
		pem, err := os.ReadFile(f)
		found = err == nil && pool.AppendCertsFromPEM(pem) || found
	}
	if !found {
		return nil, chat.NewError(chat.ClassMisuse, "err.provider.ca", "PERCH_CA names %s, which holds no readable certificate in PEM form. Correct it or unset it.", path)
	}
	return pool, nil
}
