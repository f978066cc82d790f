package providers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"perch/chat"
)

// netError classes a failure of connecting, sending or reading. Only what is
// shaped like a fault of the transport is worth another attempt.
func netError(provider string, err error) *chat.Error {
	var (
		dns     *net.DNSError
		op      *net.OpError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		timeout net.Error
	)
	said := trimURL(err)
	switch {
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		return chat.NewError(chat.ClassBadRequest, "err.provider.certificate", "The certificate of %s is not trusted (%s). Behind a company proxy, set PERCH_CA to its certificate file.", provider, said)
	case errors.As(err, &record):
		return chat.NewError(chat.ClassBadRequest, "err.provider.not_tls", "%s does not speak https (%s). Check base_url in the settings.", provider, said)
	case errors.As(err, &dns) && dns.IsNotFound:
		return chat.NewError(chat.ClassTransient, "err.provider.dns", "The address of %s was not found (%s). Check the network connection and base_url in the settings.", provider, said)
	case errors.Is(err, syscall.ECONNREFUSED):
		return chat.NewError(chat.ClassTransient, "err.provider.refused", "%s does not answer (%s). Check that the server runs and that base_url is right.", provider, said)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return chat.NewError(chat.ClassTransient, "err.provider.timeout", "%s did not answer in time (%s). Check the network connection and try again.", provider, said)
	case errors.As(err, &op), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed), transportShaped(said):
		return chat.NewError(chat.ClassTransient, "err.provider.network", "The connection to %s failed (%s). Check the network connection and try again.", provider, said)
	}
	return chat.NewError(chat.ClassInternal, "err.provider.unexpected", "The answer of %s could not be read (%s). Try again; if it stays, report it.", provider, said)
}

// redactedError keeps the chain of an error and hides secrets in its text.
func redactedError(err error) error { return &redacted{err} }

type redacted struct{ err error }

func (r *redacted) Error() string { return trimURL(r.err) }
func (r *redacted) Unwrap() error { return r.err }

// transportWords are what the HTTP stack says about broken connections for
// which it has no exported type.
var transportWords = []string{
	"connection reset", "broken pipe", "server closed idle connection", "connection lost", "http2: ", "stream error",
	"GOAWAY", "malformed HTTP", "malformed chunked", "unexpected EOF", "use of closed network connection", "proxyconnect", "transport connection broken",
}

// cutOff is the error of a stream that ended before its closing event.
func cutOff(provider string, cause error) *chat.Error {
	e := chat.NewError(chat.ClassTransient, "err.provider.cut_off", "The connection to %s ended in the middle of the answer. Try again.", provider)
	e.Provider = provider
	return e.Wrap(cause)
}

// transportError classes what went wrong below HTTP.
func transportError(provider string, err error) *chat.Error {
	var e *chat.Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.").Wrap(err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return cutOff(provider, err)
	}
	e = netError(provider, err)
	e.Provider = provider
	return e.Wrap(redactedError(err))
}

// PlainReason is an error's text without addresses' queries and secrets.
func PlainReason(err error) string { return trimURL(err) }

// trimURL takes the address out of a client's error: queries may hold secrets.
func trimURL(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return Redact(strings.TrimSpace(err.Error()))
}

func transportShaped(s string) bool {
	for _, w := range transportWords {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
