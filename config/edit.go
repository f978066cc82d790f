package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"perch/chat"
)

// Set writes one key of a settings file ("context.compact_at"; a part with a dot
// in it stands in quotes) and keeps the file's comments and order. nil removes
// the key, or the whole table of that name. The file is replaced whole; one that
// has a mistake, before or after, is left as it is.
func Set(path, key string, value any) error {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return chat.NewError(chat.ClassStore, "err.config_read",
			"The settings %s cannot be read: %v. Check the file's owner and permissions.", path, err).Wrap(err)
	}
	if _, err := Parse(path, data); err != nil {
		return err
	}
	out, err := edit(data, key, value)
	if err != nil {
		return chat.NewError(chat.ClassMisuse, "err.config_key", "The setting %s cannot be changed: %v.", key, err).Wrap(err)
	}
	if _, m := parse(out); m != nil {
		return chat.NewError(chat.ClassMisuse, "err.config_value", "The setting %s was not changed: %s.", key, m.what)
	}
	if bytes.Equal(out, data) {
		return nil
	}
	if err := replaceFile(path, out); err != nil {
		return chat.NewError(chat.ClassStore, "err.config_write",
			"The settings %s cannot be written: %v. Check the folder's owner, its permissions and the free space.", path, err).Wrap(err)
	}
	return nil
}

// expr is one line or block of a settings file: a header or a key with its value.
type expr struct {
	header, array bool
	table         []string // the table it stands in; of a header, its own name
	path          []string // the whole key; of a header, its own name
	dotted        bool     // the key has several parts
	line          int      // from 1
	start, end    int      // of its lines, the line end included
	from, to      int      // of the value
}

// scan splits a settings file that parses.
func scan(data []byte) ([]expr, error) {
	var p unstable.Parser
	p.Reset(data)
	var out []expr
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		e := expr{header: n.Kind == unstable.Table || n.Kind == unstable.ArrayTable, array: n.Kind == unstable.ArrayTable}
		var keys []string
		var first, last unstable.Range
		for it := n.Key(); it.Next(); {
			if len(keys) == 0 {
				first = it.Node().Raw
			}
			last = it.Node().Raw
			keys = append(keys, string(it.Node().Data))
		}
		e.line = p.Shape(first).Start.Line
		e.start = bytes.LastIndexByte(data[:first.Offset], '\n') + 1
		stop := int(last.Offset + last.Length)
		if e.header {
			table = keys
			e.table, e.path = keys, keys
		} else {
			e.table, e.dotted = table, len(keys) > 1
			e.path = append(slices.Clone(table), keys...)
			e.from = stop + bytes.IndexByte(data[stop:], '=') + 1
			for data[e.from] == ' ' || data[e.from] == '\t' {
				e.from++
			}
			stop = int(n.Raw.Offset + n.Raw.Length)
			e.to = stop
			for e.to > e.from && (data[e.to-1] == ' ' || data[e.to-1] == '\t') {
				e.to--
			}
		}
		e.end = len(data)
		if i := bytes.IndexByte(data[stop:], '\n'); i >= 0 {
			e.end = stop + i + 1
		}
		out = append(out, e)
	}
	return out, p.Error()
}

// lineOf is the line that sets a key, or the nearest table above it, or 1.
func lineOf(data []byte, key []string) int {
	exprs, err := scan(data)
	if err != nil {
		return 1
	}
	for n := len(key); n > 0; n-- {
		for _, e := range exprs {
			if slices.Equal(e.path, key[:n]) {
				return e.line
			}
		}
	}
	return 1
}

// splitKey reads a dotted key by TOML's own rules.
func splitKey(key string) ([]string, error) {
	var p unstable.Parser
	p.Reset([]byte(key + " = 0"))
	if !p.NextExpression() || p.Expression().Kind != unstable.KeyValue {
		return nil, fmt.Errorf("it is no key")
	}
	var keys []string
	for it := p.Expression().Key(); it.Next(); {
		keys = append(keys, string(it.Node().Data))
	}
	if p.NextExpression() || p.Error() != nil {
		return nil, fmt.Errorf("it is no key")
	}
	return keys, nil
}

// edit returns the file with one key changed. It is pure.
func edit(data []byte, key string, value any) ([]byte, error) {
	path, err := splitKey(key)
	if err != nil {
		return nil, err
	}
	exprs, err := scan(data)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return remove(data, exprs, path)
	}
	text, err := encodeValue(value)
	if err != nil {
		return nil, err
	}
	for _, e := range exprs {
		switch {
		case e.header:
		case slices.Equal(e.path, path):
			return splice(data, e.from, e.to, text), nil
		case len(e.path) < len(path) && slices.Equal(e.path, path[:len(e.path)]):
			return editInline(data, e, path[len(e.path):], value)
		}
	}
	// What stands there as tables gives way to the value.
	if data, err = remove(data, exprs, path); err != nil {
		return nil, err
	}
	if exprs, err = scan(data); err != nil {
		return nil, err
	}
	return insert(data, exprs, path, text), nil
}

func splice(data []byte, from, to int, text string) []byte {
	return slices.Concat(data[:from], []byte(text), data[to:])
}

// remove deletes a key, or a table with everything below it.
func remove(data []byte, exprs []expr, path []string) ([]byte, error) {
	below := func(p []string) bool { return len(p) >= len(path) && slices.Equal(p[:len(path)], path) }
	for _, e := range exprs {
		if !e.header && len(e.path) < len(path) && slices.Equal(e.path, path[:len(e.path)]) {
			return editInline(data, e, path[len(e.path):], nil)
		}
	}
	var out []byte
	at := 0
	inTable := false // in a table that goes, with the comments between its keys
	for _, e := range exprs {
		switch {
		case e.header:
			start := blockStart(data, e.start, at)
			if !inTable {
				out = append(out, data[at:start]...)
			}
			if inTable = below(e.path); !inTable {
				out = append(out, data[start:e.end]...)
			}
			at = e.end
		case !inTable && below(e.path):
			out = append(out, data[at:e.start]...)
			at = e.end
		}
	}
	if inTable {
		return out, nil
	}
	return append(out, data[at:]...), nil
}

// blockStart goes back over the blank line and the comments that belong to a
// header, but not before low.
func blockStart(data []byte, start, low int) int {
	for start > low {
		prev := bytes.LastIndexByte(data[:start-1], '\n') + 1
		line := bytes.TrimSpace(data[prev:start])
		if prev < low || (len(line) > 0 && line[0] != '#') {
			break
		}
		start = prev
		if len(line) == 0 {
			break
		}
	}
	return start
}

// insert adds a key that is not there yet: beside its neighbours where there are
// any, else at the end, in a table of its own.
func insert(data []byte, exprs []expr, path []string, text string) []byte {
	table, name := path[:len(path)-1], path[len(path)-1]
	at := -1
	line := encodeKey(name) + " = " + text + "\n"
	for _, e := range exprs {
		if e.header && !e.array && slices.Equal(e.path, table) || !e.header && slices.Equal(e.table, table) && !e.dotted {
			at = e.end
		}
	}
	if at < 0 && len(table) > 0 {
		// A table that was opened by dotted keys can only be continued by them.
		for _, e := range exprs {
			own := len(e.table)
			if e.header || !e.dotted || own >= len(table) || !slices.Equal(e.path[:min(len(e.path)-1, len(table))], table[:min(len(e.path)-1, len(table))]) {
				continue
			}
			at = e.end
			line = encodePath(path[own:]) + " = " + text + "\n"
		}
	}
	if at < 0 && len(table) == 0 {
		at = len(data)
		for _, e := range exprs {
			if e.header {
				at = blockStart(data, e.start, 0)
				break
			}
		}
	}
	if at < 0 {
		at = len(data)
		line = "[" + encodePath(table) + "]\n" + line
		if len(data) > 0 {
			line = "\n" + line
		}
	}
	if at > 0 && data[at-1] != '\n' {
		line = "\n" + line
	}
	return splice(data, at, at, line)
}

// replaceFile replaces a file whole and keeps its mode; a new one is the owner's
// only. A link is followed, so that settings kept elsewhere stay there.
func replaceFile(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	mode := fs.FileMode(fileMode)
	if st, err := os.Stat(path); err == nil {
		mode = st.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*.toml")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// plainKey is a key that needs no quotes.
func plainKey(k string) bool {
	return k != "" && strings.Trim(k, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func encodeKey(k string) string {
	if plainKey(k) {
		return k
	}
	return encodeString(k)
}

func encodePath(path []string) string {
	var parts []string
	for _, k := range path {
		parts = append(parts, encodeKey(k))
	}
	return strings.Join(parts, ".")
}
