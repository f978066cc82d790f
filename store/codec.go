package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"perch/chat"
)

// encodeJSON is json.Marshal without the escaping for HTML, which would grow
// every line of code in a message and slow its decoding down.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodeMessage is the line that the log keeps for a message.
func encodeMessage(m *chat.Message) ([]byte, error) {
	b, err := encodeJSON(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", m.ID, err)
	}
	return b, nil
}

// decoder reads the lines of one session. Names that repeat in every line are
// kept once.
type decoder struct {
	names map[string]string
}

func newDecoder() *decoder { return &decoder{names: map[string]string{}} }

// message reads a line of the log: by the decoder made for it, and by
// encoding/json whatever that one does not know. Both give the same.
func (d *decoder) message(line []byte) (chat.Message, error) {
	var m chat.Message
	if utf8.Valid(line) {
		p := parser{b: line, names: d.names}
		if p.message(&m) && p.end() {
			return m, checkMessage(&m)
		}
	}
	m = chat.Message{}
	if err := json.Unmarshal(line, &m); err != nil {
		return chat.Message{}, err
	}
	return m, checkMessage(&m)
}

// checkMessage refuses what is JSON but no message.
func checkMessage(m *chat.Message) error {
	switch m.Role {
	case chat.RoleUser, chat.RoleAssistant:
		return nil
	case chat.RoleTool:
		if m.Result != nil {
			return nil
		}
		return fmt.Errorf("tool message %q has no result", m.ID)
	}
	return fmt.Errorf("message %q has the unknown role %q", m.ID, m.Role)
}
