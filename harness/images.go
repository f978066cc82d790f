package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	_ "image/gif"  // formats whose size is read
	_ "image/jpeg" // formats whose size is read
	_ "image/png"  // formats whose size is read

	_ "golang.org/x/image/webp" // formats whose size is read

	"perch/chat"
	"perch/store"
)

// storeImages puts the bytes of a message's images into the store and leaves
// hash, size and dimensions in the message.
func storeImages(s store.Store, m *chat.Message) error {
	put := func(img *chat.Image) error {
		if len(img.Data) == 0 {
			return nil
		}
		describe(img)
		hash, err := s.PutImage(img.Data)
		if err != nil {
			return fmt.Errorf("store an image: %w", err)
		}
		img.Hash, img.Data = hash, nil
		return nil
	}
	for i := range m.Parts {
		if m.Parts[i].Image != nil {
			img := *m.Parts[i].Image
			if err := put(&img); err != nil {
				return err
			}
			m.Parts[i].Image = &img
		}
	}
	if m.Result != nil && len(m.Result.Images) > 0 {
		r := *m.Result
		r.Images = append([]chat.Image(nil), r.Images...)
		for i := range r.Images {
			if err := put(&r.Images[i]); err != nil {
				return err
			}
		}
		m.Result = &r
	}
	return nil
}

// describe fills in what the bytes of an image tell.
func describe(img *chat.Image) {
	img.Size = len(img.Data)
	sum := sha256.Sum256(img.Data)
	img.Hash = hex.EncodeToString(sum[:])
	c, format, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil {
		return
	}
	img.Width, img.Height = c.Width, c.Height
	if img.MIME == "" {
		img.MIME = "image/" + format
	}
}

// withImageData returns the messages with the bytes of their images filled in,
// for a request. Messages without images are not copied. An image whose bytes
// are lost becomes a line that says so.
func withImageData(s store.Store, msgs []chat.Message) []chat.Message {
	var out []chat.Message
	for i := range msgs {
		if !hasImages(&msgs[i]) {
			continue
		}
		if out == nil {
			out = append([]chat.Message(nil), msgs...)
		}
		out[i] = fillImages(s, msgs[i])
	}
	if out == nil {
		return msgs
	}
	return out
}

func hasImages(m *chat.Message) bool {
	if m.Result != nil {
		return len(m.Result.Images) > 0
	}
	for i := range m.Parts {
		if m.Parts[i].Image != nil {
			return true
		}
	}
	return false
}

func fillImages(s store.Store, m chat.Message) chat.Message {
	fill := func(img *chat.Image) bool {
		if len(img.Data) > 0 {
			return true
		}
		data, err := s.Image(img.Hash)
		if err != nil {
			return false
		}
		img.Data = data
		return true
	}
	if m.Result != nil {
		r := *m.Result
		r.Images = nil
		for _, img := range m.Result.Images {
			if fill(&img) {
				r.Images = append(r.Images, img)
			} else {
				r.Text += lostImage
			}
		}
		m.Result = &r
		return m
	}
	parts := append([]chat.Part(nil), m.Parts...)
	for i := range parts {
		if parts[i].Image == nil {
			continue
		}
		img := *parts[i].Image
		if fill(&img) {
			parts[i].Image = &img
		} else {
			parts[i] = chat.Text(lostImage)
		}
	}
	m.Parts = parts
	return m
}

const lostImage = "\n[an image that stood here is no longer on the disk]"
