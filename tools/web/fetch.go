package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the description
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // formats that are shown
	_ "image/jpeg" // formats that are shown
	_ "image/png"  // formats that are shown
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	_ "golang.org/x/image/webp" // formats that are shown

	"perch/chat"
	"perch/config"
	"perch/tools/outside"
)

//go:embed web_fetch.md
var fetchText string

// Options are what the web tools work with.
type Options struct {
	// Config returns the settings; it is asked at each call.
	Config func() config.Web
	// Key returns a credential by the name of its variable, "" for none; nil
	// reads the environment.
	Key func(name string) string
	// Resolver looks up names; nil is the system's.
	Resolver *net.Resolver
	// Endpoints override the addresses of the search services, by name.
	Endpoints map[string]string
	// Now is the clock of the page cache; nil is time.Now.
	Now func() time.Time
}

func (o *Options) defaults() {
	if o.Config == nil {
		o.Config = func() config.Web { return config.Web{} }
	}
	if o.Key == nil {
		o.Key = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Tools returns web_fetch and web_search.
func Tools(o Options) []chat.Tool { return []chat.Tool{Fetch(o), Search(o)} }

type fetch struct {
	o     Options
	cache *pageCache
}

// Fetch returns the tool web_fetch.
func Fetch(o Options) chat.Tool {
	o.defaults()
	return &fetch{o: o, cache: &pageCache{now: o.Now}}
}

type fetchInput struct {
	URL  string `json:"url"`
	Page int    `json:"page"`
	Full bool   `json:"full"`
}

// Definition describes the tool.
func (*fetch) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "web_fetch", Description: fetchText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"url":{"type":"string","minLength":1,"description":"http or https address"},
"page":{"type":"integer","minimum":1,"description":"part of a long page; default 1"},
"full":{"type":"boolean","description":"the whole page with menus and side columns, not only its main text"}},
"required":["url"],
"additionalProperties":false}`)}
}

// parse reads the input and its address.
func (*fetch) parse(raw json.RawMessage) (fetchInput, *url.URL, error) {
	var in fetchInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, nil, fmt.Errorf("read the arguments: %w", err)
	}
	in.URL = strings.TrimSpace(in.URL)
	if !strings.Contains(in.URL, "://") && !strings.HasPrefix(in.URL, "/") {
		in.URL = "https://" + in.URL
	}
	u, err := url.Parse(in.URL)
	if err != nil {
		return in, nil, fmt.Errorf("%q is no address that can be opened", in.URL)
	}
	if err := checkURL(u); err != nil {
		return in, nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	in.Page = max(in.Page, 1)
	return in, u, nil
}

// subject is what network rules compare: the host, with its port if it is an
// unusual one.
func subject(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if p := u.Port(); p != "" && (u.Scheme != "http" || p != "80") && (u.Scheme != "https" || p != "443") {
		return net.JoinHostPort(host, p)
	}
	return host
}

// Needs asks once a host, and not for addresses that the user wrote or a search
// of this run returned.
func (t *fetch) Needs(_ context.Context, raw json.RawMessage, env chat.Env) ([]chat.Need, error) {
	in, u, err := t.parse(raw)
	if err != nil {
		return nil, err
	}
	host := subject(u)
	return []chat.Need{{
		Kind: chat.NeedNetwork, Subject: host, Detail: u.String(), Prefix: host,
		Free: env.KnownAddress(in.URL) || env.KnownAddress(u.String()),
	}}, nil
}

// Execute fetches one part of a page.
func (t *fetch) Execute(ctx context.Context, raw json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	in, u, err := t.parse(raw)
	if err != nil {
		return chat.ToolResult{}, err
	}
	key := fmt.Sprintf("%s %v %s", env.Session(), in.Full, u)
	doc, ok := t.cache.get(key)
	if !ok {
		env.Progress("fetching " + u.Host)
		client := newClient(newAllowance(t.o.Config().AllowPrivate), t.o.Resolver, func(from, to *url.URL) bool {
			return sameSite(from, to) || env.Granted(chat.NeedNetwork, subject(to)) || env.KnownAddress(to.String())
		})
		p, err := get(ctx, client, u)
		var other *otherSite
		if errors.As(err, &other) {
			return chat.ToolResult{Text: fmt.Sprintf("%s redirects to another site: %s\nNothing was fetched from there. Call web_fetch with that address if you want it.",
				u, outside.Clean(other.to.String())), Untrusted: true}, nil
		}
		if err != nil {
			return chat.ToolResult{}, err
		}
		if p.status >= 400 {
			return chat.ToolResult{}, statusError(p)
		}
		if r, ok, err := binary(p, env); ok || err != nil {
			return r, err
		}
		doc = readDocument(p, in.Full)
		t.cache.put(key, doc)
	}
	return doc.part(in.Page)
}

// statusError is an answer that is no page, with the beginning of what it says.
func statusError(p *page) error {
	const excerpt = 300 // runes
	text := strings.Join(strings.Fields(readDocument(p, true).text), " ")
	if r := []rune(text); len(r) > excerpt {
		text = string(r[:excerpt]) + "…"
	}
	s := fmt.Sprintf("%s answered %d %s", p.url.Host, p.status, http.StatusText(p.status))
	if text != "" {
		s += ": " + text
	}
	return errors.New(s)
}

// maxImage is the largest picture that is passed on, in bytes.
const maxImage = 5 << 20

// binary handles bodies that are no text: pictures are shown, other files kept
// where read_file can read them. ok is false for text.
func binary(p *page, env chat.Env) (r chat.ToolResult, ok bool, err error) {
	kind := mediaType(p)
	if isText(kind) {
		return r, false, nil
	}
	if strings.HasPrefix(kind, "image/") && p.cut == "" && len(p.body) <= maxImage {
		if c, format, err := image.DecodeConfig(bytes.NewReader(p.body)); err == nil {
			return chat.ToolResult{
				Text:      fmt.Sprintf("%s is a picture (%s, %d × %d pixels).", p.url, format, c.Width, c.Height),
				Images:    []chat.Image{{MIME: "image/" + format, Name: path.Base(p.url.Path), Size: len(p.body), Data: p.body}},
				Untrusted: true,
			}, true, nil
		}
	}
	if p.cut != "" {
		return r, true, fmt.Errorf("%s is a file of type %s that could not be fetched whole: %s", p.url, kind, p.cut)
	}
	dir := env.SpoolDir()
	if dir == "" {
		return r, true, fmt.Errorf("%s is a file of type %s, not a page", p.url, kind)
	}
	sum := sha256.Sum256(p.body)
	file := filepath.Join(dir, "web-"+hex.EncodeToString(sum[:6])+safeExt(p.url.Path))
	if err := os.WriteFile(file, p.body, 0o600); err != nil {
		return r, true, fmt.Errorf("keep the file from %s: %w", p.url, err)
	}
	return chat.ToolResult{
		Text:      fmt.Sprintf("%s is a file of type %s (%d bytes), not a page. It is kept as %s; read_file can read it if it holds text (PDF and office formats too).", p.url, kind, len(p.body), file),
		Untrusted: true,
	}, true, nil
}

// safeExt is the ending of a path if it is a plain one.
func safeExt(p string) string {
	ext := strings.ToLower(path.Ext(p))
	if len(ext) < 2 || len(ext) > 8 || strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return ext
}
