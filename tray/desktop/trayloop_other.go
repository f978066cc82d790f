//go:build !linux

package desktop

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"

	"fyne.io/systray"
)

// serve has the icon until ctx ends. The system's own loop wants the thread that
// the process began with.
func (r *role) serve(ctx context.Context, _ context.CancelCauseFunc) {
	r.event(Event{Kind: Up})
	select {
	case <-r.icon.wanted:
	case <-ctx.Done():
		return
	}
	stop := context.AfterFunc(ctx, systray.Quit)
	defer stop()
	systray.Run(func() {
		r.icon.show()
		r.event(Event{Kind: TrayShown, On: true})
	}, nil)
}

// iconBytes is an icon in the format of this system: Windows wants an ICO file,
// which may hold a PNG.
func iconBytes(i Icon) []byte {
	p := iconPNG(i)
	if runtime.GOOS != "windows" {
		return p
	}
	var b bytes.Buffer
	for _, v := range []any{
		uint16(0), uint16(1), uint16(1), // reserved, icon, one picture
		uint8(iconSize), uint8(iconSize), uint8(0), uint8(0), uint16(1), uint16(32),
		uint32(len(p)), uint32(22), // size, and offset: both headers before it
	} {
		// Writing into memory cannot fail.
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.Write(p)
	return b.Bytes()
}
