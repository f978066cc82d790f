package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"perch/chat"
)

// Load reads a settings file. A missing one gives the defaults. A mistake is a
// [chat.Error] that names the file, the line and what is wrong; the settings
// returned with it are the defaults.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Default(), nil
	case err != nil:
		return Default(), chat.NewError(chat.ClassStore, "err.config_read",
			"The settings %s cannot be read: %v. Check the file's owner and permissions.", path, err).Wrap(err)
	}
	return Parse(path, data)
}

// Parse reads the content of a settings file; path is named in mistakes.
func Parse(path string, data []byte) (Config, error) {
	c, m := parse(data)
	if m != nil {
		return Default(), m.error(path)
	}
	return c, nil
}

// mistake is what is wrong in a settings file, and where.
type mistake struct {
	line int // from 1; 0 where no line is to blame
	what string
}

func (m *mistake) error(path string) error {
	return chat.NewError(chat.ClassMisuse, "err.config_line",
		"%s, line %d: %s. Correct that line; until then the last good settings stay in force.", path, m.line, m.what)
}

func parse(data []byte) (Config, *mistake) {
	c := Default()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	err := dec.Decode(&c)
	var syntax *toml.DecodeError
	var unknown *toml.StrictMissingError
	switch {
	case err == nil:
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := unknown.Errors[0]
		line, _ := first.Position()
		return c, &mistake{line, unknownKey(first.Key())}
	case errors.As(err, &syntax):
		line, _ := syntax.Position()
		return c, &mistake{line, plainReason(syntax)}
	default:
		return c, &mistake{0, err.Error()}
	}
	if bad := check(c); bad != nil {
		return c, &mistake{lineOf(data, bad.key), bad.what}
	}
	return c, nil
}

// plainReason is the parser's reason without its own name.
func plainReason(e *toml.DecodeError) string {
	s := strings.TrimPrefix(e.Error(), "toml: ")
	if key := strings.Join(e.Key(), "."); key != "" && !strings.Contains(s, key) {
		s = key + ": " + s
	}
	return s
}

// unknownKey says which key is meant to be there instead, where one is near.
func unknownKey(key toml.Key) string {
	s := fmt.Sprintf("there is no setting %q", strings.Join(key, "."))
	if len(key) == 0 {
		return s
	}
	last := key[len(key)-1]
	var names []string
	for name := range allNames() {
		names = append(names, name)
	}
	sort.Strings(names)
	best, at := "", 3 // further apart is another word
	for _, name := range names {
		if d := Distance(last, name); d < at {
			best, at = name, d
		}
	}
	if best != "" {
		s += fmt.Sprintf("; did you mean %q?", best)
	}
	return s
}

// JSON returns settings as JSON with the keys of config.toml.
func JSON(c Config) (json.RawMessage, error) {
	m, err := asMap(c)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

func asMap(c Config) (map[string]any, error) {
	data, err := toml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	m := map[string]any{}
	if err := toml.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	return m, nil
}

// FromJSON reads what [JSON] wrote.
func FromJSON(raw json.RawMessage) (Config, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	m := map[string]any{}
	if err := dec.Decode(&m); err != nil {
		return Default(), fmt.Errorf("read settings: %w", err)
	}
	var b strings.Builder
	for _, key := range sortedKeys(m) {
		v, err := encodeValue(m[key])
		if err != nil {
			return Default(), fmt.Errorf("read settings: %s: %w", key, err)
		}
		fmt.Fprintf(&b, "%s = %s\n", encodeKey(key), v)
	}
	return Parse("settings", []byte(b.String()))
}
