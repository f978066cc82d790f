package desktop

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// compositorTimeout bounds the question what a compositor can do.
	compositorTimeout = 2 * time.Second
	// Object ids of the two objects that the question needs beside the display.
	registryID, callbackID = 2, 3
	// maxWaylandMessage is the protocol's limit of one message, in bytes.
	maxWaylandMessage = 4096
)

// compositorHas reports whether the Wayland compositor offers one of the named
// interfaces. It lists the compositor's globals and hangs up.
func compositorHas(names ...string) bool {
	name := os.Getenv("WAYLAND_DISPLAY")
	if name == "" {
		return false
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), name)
	}
	c, err := net.DialTimeout("unix", name, compositorTimeout)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(compositorTimeout))
	// wl_display.get_registry, then wl_display.sync, whose answer ends the list.
	if _, err := c.Write(append(waylandCall(1, 1, registryID), waylandCall(1, 0, callbackID)...)); err != nil {
		return false
	}
	r := bufio.NewReader(c)
	for {
		object, opcode, body, err := waylandEvent(r)
		if err != nil || object == 1 && opcode == 0 || object == callbackID {
			return false // connection ended, an error, or the end of the list
		}
		if object != registryID || opcode != 0 || len(body) < 8 {
			continue
		}
		// wl_registry.global: a number, the interface's name, its version.
		n := int(binary.NativeEndian.Uint32(body[4:]))
		if n < 1 || 8+n > len(body) {
			continue
		}
		if slices.Contains(names, strings.TrimRight(string(body[8:8+n]), "\x00")) {
			return true
		}
	}
}

// waylandCall is a request with one argument.
func waylandCall(object, opcode, arg uint32) []byte {
	b := binary.NativeEndian.AppendUint32(nil, object)
	b = binary.NativeEndian.AppendUint32(b, 12<<16|opcode)
	return binary.NativeEndian.AppendUint32(b, arg)
}

// waylandEvent reads one event.
func waylandEvent(r io.Reader) (object, opcode uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	object = binary.NativeEndian.Uint32(head[:])
	word := binary.NativeEndian.Uint32(head[4:])
	size := word >> 16
	if size < 8 || size > maxWaylandMessage {
		return 0, 0, nil, io.ErrUnexpectedEOF
	}
	body = make([]byte, size-8)
	_, err = io.ReadFull(r, body)
	return object, word & 0xffff, body, err
}
