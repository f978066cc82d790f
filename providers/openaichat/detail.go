package openaichat

import (
	"strings"

	"perch/chat"
	"perch/providers"
)

// detail is one entry of OpenRouter's reasoning_details.
type detail struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Data      string `json:"data,omitempty"`
	Signature string `json:"signature,omitempty"`
	ID        string `json:"id,omitempty"`
	Format    string `json:"format,omitempty"`
	Index     *int   `json:"index,omitempty"`
}

// Details go back with their kind, format and id, which a part keeps in its
// vendor id.
const detailSep = "\x1f"

func (d *detail) key() string { return d.Type + detailSep + d.Format + detailSep + d.ID }

// detailOf rebuilds the entry of a thinking part.
func detailOf(index int, p chat.Part) detail {
	d := detail{Type: "reasoning.text", Signature: p.Signature, Data: p.Encrypted, Index: &index}
	if f := strings.Split(p.VendorID, detailSep); len(f) == 3 {
		d.Type, d.Format, d.ID = f[0], f[1], f[2]
	} else if p.Encrypted != "" {
		d.Type = "reasoning.encrypted"
	}
	switch d.Type {
	case "reasoning.summary":
		d.Summary = p.Text
	default:
		d.Text = p.Text
	}
	return d
}

// detail takes one entry up: pieces with the same index and kind belong together.
func (d *decoder) detail(a *providers.Answer, in *detail) {
	index := -1
	if in.Index != nil {
		index = *in.Index
	}
	b, ok := d.thinking, d.thinkingOpen && d.thinkingIndex == index && d.thinkingType == in.Type
	if !ok {
		b = a.Begin(chat.PartThinking)
		a.SetVendorID(b, in.key())
		d.thinking, d.thinkingOpen, d.thinkingIndex, d.thinkingType = b, true, index, in.Type
	} else if in.ID != "" || in.Format != "" {
		if d.thinkingFormat == "" {
			a.SetVendorID(b, in.key())
		}
	}
	if in.Format != "" {
		d.thinkingFormat = in.Format
	}
	a.Append(b, in.Text)
	a.Append(b, in.Summary)
	a.AppendEncrypted(b, in.Data)
	a.Sign(b, in.Signature)
}
