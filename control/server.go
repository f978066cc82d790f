package control

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
)

const (
	// maxBody bounds a request: a question with several pictures. Imports are
	// streams and have no bound.
	maxBody = 256 << 20
	// maxLine bounds one line of an import: a message with its pictures.
	maxLine = 256 << 20
	// writeTimeout is how long a watcher may leave a line unread before its
	// connection is closed. The socket's buffer holds some 200 KB before that.
	writeTimeout = 10 * time.Second
	// headerTimeout bounds the wait for a request's header.
	headerTimeout = 10 * time.Second
	// drainTime is how long the end waits for answers at work.
	drainTime = 2 * time.Second
)

// Options are what a server serves, and where.
type Options struct {
	Paths    config.Paths
	Version  Version // Protocol and PID are filled in
	Services Services
	// Tray reports whether the owner has a tray icon now; nil is Version.Tray.
	Tray func() bool
	// Log takes a line about a fault; nil drops it. No line holds message text.
	Log func(line string)
}

// Server serves the control socket.
type Server struct {
	o        Options
	token    []byte
	listener net.Listener
	http     *http.Server
	cancel   context.CancelFunc
	close    sync.Once
}

// NewServer takes the socket and writes a new token. The caller must hold the
// owner's lock ([AcquireOwner]): a socket file that is found is a leftover,
// unless somebody answers on it.
func NewServer(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	l, err := listen(o.Paths.Socket())
	if err != nil {
		return nil, err
	}
	token, err := newToken(o.Paths.Token())
	if err != nil {
		l.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{o: o, token: token, listener: l, cancel: cancel}
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(logWriter{o.Log}, "", 0),
	}
	return s, nil
}

// logWriter hands the lines of net/http to the log.
type logWriter struct{ log func(string) }

func (w logWriter) Write(b []byte) (int, error) {
	w.log("control: " + string(bytes.TrimSpace(b)))
	return len(b), nil
}

// Serve answers until Close.
func (s *Server) Serve() error {
	err := s.http.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the control socket: %w", err)
}

// Close ends every stream, waits a moment for answers at work and removes the
// socket.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		ctx, done := context.WithTimeout(context.Background(), drainTime)
		defer done()
		s.cancel()
		if err = s.http.Shutdown(ctx); err != nil {
			err = s.http.Close()
		}
		s.listener.Close() // where Serve was never called
	})
	return err
}

// handler checks who asks, and keeps a panic of a service from ending more than
// its request.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	s.routes(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &answer{w: w, r: r, ctl: http.NewResponseController(w)}
		_ = out.ctl.SetWriteDeadline(time.Time{}) // that of an earlier stream on this connection
		defer func() {
			if p := recover(); p != nil {
				s.o.Log(fmt.Sprintf("control: %s: panic: %v\n%s", r.URL.Path, p, debug.Stack()))
				out.fail(chat.NewError(chat.ClassInternal, "err.internal", "Something went wrong inside Perch: %v", p))
			}
		}()
		if !open[r.URL.Path] && !s.allowed(r) {
			out.status = http.StatusUnauthorized
			out.fail(chat.NewError(chat.ClassPermission, "err.token",
				"The request lacks the token from %s. Only programs of the same user can read it.", s.o.Paths.Token()))
			return
		}
		if _, pattern := mux.Handler(r); pattern == "" {
			out.status = http.StatusNotFound
			out.fail(chat.NewError(chat.ClassMisuse, "err.route",
				"The running Perch (%s) does not know %s. Restart it with `perch quit`, then try again.", s.o.Version.Version, r.URL.Path))
			return
		}
		if r.Method != http.MethodPost && r.URL.Path != routeVersion {
			out.status = http.StatusMethodNotAllowed
			out.fail(chat.NewError(chat.ClassMisuse, "err.method", "%s is asked with POST.", r.URL.Path))
			return
		}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), answerKey{}, out)))
	})
}

func (s *Server) allowed(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(given), s.token) == 1
}

// answerKey finds the answer of a request in its context.
type answerKey struct{}

// answer is what goes back on one request.
type answer struct {
	w      http.ResponseWriter
	r      *http.Request
	ctl    *http.ResponseController
	status int  // of a failure; 0 goes by its class
	begun  bool // whether the header is out
}

// fail sends an error: as the answer, or in the trailer of a stream at work.
func (a *answer) fail(err error) {
	e := chat.AsError(err)
	if a.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		// The reader has gone, or Perch ends.
		e = chat.NewError(chat.ClassInternal, "err.ending", "Perch was quit.")
	}
	if a.begun {
		b, _ := json.Marshal(e)
		a.w.Header().Set(http.TrailerPrefix+trailerError, asciiJSON(b))
		return
	}
	if a.status == 0 {
		a.status = statusOf(e.Class)
	}
	a.begun = true
	a.w.Header().Set("Content-Type", typeJSON)
	a.w.WriteHeader(a.status)
	_ = json.NewEncoder(a.w).Encode(failure{e})
}

// asciiJSON writes what is not ASCII as escapes: a header may hold nothing else.
func asciiJSON(b []byte) string {
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// begin sends the header of a stream.
func (a *answer) begin() error {
	if a.begun {
		return nil
	}
	a.begun = true
	a.w.Header().Set("Content-Type", typeLines)
	a.w.WriteHeader(http.StatusOK)
	return a.ctl.Flush()
}

// line sends one line of a stream. A reader that leaves it unread for too long
// is given up, so that it can hold nothing up.
func (a *answer) line(b []byte) error {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", typeLines)
	}
	if err := a.ctl.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := a.w.Write(b); err != nil {
		return err
	}
	if _, err := a.w.Write([]byte{'\n'}); err != nil {
		return err
	}
	return a.ctl.Flush()
}

// value sends one value as a line of a stream.
func (a *answer) value(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	return a.line(b)
}

// whole sends an answer that is no stream.
func (a *answer) whole(kind string, b []byte) error {
	a.begun = true
	if err := a.ctl.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	a.w.Header().Set("Content-Type", kind)
	a.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, err := a.w.Write(b)
	return err
}

// body reads the request's JSON object; an empty body is an empty object.
func (a *answer) body(v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(a.w, a.r.Body, maxBody))
	err := dec.Decode(v)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return chat.NewError(chat.ClassMisuse, "err.too_large", "The request is larger than %d MB. Attach large things as files.", maxBody>>20)
	}
	return chat.NewError(chat.ClassMisuse, "err.bad_request_body", "The body of %s is not the JSON it takes: %v.", a.r.URL.Path, err)
}

// call serves a route that answers once.
func call[Req, Resp any](mux *http.ServeMux, route string, fn func(context.Context, Req) (Resp, error)) {
	stream(mux, route, func(ctx context.Context, a *answer, req Req) error {
		resp, err := fn(ctx, req)
		if err != nil {
			return err
		}
		b, err := json.Marshal(resp)
		if err != nil {
			return fmt.Errorf("encode an answer: %w", err)
		}
		return a.whole(typeJSON, append(b, '\n'))
	})
}

// do serves a route whose answer is that it was done.
func do[Req any](mux *http.ServeMux, route string, fn func(context.Context, Req) error) {
	call(mux, route, func(ctx context.Context, req Req) (none, error) { return none{}, fn(ctx, req) })
}

// stream serves a route that answers with lines.
func stream[Req any](mux *http.ServeMux, route string, fn func(context.Context, *answer, Req) error) {
	mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		a := r.Context().Value(answerKey{}).(*answer)
		var req Req
		if err := a.body(&req); err != nil {
			a.fail(err)
			return
		}
		if err := fn(r.Context(), a, req); err != nil {
			a.fail(err)
		}
	})
}
