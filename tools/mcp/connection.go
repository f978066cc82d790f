package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection is one life of a server.
type connection struct {
	session *sdk.ClientSession
	proc    *process // nil over HTTP
	// end closes all that flows over HTTP; nil over standard input and output.
	end context.CancelFunc
}

// died is closed when the process has ended; nil over HTTP.
func (c *connection) died() <-chan struct{} {
	if c.proc == nil {
		return nil
	}
	return c.proc.ended
}

func (c *connection) ending() string {
	if c.proc == nil {
		return ""
	}
	return c.proc.ending()
}

// close ends the session and the process. The session's own Close may wait for a
// server that does not answer, so it is not waited for.
func (c *connection) close() {
	if c.session != nil {
		done := make(chan struct{})
		go func() { defer close(done); _ = c.session.Close() }()
		if c.proc == nil {
			t := time.NewTimer(time.Second)
			defer t.Stop()
			select {
			case <-done:
			case <-t.C:
			}
		}
	}
	if c.end != nil {
		c.end()
	}
	if c.proc != nil {
		c.proc.stop()
	}
}

// connect starts the server, shakes hands and lists its tools, all within the
// deadline.
func (s *server) connect() (c *connection, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.m.startTimeout)
	defer cancel()
	c = &connection{}
	defer func() {
		if err != nil {
			c.close()
			err = s.explain(c, err)
		}
	}()
	var transport sdk.Transport
	if s.cfg.URL != "" {
		h, err := s.authHandler(nil)
		if err != nil {
			return c, err
		}
		var life context.Context
		life, c.end = context.WithCancel(context.Background())
		transport = &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: s.httpClient(life), OAuthHandler: h}
	} else {
		if c.proc, err = startProcess(s.cfg, s.m.environ()); err != nil {
			return c, err
		}
		transport = &sdk.IOTransport{Reader: c.proc, Writer: c.proc.stdin, MaxLineLength: maxMessage}
	}
	if err := s.handshake(ctx, c, transport); err != nil {
		return c, err
	}
	return c, s.list(ctx, c.session)
}

// handshake connects the session. A process that dies meanwhile ends it.
func (s *server) handshake(ctx context.Context, c *connection, t sdk.Transport) error {
	type outcome struct {
		session *sdk.ClientSession
		err     error
	}
	s.mu.Lock()
	opts := &sdk.ClientSessionOptions{}
	if s.legacy {
		opts.ProtocolVersion = "2025-11-25"
	}
	s.mu.Unlock()
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("the handshake crashed: %v", p)}
			}
			done <- o
		}()
		o.session, o.err = s.client().Connect(ctx, t, opts)
	}()
	select {
	case o := <-done:
		c.session = o.session
		return o.err
	case <-ctx.Done():
		// A session that comes after all is closed, not leaked.
		go func() {
			if o := <-done; o.session != nil {
				_ = o.session.Close()
			}
		}()
		return ctx.Err()
	case <-c.died():
		go func() {
			if o := <-done; o.session != nil {
				_ = o.session.Close()
			}
		}()
		return errors.New("it ended at once")
	}
}

// explain makes a sentence of a failed start.
func (s *server) explain(c *connection, err error) error {
	switch {
	case s.ctx.Err() != nil:
		return err
	case s.wasAsked():
		return errSignIn
	case errors.Is(err, context.DeadlineExceeded):
		s.mu.Lock()
		s.legacy = !s.legacy
		s.mu.Unlock()
		return fmt.Errorf("it did not answer within %s of its start", s.m.startTimeout)
	}
	if end := c.ending(); end != "" {
		return errors.New(end)
	}
	return errors.New(shorten(err.Error()))
}
