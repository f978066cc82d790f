package popup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// windowState is what the popup remembers of its window, in units.
type windowState struct {
	Width  float32 `json:"width"`
	Height float32 `json:"height"` // the greatest height it grows to, 0 for the default
}

// Bounds of a remembered size, in units: one that is too small to use, left by a
// screen that went to sleep, is not restored.
const (
	defaultWidth float32 = 640
	leastWidth   float32 = 420
	mostWidth    float32 = 1400
	defaultMost  float32 = 620
	leastMost    float32 = 320
)

func loadWindowState(file string) windowState {
	s := windowState{Width: defaultWidth, Height: defaultMost}
	if file == "" {
		return s
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return s
	}
	var read windowState
	if json.Unmarshal(b, &read) != nil {
		return s
	}
	if read.Width >= leastWidth && read.Width <= mostWidth {
		s.Width = read.Width
	}
	if read.Height >= leastMost {
		s.Height = read.Height
	}
	return s
}

// saveWindowState replaces the file, so that a crash leaves the old or the new.
func saveWindowState(file string, s windowState) error {
	if file == "" {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write window size: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write window size: %w", err)
	}
	tmp := file + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write window size: %w", err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("write window size: %w", err)
	}
	return nil
}
