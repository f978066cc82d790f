package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

const (
	// maxRedirects is how many hops a page may take; browsers stop at twenty,
	// honest pages need three.
	maxRedirects = 8
	// fetchTimeout bounds a whole fetch, the body included.
	fetchTimeout = 45 * time.Second
	// headerTimeout bounds the wait for the first byte of an answer.
	headerTimeout = 20 * time.Second
	// maxBody is the most that is read of a page, in bytes after decompression.
	// A long article has some 200 kB.
	maxBody = 8 << 20
	// userAgent says who asks. Sites that refuse unknown programs refuse it too.
	userAgent = "Mozilla/5.0 (compatible; Perch; desktop assistant)"
)

// page is a fetched body with what its headers said.
type page struct {
	url         *url.URL // after redirects
	status      int
	contentType string
	body        []byte
	// cut says why the body is not whole, "" when it is.
	cut string
}

// otherSite is a redirect to a site that was not allowed.
type otherSite struct{ to *url.URL }

func (e *otherSite) Error() string { return "redirects to " + e.to.String() }

// newClient returns a client whose connections are guarded. It uses no proxy:
// behind one, nobody could see which address a name leads to.
func newClient(allow allowance, resolver *net.Resolver, follow func(from, to *url.URL) bool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            guardedDial(allow, resolver),
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  headerTimeout,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 256 << 10,
			DisableKeepAlives:      true, // one page, one connection: nothing is left behind
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("it redirects more than %d times", maxRedirects)
			}
			if err := checkURL(req.URL); err != nil {
				return fmt.Errorf("it redirects to an address that cannot be opened: %w", err)
			}
			if !follow(via[0].URL, req.URL) {
				return &otherSite{req.URL}
			}
			// A page shall not learn where a redirect came from.
			req.Header.Del("Referer")
			return nil
		},
	}
}

// checkURL refuses what is no plain web address.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is no http or https address", u.Redacted())
	case u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("%q names no host", u.Redacted())
	case u.User != nil:
		return errors.New("the address holds a user name or password; leave it out")
	case numericHost(u.Hostname()):
		return fmt.Errorf("the host %q is an address in an unusual notation; write it as four decimal numbers", u.Hostname())
	}
	return nil
}

// sameSite reports whether two hosts belong to one registrable domain, as
// www.example.org and example.org do. Addresses are only like themselves.
func sameSite(a, b *url.URL) bool {
	x, y := strings.ToLower(a.Hostname()), strings.ToLower(b.Hostname())
	if x == y {
		return true
	}
	if net.ParseIP(x) != nil || net.ParseIP(y) != nil {
		return false
	}
	dx, err1 := publicsuffix.EffectiveTLDPlusOne(x)
	dy, err2 := publicsuffix.EffectiveTLDPlusOne(y)
	return err1 == nil && err2 == nil && dx == dy
}

// get fetches a page. A body that is too long or too slow is cut, not refused.
func get(ctx context.Context, c *http.Client, u *url.URL) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,*/*;q=0.5")
	res, err := c.Do(req)
	if err != nil {
		return nil, plainError(err, u)
	}
	defer res.Body.Close()
	p := &page{url: res.Request.URL, status: res.StatusCode, contentType: res.Header.Get("Content-Type")}
	p.body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case len(p.body) > maxBody:
		p.body, p.cut = p.body[:maxBody], fmt.Sprintf("only the first %d MB were read", maxBody>>20)
	case err != nil && len(p.body) > 0 && errors.Is(err, context.DeadlineExceeded):
		p.cut = fmt.Sprintf("only what came within %d seconds was read", int(fetchTimeout.Seconds()))
	case err != nil && len(p.body) > 0 && ctx.Err() == nil:
		p.cut = "the connection broke off: " + err.Error()
	case err != nil:
		return nil, plainError(err, u)
	}
	return p, nil
}

// plainError takes the wrapping of net/http off, and says what a timeout means.
func plainError(err error, u *url.URL) error {
	var blocked *blockedError
	if errors.As(err, &blocked) {
		return blocked
	}
	var other *otherSite
	if errors.As(err, &other) {
		return other
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s; check the address", u.Hostname())
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %d seconds; try again later or another address", u.Hostname(), int(fetchTimeout.Seconds()))
	}
	return fmt.Errorf("fetch %s: %w", u.Redacted(), err)
}
