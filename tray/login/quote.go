package login

import "strings"

// quoteDesktop writes a path for Exec of a desktop entry: in quotes, in which
// four characters are escaped; the escape itself is escaped once more, since the
// value is a string, and % starts a field code.
func quoteDesktop(path string) string {
	r := strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", `$`, `\\$`, `%`, `%%`)
	return `"` + r.Replace(path) + `"`
}

// quoteUnit writes a path for ExecStart of a unit: in quotes, with C escapes; %
// starts a specifier and $ a variable.
func quoteUnit(path string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`)
	return `"` + r.Replace(path) + `"`
}
