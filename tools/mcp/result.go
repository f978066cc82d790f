package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // formats that are passed on
	_ "image/jpeg" // formats that are passed on
	_ "image/png"  // formats that are passed on
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "golang.org/x/image/webp" // formats that are passed on

	"perch/chat"
	"perch/tools/outside"
)

const (
	// maxImages and maxImage bound the pictures of one result: number, and bytes
	// of each.
	maxImages = 8
	maxImage  = 8 << 20
	// maxPixels bounds a picture before anything decodes it.
	maxPixels = 64_000_000
)

var errTooLarge = errors.New("the answer is larger than what is read")

// result turns what a server returned into a tool result: cleaned, bounded,
// marked as data.
func (s *server) result(res *sdk.CallToolResult, env chat.Env) chat.ToolResult {
	var b builder
	b.env, b.server = env, s.name
	for _, c := range res.Content {
		b.content(c)
	}
	if b.text.Len() == 0 && len(b.images) == 0 && res.StructuredContent != nil {
		if j, err := json.MarshalIndent(res.StructuredContent, "", "  "); err == nil {
			b.line(string(j))
		}
	}
	if n := len(res.InputRequests); n > 0 {
		b.line("(the server asked for further input, which Perch does not give)")
	}
	out := b.result()
	if res.IsError {
		out.IsError, out.Failure = true, chat.FailTool
	}
	return out
}

// builder gathers the parts of a result.
type builder struct {
	env    chat.Env
	server string
	text   strings.Builder
	images []chat.Image
	left   int // pictures that were left out
}

func (b *builder) line(s string) {
	if b.text.Len() > 0 {
		b.text.WriteString("\n")
	}
	b.text.WriteString(s)
}

func (b *builder) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		b.line(c.Text)
	case *sdk.ImageContent:
		b.image(c.Data, c.MIMEType, "")
	case *sdk.AudioContent:
		b.blob(c.Data, c.MIMEType, "sound")
	case *sdk.EmbeddedResource:
		if c.Resource != nil {
			b.resource(c.Resource)
		}
	case *sdk.ResourceLink:
		b.line(fmt.Sprintf("[resource %s: %s]", c.URI, c.Name))
	case nil:
	default:
		b.line(fmt.Sprintf("[content of a kind that is not known: %T]", c))
	}
}

// resource adds the content of a resource.
func (b *builder) resource(r *sdk.ResourceContents) {
	switch {
	case r.Text != "" || len(r.Blob) == 0:
		b.line("[resource " + r.URI + "]\n" + r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		b.image(r.Blob, r.MIMEType, r.URI)
	default:
		b.blob(r.Blob, r.MIMEType, r.URI)
	}
}

// image passes a picture on, if it is one and not too large.
func (b *builder) image(data []byte, mime, name string) {
	if name == "" {
		name = fmt.Sprintf("picture of %s", b.server)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil || c.Width <= 0 || c.Height <= 0:
		b.blob(data, mime, name)
	case len(b.images) >= maxImages || len(data) > maxImage || c.Width > maxPixels/c.Height:
		b.left++
	default:
		b.images = append(b.images, chat.Image{MIME: "image/" + format, Name: name, Width: c.Width, Height: c.Height, Size: len(data), Data: data})
	}
}

// blob keeps bytes that are no text as a file of the session.
func (b *builder) blob(data []byte, mime, name string) {
	what := fmt.Sprintf("%s, %d bytes of %s", name, len(data), mime)
	dir := b.env.SpoolDir()
	if dir == "" {
		b.line("[" + what + "]")
		return
	}
	sum := sha256.Sum256(data)
	path := filepath.Join(dir, "connector-"+hex.EncodeToString(sum[:6])+".bin")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.line("[" + what + "; it could not be kept: " + err.Error() + "]")
		return
	}
	b.line("[" + what + ", kept as " + path + "]")
}

func (b *builder) result() chat.ToolResult {
	if b.left > 0 {
		b.line(fmt.Sprintf("[%d pictures were left out: too many or too large]", b.left))
	}
	text := strings.TrimSpace(outside.Clean(b.text.String()))
	if text == "" {
		text = "(no text)"
		if len(b.images) > 0 {
			text = fmt.Sprintf("(%d pictures)", len(b.images))
		}
	}
	return chat.ToolResult{
		Text:      outside.Mark("connector "+b.server, outside.Cap(text, outside.MaxChars, b.env.SpoolDir(), "connector")),
		Images:    b.images,
		Untrusted: true,
	}
}
