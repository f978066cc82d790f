package providers

import (
	"strings"

	"perch/chat"
)

// Answer gathers what a decoder reads. Every piece is appended once, to a
// builder of its part; nothing is parsed or copied again.
type Answer struct {
	blocks []*block
	out    []StreamEvent
	Usage  chat.Usage
	Stop   chat.StopReason
	// Model is the vendor's word for what answered; it is not what decides about
	// thinking, which is the model that was asked.
	Model string
	// Closed says that the vendor's closing event has come.
	Closed bool
	// Grew says that the event just decoded had content; the silence limits look
	// at nothing else.
	Grew bool
}

type block struct {
	part     chat.Part
	text     strings.Builder // text, thinking text, or a call's arguments
	encrypt  strings.Builder
	sign     strings.Builder
	name     string
	started  bool
	dropped  bool
	vendorID string
}

// Block is a part under construction.
type Block int

// Begin opens a part of a type and returns it.
func (a *Answer) Begin(t chat.PartType) Block {
	a.blocks = append(a.blocks, &block{part: chat.Part{Type: t}})
	a.Grew = true
	return Block(len(a.blocks) - 1)
}

// Last returns the newest part if it has that type.
func (a *Answer) Last(t chat.PartType) (Block, bool) {
	n := len(a.blocks) - 1
	if n < 0 || a.blocks[n].part.Type != t || a.blocks[n].dropped {
		return 0, false
	}
	return Block(n), true
}

// Append adds text to a text or thinking part.
func (a *Answer) Append(b Block, s string) {
	if s == "" {
		return
	}
	k := a.blocks[b]
	k.text.WriteString(s)
	a.Grew = true
	t := StreamText
	if k.part.Type == chat.PartThinking {
		t = StreamThinking
	}
	a.out = append(a.out, StreamEvent{Type: t, Text: s})
}

// Text adds to the newest text part, or begins one.
func (a *Answer) Text(s string) {
	if s == "" {
		return
	}
	b, ok := a.Last(chat.PartText)
	if !ok {
		b = a.Begin(chat.PartText)
	}
	a.Append(b, s)
}

// Thinking adds to the newest thinking part, or begins one.
func (a *Answer) Thinking(s string) {
	if s == "" {
		return
	}
	b, ok := a.Last(chat.PartThinking)
	if !ok {
		b = a.Begin(chat.PartThinking)
	}
	a.Append(b, s)
}

// Refuse adds refusal text.
func (a *Answer) Refuse(s string) {
	if s == "" {
		return
	}
	b, ok := a.Last(chat.PartText)
	if !ok || !a.blocks[b].part.Refusal {
		b = a.Begin(chat.PartText)
		a.blocks[b].part.Refusal = true
	}
	a.Append(b, s)
	a.Stop = chat.StopRefusal
}

// Sign appends to a part's signature; SetSignature replaces it.
func (a *Answer) Sign(b Block, s string) {
	a.blocks[b].sign.WriteString(s)
	a.Grew = a.Grew || s != ""
}

// SetSignature sets a part's signature.
func (a *Answer) SetSignature(b Block, s string) {
	a.blocks[b].sign.Reset()
	a.Sign(b, s)
}

// Encrypt sets what only the vendor can read of a part.
func (a *Answer) Encrypt(b Block, s string) {
	a.blocks[b].encrypt.Reset()
	a.blocks[b].encrypt.WriteString(s)
	a.Grew = a.Grew || s != ""
}

// AppendEncrypted adds to it.
func (a *Answer) AppendEncrypted(b Block, s string) {
	a.blocks[b].encrypt.WriteString(s)
	a.Grew = a.Grew || s != ""
}

// SetVendorID sets the vendor's id of a part.
func (a *Answer) SetVendorID(b Block, id string) { a.blocks[b].part.VendorID = id }

// Call begins a tool call.
func (a *Answer) Call(id, name string) Block {
	b := a.Begin(chat.PartCall)
	k := a.blocks[b]
	k.vendorID = id
	a.CallName(b, name)
	return b
}

// CallName names a call whose name came late.
func (a *Answer) CallName(b Block, name string) {
	k := a.blocks[b]
	if name == "" || k.started {
		return
	}
	k.name, k.started = name, true
	a.out = append(a.out, StreamEvent{Type: StreamCall, Text: name})
}

// CallID sets the vendor's id of a call that had none.
func (a *Answer) CallID(b Block, id string) {
	if k := a.blocks[b]; k.vendorID == "" {
		k.vendorID = id
	}
}

// CallIDOf returns the vendor's id of a call.
func (a *Answer) CallIDOf(b Block) string { return a.blocks[b].vendorID }

// Input adds to a call's arguments.
func (a *Answer) Input(b Block, s string) {
	if s == "" {
		return
	}
	a.blocks[b].text.WriteString(s)
	a.Grew = true
	a.out = append(a.out, StreamEvent{Type: StreamCallInput, Text: s})
}

// SetInput replaces the arguments by the whole that a vendor sends at the end.
// Pieces that were streamed before must have been its beginning; where they were
// not, the whole wins.
func (a *Answer) SetInput(b Block, s string) {
	k := a.blocks[b]
	if k.text.Len() == len(s) {
		return
	}
	grown := s
	if k.text.Len() > 0 {
		grown = ""
	}
	k.text.Reset()
	k.text.WriteString(s)
	a.Grew = true
	if grown != "" {
		a.out = append(a.out, StreamEvent{Type: StreamCallInput, Text: grown})
	}
}

// Len is the length of what a part holds, in bytes.
func (a *Answer) Len(b Block) int { return a.blocks[b].text.Len() }

// Drop takes a part out of the answer: the vendor began it again.
func (a *Answer) Drop(b Block) { a.blocks[b].dropped = true }

// Empty reports whether the answer has neither text nor calls.
func (a *Answer) Empty() bool {
	for _, k := range a.blocks {
		if !k.dropped && (k.part.Type == chat.PartCall || k.part.Type == chat.PartText && k.text.Len() > 0) {
			return false
		}
	}
	return true
}

// take returns the stream events since the last take. The slice is reused.
func (a *Answer) take() []StreamEvent {
	out := a.out
	a.out = a.out[:0]
	return out
}

// Message builds the answer.
func (a *Answer) Message() chat.Message {
	m := chat.Message{Role: chat.RoleAssistant, Stop: a.Stop}
	calls := false
	for _, k := range a.blocks {
		if k.dropped {
			continue
		}
		p := k.part
		p.Signature, p.Encrypted = k.sign.String(), k.encrypt.String()
		switch p.Type {
		case chat.PartCall:
			if k.name == "" && k.text.Len() == 0 {
				continue // a start without anything after it
			}
			calls = true
			p.Call = &chat.ToolCall{VendorID: k.vendorID, Name: k.name, Input: k.text.String()}
		default:
			p.Text = k.text.String()
			if p.Text == "" && p.Signature == "" && p.Encrypted == "" {
				continue
			}
		}
		m.Parts = append(m.Parts, p)
	}
	switch {
	case m.Stop == "":
		m.Stop = chat.StopEnd
		fallthrough
	case m.Stop == chat.StopEnd:
		if calls {
			m.Stop = chat.StopTools
		}
	}
	u := a.Usage
	m.Usage = &u
	return m
}
