package charset

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

const (
	zh = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。这是一个用来测试编码检测的简短段落，里面有一些常用的汉字。\n"
	tw = "春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。這是一個用來測試編碼偵測的簡短段落，裡面有一些常用的漢字。\n"
	ja = "いろはにほへと ちりぬるを。これは文字コードの判定を確かめるための短い文章です。カタカナも漢字も入っています。\n"
	ko = "동해 물과 백두산이 마르고 닳도록 하느님이 보우하사 우리나라 만세. 이것은 인코딩을 확인하기 위한 짧은 글입니다.\n"
	ru = "Съешь же ещё этих мягких французских булок, да выпей чаю. Это короткий текст для проверки кодировки.\n"
)

func encode(t *testing.T, e encoding.Encoding, s string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncodingsAreFoundAndWrittenBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"utf-8", []byte("héllo " + zh), "héllo " + zh},
		{"utf-8", nil, ""},
		{"utf-8", append([]byte{0xEF, 0xBB, 0xBF}, "mark"...), "mark"},
		{"utf-16le", []byte("\xff\xfeh\x00i\x00\x2d\x4e"), "hi中"},
		{"utf-16be", []byte("\xfe\xff\x00h\x00i\x4e\x2d"), "hi中"},
		{"utf-16le", encode(t, utf16LE, "plain letters\r\nwithout a mark\r\n"), "plain letters\r\nwithout a mark\r\n"},
		{"utf-16be", encode(t, utf16BE, "plain letters\nwithout a mark\n"), "plain letters\nwithout a mark\n"},
		{"gb18030", encode(t, simplifiedchinese.GB18030, zh), zh},
		{"big5", encode(t, traditionalchinese.Big5, tw), tw},
		{"shift_jis", encode(t, japanese.ShiftJIS, ja), ja},
		{"euc-jp", encode(t, japanese.EUCJP, ja), ja},
		{"euc-kr", encode(t, korean.EUCKR, ko), ko},
		{"windows-1251", encode(t, charmap.Windows1251, ru), ru},
	} {
		e, ok := Detect(c.bytes, true)
		if !ok || e.Name != c.name {
			t.Errorf("%s: found %q %v", c.name, e.Name, ok)
			continue
		}
		if got := e.Decode(c.bytes); got != c.want {
			t.Errorf("%s: decoded %q", c.name, got)
		}
		if !e.Exact(c.bytes) {
			t.Errorf("%s: is not written back as it was", c.name)
		}
		r, err := io.ReadAll(e.Reader(iotest.OneByteReader(bytes.NewReader(c.bytes))))
		if err != nil || string(r) != c.want {
			t.Errorf("%s: read %q, %v", c.name, r, err)
		}
	}
}

func TestWhatIsNoTextIsNotDecoded(t *testing.T) {
	for name, b := range map[string][]byte{
		"elf":     append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 100)...),
		"png":     []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
		"random":  {0x80, 0x01, 0x02, 0x03, 0x04, 0x05, 0xff, 0x06, 0x07, 0x0e, 0x0f, 0x10},
		"utf-32":  []byte("\xff\xfe\x00\x00h\x00\x00\x00i\x00\x00\x00"),
		"one nul": []byte("text with a \x00 inside of it"),
	} {
		if e, ok := Detect(b, true); ok {
			t.Errorf("%s taken for %s", name, e.Name)
		}
	}
}

func TestASampleMayEndInsideACharacter(t *testing.T) {
	b := []byte(strings.Repeat("я", Sample))[:Sample-1]
	if e, ok := Detect(b, false); !ok || e.Name != "utf-8" {
		t.Errorf("found %v %v", e, ok)
	}
	if e, ok := Detect([]byte("broken \xd1"), true); ok && e.Name == "utf-8" {
		t.Error("a broken text counts as UTF-8")
	}
}

func TestEncodeNamesTheCharacterThatIsMissing(t *testing.T) {
	e, _ := Detect(encode(t, korean.EUCKR, ko), true)
	if _, err := e.Encode("ok 🦊"); err == nil || !strings.Contains(err.Error(), "🦊") {
		t.Errorf("got %v", err)
	}
}

func TestRepairAlwaysGivesText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\xffb": "a\uFFFDb", string(encode(t, simplifiedchinese.GBK, zh)): zh,
	} {
		if got := Repair([]byte(in)); got != want && !(in == "a\xffb" && strings.HasPrefix(got, "a")) {
			t.Errorf("%q: got %q", in, got)
		}
	}
}
