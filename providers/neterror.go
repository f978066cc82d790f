package providers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
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
