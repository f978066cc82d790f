package store

import (
	"time"

	"perch/chat"
)

func (p *parser) message(m *chat.Message) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "id":
			return 0, p.str(&m.ID)
		case "role":
			return 1, p.name((*string)(&m.Role))
		case "kind":
			return 2, p.name((*string)(&m.Kind))
		case "time":
			return 3, p.time(&m.Time)
		case "parts":
			m.Parts = []chat.Part{}
			return 4, p.array(func() bool {
				m.Parts = append(m.Parts, chat.Part{})
				return p.part(&m.Parts[len(m.Parts)-1])
			})
		case "result":
			m.Result = new(chat.ToolResult)
			return 5, p.result(m.Result)
		case "provider":
			return 6, p.name(&m.Provider)
		case "model":
			return 7, p.name(&m.Model)
		case "stop":
			return 8, p.name((*string)(&m.Stop))
		case "interrupted":
			return 9, p.bool(&m.Interrupted)
		case "usage":
			m.Usage = new(chat.Usage)
			return 10, p.usage(m.Usage)
		case "tokens":
			return 11, p.int(&m.Tokens)
		case "tokens_by":
			return 12, p.name(&m.TokensBy)
		}
		return 0, false
	})
}

func (p *parser) part(t *chat.Part) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "type":
			return 0, p.name((*string)(&t.Type))
		case "text":
			return 1, p.str(&t.Text)
		case "signature":
			return 2, p.str(&t.Signature)
		case "encrypted":
			return 3, p.str(&t.Encrypted)
		case "vendor_id":
			return 4, p.str(&t.VendorID)
		case "refusal":
			return 5, p.bool(&t.Refusal)
		case "image":
			t.Image = new(chat.Image)
			return 6, p.image(t.Image)
		case "call":
			t.Call = new(chat.ToolCall)
			return 7, p.call(t.Call)
		}
		return 0, false
	})
}

func (p *parser) call(c *chat.ToolCall) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "id":
			return 0, p.str(&c.ID)
		case "vendor_id":
			return 1, p.str(&c.VendorID)
		case "name":
			return 2, p.name(&c.Name)
		case "input":
			return 3, p.str(&c.Input)
		}
		return 0, false
	})
}

func (p *parser) result(r *chat.ToolResult) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "call_id":
			return 0, p.str(&r.CallID)
		case "name":
			return 1, p.name(&r.Name)
		case "text":
			return 2, p.str(&r.Text)
		case "images":
			r.Images = []chat.Image{}
			return 3, p.array(func() bool {
				r.Images = append(r.Images, chat.Image{})
				return p.image(&r.Images[len(r.Images)-1])
			})
		case "is_error":
			return 4, p.bool(&r.IsError)
		case "failure":
			return 5, p.name((*string)(&r.Failure))
		case "interrupted":
			return 6, p.bool(&r.Interrupted)
		case "duration":
			var ns int64
			ok := p.integer(&ns)
			r.Duration = time.Duration(ns)
			return 7, ok
		case "untrusted":
			return 8, p.bool(&r.Untrusted)
		}
		return 0, false // sources are rare
	})
}

func (p *parser) image(m *chat.Image) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "hash":
			return 0, p.str(&m.Hash)
		case "mime":
			return 1, p.name(&m.MIME)
		case "width":
			return 2, p.int(&m.Width)
		case "height":
			return 3, p.int(&m.Height)
		case "size":
			return 4, p.int(&m.Size)
		case "name":
			return 5, p.str(&m.Name)
		}
		return 0, false
	})
}

func (p *parser) usage(u *chat.Usage) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "input":
			return 0, p.int(&u.Input)
		case "output":
			return 1, p.int(&u.Output)
		case "cache_read":
			return 2, p.int(&u.CacheRead)
		case "cache_write":
			return 3, p.int(&u.CacheWrite)
		case "thinking":
			return 4, p.int(&u.Thinking)
		case "cost":
			return 5, p.float(&u.Cost)
		}
		return 0, false
	})
}
