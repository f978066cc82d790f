package tokens

import (
	"math"
	"strings"
)

// imageRule is a vendor's formula for images.
type imageRule uint8

const (
	imageTiles512  imageRule = iota // OpenAI: gpt-4o, gpt-4.1, gpt-5
	imageTilesMini                  // gpt-4o-mini, the same tiles at a higher count
	imagePatchMini                  // OpenAI: 32-pixel patches, gpt-4.1-mini, gpt-5-mini
	imagePatchNano                  // gpt-4.1-nano, gpt-5-nano
	imageArea750                    // Anthropic: area by 750
	imageGemini                     // Google: 258 a tile
	imageGemini3                    // Gemini 3: one budget at any size
	imageGemma                      // Gemma 3: 256 an image
	imageQwen                       // Qwen-VL: 28-pixel squares
	imageLlama                      // Llama 4: tiles of 336 pixels, 144 tokens each
	imageUnknown                    // the dearest common one, so as not to be under
)

// What is taken for an image whose size is not known: that of a screen shot.
const (
	unknownWidth  = 1600
	unknownHeight = 1000
)

func imageRuleOf(model, family string) imageRule {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(model, w) {
				return true
			}
		}
		return false
	}
	switch family {
	case O200k, CL100k:
		switch {
		case has("4o-mini"):
			return imageTilesMini
		case has("nano"):
			return imagePatchNano
		case has("-mini"):
			return imagePatchMini
		}
		return imageTiles512
	case Claude:
		return imageArea750
	case Gemma:
		switch {
		case has("gemma"):
			return imageGemma
		case has("gemini-3"):
			return imageGemini3
		}
		return imageGemini
	case Qwen:
		return imageQwen
	case Llama3:
		return imageLlama
	}
	return imageUnknown
}

// Image estimates the tokens of a picture of that size in pixels by the formula
// that the vendor publishes. The length of its bytes plays no part. A size of 0
// is unknown.
func (e *Estimator) Image(w, h int) int {
	if w <= 0 || h <= 0 {
		w, h = unknownWidth, unknownHeight
	}
	return imageTokens(e.shape.image, w, h)
}

func imageTokens(rule imageRule, w, h int) int {
	switch rule {
	case imageTiles512:
		return 85 + 170*openAITiles(w, h)
	case imageTilesMini:
		return 2833 + 5667*openAITiles(w, h)
	case imagePatchMini:
		return int(math.Ceil(1.62 * float64(openAIPatches(w, h))))
	case imagePatchNano:
		return int(math.Ceil(2.46 * float64(openAIPatches(w, h))))
	case imageArea750:
		return claudeImage(w, h)
	case imageGemini:
		return geminiImage(w, h)
	case imageGemini3:
		return 1120
	case imageGemma:
		return 256 + 2 // and the marks around it
	case imageQwen:
		return qwenImage(w, h)
	case imageLlama:
		return llamaImage(w, h)
	}
	return max(claudeImage(w, h), 85+170*openAITiles(w, h))
}

// openAITiles: fit into 2048 × 2048, then the shorter side to 768, then count
// squares of 512.
func openAITiles(w, h int) int {
	x, y := float64(w), float64(h)
	if f := 2048 / max(x, y); f < 1 {
		x, y = x*f, y*f
	}
	if f := 768 / min(x, y); f < 1 {
		x, y = x*f, y*f
	}
	return ceilDiv(x, 512) * ceilDiv(y, 512)
}

// openAIPatches: squares of 32, at most 1536; a larger image is scaled down
// until it fits.
func openAIPatches(w, h int) int {
	const side, most = 32, 1536
	x, y := float64(w), float64(h)
	if n := ceilDiv(x, side) * ceilDiv(y, side); n <= most {
		return n
	}
	f := math.Sqrt(side * side * most / (x * y))
	px, py := x*f/side, y*f/side
	f *= min(math.Floor(px)/px, math.Floor(py)/py)
	return min(ceilDiv(x*f-1e-9, side)*ceilDiv(y*f-1e-9, side), most)
}

// claudeImage: scaled so that the longer side is at most 1568 pixels and the
// image at most about 1,600 tokens; then area by 750.
func claudeImage(w, h int) int {
	const longest, most = 1568.0, 1600
	x, y := float64(w), float64(h)
	if f := longest / max(x, y); f < 1 {
		x, y = x*f, y*f
	}
	return min(int(math.Ceil(x*y/750)), most)
}

// geminiImage: 258 for a small one, else 258 for each tile, whose side is the
// shorter side by 1.5, between 256 and 768 pixels.
func geminiImage(w, h int) int {
	const cost = 258
	if w <= 384 && h <= 384 {
		return cost
	}
	side := min(max(math.Floor(float64(min(w, h))/1.5), 256), 768)
	return cost * ceilDiv(float64(w), side) * ceilDiv(float64(h), side)
}

// qwenImage: sides rounded to 28 pixels, one token each square, at most 1,280
// squares (the vendor's default), two marks.
func qwenImage(w, h int) int {
	const side, most = 28, 1280
	x, y := math.Round(float64(w)/side), math.Round(float64(h)/side)
	if x*y > most {
		f := math.Sqrt(float64(w) * float64(h) / (most * side * side))
		x, y = math.Floor(float64(w)/f/side), math.Floor(float64(h)/f/side)
	}
	return int(max(x, 1)*max(y, 1)) + 2
}

// llamaImage: up to 16 tiles of 336 pixels with 144 tokens each and, where there
// is more than one, an overview.
func llamaImage(w, h int) int {
	const side, cost, most = 336, 144, 16
	n := min(ceilDiv(float64(w), side)*ceilDiv(float64(h), side), most)
	if n > 1 {
		n++
	}
	return n * cost
}

func ceilDiv(x, side float64) int { return max(int(math.Ceil(x/side)), 1) }
