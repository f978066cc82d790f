package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"perch/chat"
	"perch/config"
)

// handshakeTimeout bounds the wait for the version. What a running Perch does
// beside never delays that answer.
const handshakeTimeout = 2 * time.Second

// Client asks a running Perch over its socket. It is all of [Services] in one,
// and may be used from many goroutines.
type Client struct {
	paths   config.Paths
	http    *http.Client
	version Version

	mu    sync.Mutex // protects token
	token string
}

var (
	_ Sessions  = (*Client)(nil)
	_ Runs      = (*Client)(nil)
	_ Models    = (*Client)(nil)
	_ Settings  = (*Client)(nil)
	_ Knowledge = (*Client)(nil)
	_ Memory    = (*Client)(nil)
	_ Auth      = (*Client)(nil)
	_ Rules     = (*Client)(nil)
	_ Desktop   = (*Client)(nil)
	_ Front     = (*Client)(nil)
	_ Owner     = (*Client)(nil)
)

// Dial finds the running Perch and checks that it speaks this protocol. The
// error is [ErrNotRunning] when nobody serves the socket, [ErrNoAnswer] when who
// serves it does not answer, and [ErrProtocol] when it is of another version.
func Dial(paths config.Paths) (*Client, error) {
	c, err := DialAny(paths)
	if err != nil {
		return nil, err
	}
	if v := c.version; v.Protocol != Protocol {
		c.Close()
		return nil, chat.NewError(chat.ClassMisuse, "err.protocol",
			"The running Perch is version %s, which this one cannot talk to. Restart it: run `perch quit`, then try again.", v.Version).Wrap(ErrProtocol)
	}
	return c, nil
}

// DialAny is [Dial] for a Perch of any version, to quit or to replace it.
func DialAny(paths config.Paths) (*Client, error) {
	socket := paths.Socket()
	dial := &net.Dialer{Timeout: dialTimeout}
	c := &Client{paths: paths, http: &http.Client{Transport: &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial.DialContext(ctx, "unix", socket) },
		DisableCompression: true,
		MaxIdleConns:       4,
		IdleConnTimeout:    30 * time.Second,
	}}}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := c.call(ctx, routeVersion, none{}, &c.version); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Version is what the running Perch said of itself when it was found.
func (c *Client) Version() Version { return c.version }

// Close ends the client's idle connections; streams end with their contexts.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// secret reads the token; again is true after a request that was refused, since
// a new owner has a new one.
func (c *Client) secret(again bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && !again {
		return c.token, nil
	}
	b, err := os.ReadFile(c.paths.Token())
	if err != nil {
		return "", chat.NewError(chat.ClassPermission, "err.token_read",
			"%s cannot be read: %v. Only programs of the user who started Perch can talk to it.", c.paths.Token(), err).Wrap(err)
	}
	c.token = strings.TrimSpace(string(b))
	return c.token, nil
}

// send asks a route and returns the answer's body, whose end is io.EOF only if
// the answer is whole.
func (c *Client) send(ctx context.Context, route, kind string, body func() io.Reader) (*http.Response, error) {
	for again := false; ; again = true {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://perch"+route, body())
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", kind)
		if !open[route] {
			token, err := c.secret(again)
			if err != nil {
				return nil, err
			}
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return nil, c.lost(ctx, err)
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		var f failure
		err = json.NewDecoder(resp.Body).Decode(&f)
		resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized && !again && kind == typeJSON {
			continue
		}
		if err != nil || f.Error == nil {
			return nil, chat.NewError(chat.ClassInternal, "err.answer", "The running Perch gave an answer that is none (%s). Restart it with `perch quit`.", resp.Status)
		}
		return nil, f.Error
	}
}

// lost turns a failure of the connection into a sentence.
func (c *Client) lost(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return chat.NewError(chat.ClassInternal, "err.no_answer",
			"Perch is running as process %d but does not answer. Wait a moment, or end it with `kill %d` and start it again.", OwnerPID(c.paths), OwnerPID(c.paths)).
			Wrap(fmt.Errorf("%w: %w", ErrNoAnswer, err))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return chat.NewError(chat.ClassMisuse, "err.not_running", "Perch is not running. Start it with `perch`.").
			Wrap(fmt.Errorf("%w: %w", ErrNotRunning, err))
	case errors.Is(err, fs.ErrPermission):
		return chat.NewError(chat.ClassPermission, "err.socket_denied",
			"The control socket %s may not be opened: it belongs to another user.", c.paths.Socket()).Wrap(err)
	}
	return chat.NewError(chat.ClassInternal, "err.connection_lost",
		"The connection to Perch broke. What it had begun goes on if it is still running; nothing stored is lost. Try again.").Wrap(err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// call asks a route that answers once.
func (c *Client) call(ctx context.Context, route string, body, answer any) error {
	resp, err := c.post(ctx, route, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return c.lost(ctx, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	return nil
}

func (c *Client) post(ctx context.Context, route string, body any) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	return c.send(ctx, route, typeJSON, func() io.Reader { return bytes.NewReader(b) })
}

func (c *Client) do(ctx context.Context, route string, body any) error {
	return c.call(ctx, route, body, &none{})
}

// lines asks a route that answers with a stream and hands on each line. It
// returns nil when the stream has come to its end, and ctx's error after that.
func (c *Client) lines(ctx context.Context, route string, body any, each func(line []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.post(ctx, route, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	next := lineReader(resp.Body)
	for {
		line, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c.lost(ctx, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
	if t := resp.Trailer.Get(trailerError); t != "" {
		e := &chat.Error{}
		if err := json.Unmarshal([]byte(t), e); err != nil {
			return c.lost(ctx, err)
		}
		return e
	}
	return nil
}

// values is lines with each line decoded.
func values[T any](ctx context.Context, c *Client, route string, body any, each func(T) error) error {
	return c.lines(ctx, route, body, func(line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return c.lost(ctx, err)
		}
		return each(v)
	})
}

// get asks a route that answers with one value.
func get[T any](ctx context.Context, c *Client, route string, body any) (T, error) {
	var v T
	err := c.call(ctx, route, body, &v)
	return v, err
}

// linesBody is a request's body made of lines.
func linesBody(next func() ([]byte, error)) io.Reader {
	r, w := io.Pipe()
	go func() {
		buf := bufio.NewWriter(w)
		for {
			line, err := next()
			if err == nil {
				_, _ = buf.Write(line)
				err = buf.WriteByte('\n')
			}
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = buf.Flush()
				}
				w.CloseWithError(err) // nil is the end
				return
			}
		}
	}()
	return r
}
