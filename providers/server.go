package providers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"perch/chat"
)

// Format is how a stream's events are framed.
type Format uint8

// The framings.
const (
	SSE    Format = iota
	NDJSON        // one JSON value a line
)

// Call is one HTTP request of a codec.
type Call struct {
	Method string // POST where empty
	URL    string
	Header http.Header
	Body   []byte
	Format Format
}

// Decoder reads the events of one answer. It is used for one stream only.
type Decoder interface {
	// Event decodes one event into the answer. An error ends the stream; a
	// [Failure] is classed like an error response.
	Event(a *Answer, typ string, data []byte) error
	// Finish is called when the stream has ended, before the answer is built.
	Finish(a *Answer) error
}

// Wire is one wire format spoken to one server.
type Wire interface {
	// Encode makes the request. The same request gives the same bytes.
	Encode(req *Request) (Call, error)
	// Decoder returns a decoder for the answer to a request.
	Decoder(req *Request) Decoder
	// Authorize adds a credential to a request.
	Authorize(h http.Header, c Credential)
	// Check is the cheapest request that shows whether the credential is good.
	Check() Call
}

// Adapter is implemented by wires that can leave out what one server refuses.
type Adapter interface {
	// Adapt looks at a refused request. It returns true when the next encoding
	// will differ in what was refused; it remembers that for later requests.
	Adapt(f Failure) bool
}

// maxAdaptions bounds how often one request is encoded anew: each refusal names
// one member, and few are optional.
const maxAdaptions = 3

// InStream is a failure that came as an event inside a stream.
type InStream struct{ Failure Failure }

// Error returns the vendor's words.
func (e *InStream) Error() string { return e.Failure.Message }

const (
	// maxErrorBody is how much of an error response is read, in bytes.
	maxErrorBody = 64 << 10
	// maxCheckBody bounds the answer to a credential check, in bytes.
	maxCheckBody = 1 << 20
	// errorBodyWait bounds reading an error's body: a server that stalls there
	// has said enough with its status.
	errorBodyWait = 10 * time.Second
	// checkWait bounds a credential check.
	checkWait = 20 * time.Second
)

// Server is a [Provider] made of an endpoint and a wire.
type Server struct {
	ep   Endpoint
	wire Wire
}

// NewServer makes a provider.
func NewServer(ep Endpoint, w Wire) *Server {
	if ep.Client == nil {
		ep.Client = http.DefaultClient
	}
	if ep.Credentials == nil {
		ep.Credentials = StaticCredentials{}
	}
	if ep.Now == nil {
		ep.Now = time.Now
	}
	return &Server{ep, w}
}

// ID is the name of the endpoint.
func (s *Server) ID() string { return s.ep.Name }

// Complete drains Stream.
func (s *Server) Complete(ctx context.Context, req Request) (Response, error) {
	for ev, err := range s.Stream(ctx, req) {
		if err != nil {
			return Response{}, err
		}
		if ev.Type == StreamEnd {
			return *ev.Response, nil
		}
	}
	return Response{}, cutOff(s.ep.Name, nil)
}

// ValidateAuth makes the cheapest request that needs the credential.
func (s *Server) ValidateAuth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	call := s.wire.Check()
	resp, err := s.send(ctx, call, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return s.failure(resp, "").Error()
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxCheckBody))
	if err != nil {
		return transportError(s.ep.Name, err)
	}
	return nil
}

// Stream makes one attempt. A 401 on a sign-in is answered once by a renewal.
func (s *Server) Stream(ctx context.Context, req Request) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		call, err := s.wire.Encode(&req)
		if err != nil {
			yield(StreamEvent{}, chat.AsError(err))
			return
		}
		w := newWatch(ctx, limitsFor(&s.ep, &req))
		defer w.stop()
		resp, err := s.send(w.ctx, call, req.Model.ID)
		if err != nil {
			yield(StreamEvent{}, w.classed(s.ep.Name, err))
			return
		}
		defer func() { resp.Body.Close() }()
		for n := 0; resp.StatusCode/100 != 2; n++ {
			f := s.failure(resp, req.Model.ID)
			ad, ok := s.wire.(Adapter)
			if !ok || n >= maxAdaptions || f.Status != http.StatusBadRequest && f.Status != http.StatusUnprocessableEntity || !ad.Adapt(f) {
				yield(StreamEvent{}, f.Error())
				return
			}
			resp.Body.Close()
			if call, err = s.wire.Encode(&req); err != nil {
				yield(StreamEvent{}, chat.AsError(err))
				return
			}
			next, err := s.send(w.ctx, call, req.Model.ID)
			if err != nil {
				yield(StreamEvent{}, w.classed(s.ep.Name, err))
				return
			}
			resp = next
		}
		if e := s.wrongType(resp, call.Format, req.Model.ID); e != nil {
			yield(StreamEvent{}, e)
			return
		}
		s.read(w, resp.Body, call.Format, &req, yield)
	}
}

// read decodes the body and ends with exactly one StreamEnd or error.
func (s *Server) read(w *watch, body io.Reader, f Format, req *Request, yield func(StreamEvent, error) bool) {
	dec, a := s.wire.Decoder(req), &Answer{}
	fail := func(err error) {
		var in *InStream
		if errors.As(err, &in) {
			f := in.Failure
			f.Provider, f.Model = s.ep.Name, req.Model.ID
			yield(StreamEvent{}, f.Error())
			return
		}
		yield(StreamEvent{}, w.classed(s.ep.Name, err))
	}
	for ev, err := range frames(w.reader(body), f) {
		if err == nil {
			a.Grew = false
			err = dec.Event(a, ev.typ, ev.data)
			if a.Grew {
				w.content()
			}
		}
		for _, out := range a.take() {
			w.pause()
			more := yield(out, nil)
			w.resume()
			if !more {
				return
			}
		}
		if err != nil {
			fail(err)
			return
		}
		if w.ctx.Err() != nil {
			fail(context.Cause(w.ctx))
			return
		}
		if a.Closed {
			break
		}
	}
	if err := dec.Finish(a); err != nil {
		fail(err)
		return
	}
	if w.ctx.Err() != nil {
		fail(context.Cause(w.ctx))
		return
	}
	if !a.Closed {
		fail(io.ErrUnexpectedEOF)
		return
	}
	m := a.Message()
	m.Provider, m.Model = req.Model.Provider, req.Model.ID
	m.Stop = silentOverflow(m.Stop, *m.Usage, req.Model, s.ep.Compat)
	m.Usage.Cost = req.Model.Cost(*m.Usage)
	w.pause()
	yield(StreamEvent{Type: StreamEnd, Response: &Response{Message: m}}, nil)
}

// overflowShare is how full a window is when an answer without a token means
// that there was no room for one.
const overflowShare = 0.99

// silentOverflow finds the overflows that a vendor does not report: nothing
// came out because the input filled the window, or more went in than fits.
func silentOverflow(stop chat.StopReason, u chat.Usage, m ModelInfo, compat string) chat.StopReason {
	if !m.Known || m.ContextWindow <= 0 {
		return stop
	}
	full := float64(u.TotalInput()) >= overflowShare*float64(m.ContextWindow)
	if stop == chat.StopOutputLimit && u.Output == 0 && full {
		return chat.StopOverflow
	}
	if compat == "zai" && u.TotalInput() > m.ContextWindow {
		return chat.StopOverflow
	}
	return stop
}

// send makes the HTTP request, with one renewal of a refused sign-in.
func (s *Server) send(ctx context.Context, call Call, model string) (*http.Response, error) {
	cred, err := s.ep.Credentials.Credential(ctx, s.ep.Name)
	if err != nil {
		return nil, err
	}
	if cred.Token == "" && !s.ep.NoKey {
		return nil, chat.NewError(chat.ClassAuth, "err.provider.no_key", "There is no key for %s. Enter one in the settings or with \"perch auth login %s\".", s.ep.Name, s.ep.Name)
	}
	resp, err := s.once(ctx, call, cred)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !cred.OAuth {
		return resp, err
	}
	drop(resp)
	if cred, err = s.ep.Credentials.Renew(ctx, s.ep.Name, cred); err != nil {
		return nil, err
	}
	return s.once(ctx, call, cred)
}

func (s *Server) once(ctx context.Context, call Call, cred Credential) (*http.Response, error) {
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	r, err := http.NewRequestWithContext(ctx, method, call.URL, body)
	if err != nil {
		return nil, chat.NewError(chat.ClassMisuse, "err.provider.url", "The address %s of %s cannot be used. Correct base_url in the settings.", Redact(call.URL), s.ep.Name)
	}
	for k, v := range call.Header {
		r.Header[k] = v
	}
	if call.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if r.Header.Get("Accept") == "" && call.Method == "" {
		r.Header.Set("Accept", map[Format]string{SSE: "text/event-stream", NDJSON: "application/x-ndjson"}[call.Format])
	}
	if cred.Token != "" {
		s.wire.Authorize(r.Header, cred)
	}
	for k, v := range s.ep.Headers {
		r.Header.Set(k, v)
	}
	resp, err := s.ep.Client.Do(r)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func drop(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	resp.Body.Close()
}

// failure reads an error response, but not for long.
func (s *Server) failure(resp *http.Response, model string) Failure {
	stop := time.AfterFunc(errorBodyWait, func() { resp.Body.Close() })
	defer stop.Stop()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if model == "" {
		model = "this"
	}
	f := ParseFailure(s.ep.Name, model, resp.Request.URL.Host, resp.StatusCode, resp.Header, body, s.ep.Now())
	if resp.StatusCode/100 == 3 {
		f.Message = "it sent the request on to " + redirectTarget(resp) + "; set base_url to the right address"
	}
	return f
}

func redirectTarget(resp *http.Response) string {
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || u.Host == "" {
		return "another address"
	}
	return u.Scheme + "://" + u.Host
}

// wrongType finds the pages and error objects that come with status 200. Some
// servers send a stream without saying its type; those pass.
func (s *Server) wrongType(resp *http.Response, want Format, model string) *chat.Error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case want == SSE && kind == "application/json" && startsJSON(resp):
		f := s.failure(resp, model)
		f.Status = 0
		if f.Message != "" {
			return f.Error()
		}
	case kind == "text/html" || kind == "application/xhtml+xml":
	default:
		return nil
	}
	e := chat.NewError(chat.ClassBadRequest, "err.provider.not_a_stream", "%s answered with %s instead of a stream. Check base_url in the settings, and whether a proxy or sign-in page is in between.", s.ep.Name, kind)
	e.Provider, e.Status = s.ep.Name, resp.StatusCode
	return e
}

// startsJSON looks at the first letter of a body that claims to be JSON: some
// servers say so of their streams, too.
func startsJSON(resp *http.Response) bool {
	in := bufio.NewReader(resp.Body)
	first, err := in.Peek(1)
	for err == nil && strings.ContainsAny(string(first), " \r\n\t") {
		_, _ = in.Discard(1)
		first, err = in.Peek(1)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{in, resp.Body}
	return err == nil && (first[0] == '{' || first[0] == '[')
}
